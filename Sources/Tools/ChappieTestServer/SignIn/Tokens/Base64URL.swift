import PlatformFoundation

/// base64url without padding, for PKCE and tokens (RFC 4648 section 5).
enum Base64URL {
    /// Returns the text of some bytes.
    static func text(_ bytes: [UInt8]) -> String {
        String(
            Data(bytes).base64EncodedString().compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
