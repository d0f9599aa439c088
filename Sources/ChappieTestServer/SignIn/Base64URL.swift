// base64url, for PKCE and tokens. Pure.

/// base64url without padding (RFC 4648 section 5).
enum Base64URL {
    /// Returns the text of some bytes.
    static func text(_ bytes: [UInt8]) -> String {
        let standard = HandshakeDigest.base64(bytes)
        return String(
            standard.compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
