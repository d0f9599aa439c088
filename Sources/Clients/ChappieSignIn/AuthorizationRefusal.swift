/// The refusal of an authorization server, in any of its shapes.
///
/// Members that it lacks are nil.
struct AuthorizationRefusal: Sendable, Equatable {
    /// The longest message that is kept.
    static let messageCharacterLimit = 500

    /// The machine-readable code: `error.code`, `error` where that is a text (RFC 6749 section 5.2), or `code`.
    var code: String?
    /// The server's description: printable, and cut to a readable length.
    var message: String?

    /// Creates a refusal of these parts.
    init(code: String?, message: String?) {
        self.code = code.flatMap { $0.isEmpty ? nil : $0 }
        self.message = message.flatMap { Self.printable($0) }
    }

    /// Reads an answer; one that is not a JSON object yields no values.
    init(body: [UInt8]) {
        // An invalid encoding of the message does not affect the code.
        let answer = ChappieJSONValue(jsonText: String(decoding: body, as: UTF8.self))
        let error = answer?["error"]
        self.init(
            code: error?["code"]?.string ?? error?.string ?? answer?["code"]?.string,
            message: (error?["message"] ?? answer?["error_description"] ?? answer?["message"])?.string)
    }

    /// The code, if it is a word such as those of RFC 6749, which is safe to show.
    var shownCode: String? {
        guard let code = self.code, code.utf8.count <= 64 else { return nil }
        let isWord = code.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || "0123456789_-.".utf8.contains(byte)
        }
        return isWord ? code : nil
    }

    /// Returns a text without control characters for terminals; nil when none is left.
    static func printable(_ text: String) -> String? {
        let scalars = text.unicodeScalars.lazy.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
            default: true
            }
        }
        var printable = String.UnicodeScalarView()
        printable.append(contentsOf: scalars.prefix(Self.messageCharacterLimit))
        return printable.isEmpty ? nil : String(printable)
    }
}
