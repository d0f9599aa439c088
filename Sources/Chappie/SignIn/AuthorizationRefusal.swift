/// What an authorization server says about a refusal, in whichever of its shapes.
///
/// Whatever it does not say is nil.
struct AuthorizationRefusal: Sendable, Equatable {
    /// More of a message is not kept.
    static let messageCharacterLimit = 500

    /// The error, in a word for programs: `error.code`, `error` where that is a text (RFC 6749 section 5.2), or `code`.
    var code: String?
    /// The error, in the server's words: printable, and no longer than anybody reads.
    var message: String?

    /// A refusal of these parts.
    init(code: String?, message: String?) {
        self.code = code.flatMap { $0.isEmpty ? nil : $0 }
        self.message = message.flatMap { Self.printable($0) }
    }

    /// Reads an answer; nothing is known of one that is no object of JSON.
    init(body: [UInt8]) {
        // A message in another encoding than UTF-8 takes nothing away from the code.
        let answer = ChappieJSONValue(jsonText: String(decoding: body, as: UTF8.self))
        let error = answer?["error"]
        self.init(
            code: error?["code"]?.string ?? error?.string ?? answer?["code"]?.string,
            message: (error?["message"] ?? answer?["error_description"] ?? answer?["message"])?.string)
    }

    /// The code, where it is a word such as those of RFC 6749: fit to show.
    var shownCode: String? {
        guard let code = self.code, code.utf8.count <= 64 else { return nil }
        let isWord = code.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || "0123456789_-.".utf8.contains(byte)
        }
        return isWord ? code : nil
    }

    /// A text without what steers a terminal; nil when nothing is left.
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
