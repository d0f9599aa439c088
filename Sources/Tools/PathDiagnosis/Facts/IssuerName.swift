/// The name of a certificate's issuer, as far as it may be told to strangers.
///
/// Pure. The name of an authority is evidence; that of a machine is for a person that helps.
struct IssuerName {
    /// The name (RFC 4514).
    let text: String
    /// Indicates whether it is the subject of the server's own certificate too.
    let isSubject: Bool

    /// Creates a name; `subject` is that of the server's own certificate, nil where it is not known.
    init(_ text: String, subject: String? = nil) {
        self.text = text
        self.isSubject = text == subject
    }

    /// The name in brackets; without it where it may be a machine's.
    var words: String {
        if self.isSubject { return " (signed by itself)" }
        return self.isOfMachine ? " (the issuer has the name of a machine)" : " (issuer: \(self.text))"
    }

    /// Indicates whether the common name has the shape of a host's name or address: two or more labels without a space.
    var isOfMachine: Bool {
        let parts = self.text.split { ",+".contains($0) }.map { $0.drop(while: { $0 == " " }) }
        return parts.contains { $0.lowercased().hasPrefix("cn=") && Self.isHost($0.dropFirst(3)) }
    }

    private static func isHost(_ text: Substring) -> Bool {
        // An address of IPv6 has two colons at least.
        let isAddress = text.utf8.count { $0 == UInt8(ascii: ":") } > 1
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        let isName =
            labels.count > 1
            && labels.allSatisfy { label in
                label.unicodeScalars.allSatisfy {
                    $0.properties.isAlphabetic || "0123456789-_*:".unicodeScalars.contains($0)
                }
            }
        return isAddress && !text.contains(" ") || isName
    }
}
