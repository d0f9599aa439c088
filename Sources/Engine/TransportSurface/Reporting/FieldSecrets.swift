import PlatformFoundation

/// The secrets among the fields of a request: the values, and the parts of them that servers name by themselves.
///
/// The functions are pure, and their time is linear.
package enum FieldSecrets {
    /// Returns whether the value of a field or variable with this name, in any case, counts as a secret.
    ///
    /// The one rule for all that is done with secrets: words of a server and log lines that hold one are redacted, a
    /// redirect to another origin drops the field, and the environment of a tool lacks the variable.
    package static func isSecret(_ name: String) -> Bool {
        // The letters in lower case; no other byte becomes a letter. A search in strings costs ten allocations a word.
        let name = name.utf8.map { $0 | 0x20 }
        return name.indices.contains { start in Self.words.contains { name[start...].starts(with: $0.utf8) } }
    }

    /// Returns the secrets of a field: none when its name is not that of a secret.
    static func secrets(of field: (name: String, value: String)) -> [String] {
        guard Self.isSecret(field.name) else { return [] }
        switch field.name.lowercased() {
        case "authorization", "proxy-authorization": return Self.secrets(ofCredentials: field.value)
        case "cookie": return [field.value] + Self.values(ofCookies: field.value)
        default: return Self.withLastWord(field.value)
        }
    }

    /// Returns a value and the last word of it: a scheme may precede the secret.
    static func withLastWord(_ value: String) -> [String] {
        [value] + value.split(separator: " ").suffix(1).map(String.init)
    }

    /// The parts of the names of fields whose values are secrets.
    private static let words = ["auth", "key", "token", "secret", "password", "cookie", "credential"]

    // MARK: Credentials

    /// Returns the credentials without their scheme (RFC 9110 section 11.4), which servers name in their answers, and
    /// the parts of them.
    private static func secrets(ofCredentials value: String) -> [String] {
        guard let end = value.firstIndex(of: " ") else { return [value] }
        let rest = String(value[end...].drop { $0 == " " })
        return [rest]
            + (value[..<end].lowercased() == "basic" ? Self.secrets(ofBasic: rest) : Self.parameterValues(in: rest))
    }

    /// Returns the user name with the password, and the password (RFC 7617 section 2); without a password the user name
    /// is the secret.
    private static func secrets(ofBasic text: String) -> [String] {
        let digits = text.prefix { $0 != "=" && $0 != " " }
        let padding = String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: digits + padding) else { return [] }
        let login = String(decoding: data, as: UTF8.self)
        guard let colon = login.firstIndex(of: ":") else { return [login] }
        let password = String(login[colon...].dropFirst())
        return [login, password.isEmpty ? String(login[..<colon]) : password]
    }

    /// The parameters that are no secrets: those that a Digest repeats from the challenge and the request, the name of the
    /// user (RFC 7616 section 3.4), and the names of fields and of a method in signatures.
    private static let publicParameters: Set<String> = [
        "algorithm", "charset", "headers", "nc", "nonce", "oauth_signature_method", "opaque", "qop", "realm",
        "signedheaders", "uri", "userhash", "username",
    ]

    /// Returns the values of the parameters (RFC 9110 section 11.2), such as that of `token="…"`, without their quotes.
    private static func parameterValues(in text: String) -> [String] {
        var values: [String] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let name = rest.prefix { $0 != UInt8(ascii: "=") && !Self.isSeparator($0) }
            rest = rest.dropFirst(name.count)
            guard rest.popFirst() == UInt8(ascii: "=") else { continue }
            rest = rest.drop { $0 == UInt8(ascii: " ") }
            let value = Self.takeValue(from: &rest)
            if !Self.publicParameters.contains(String(decoding: name, as: UTF8.self).lowercased()) {
                values.append(String(decoding: value, as: UTF8.self))
            }
        }
        return values
    }

    private static func takeValue(from text: inout ArraySlice<UInt8>) -> [UInt8] {
        guard text.first == UInt8(ascii: "\"") else {
            let value = text.prefix { !Self.isSeparator($0) }
            text = text.dropFirst(value.count)
            return Array(value)
        }
        text = text.dropFirst()
        var value: [UInt8] = []
        while let byte = text.popFirst(), byte != UInt8(ascii: "\"") {
            // RFC 9110 section 5.6.4: a backslash quotes the next byte.
            value.append(byte == UInt8(ascii: "\\") ? text.popFirst() ?? byte : byte)
        }
        return value
    }

    /// Returns whether a byte stands between parameters; some schemes separate them by a semicolon.
    private static func isSeparator(_ byte: UInt8) -> Bool {
        [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: " "), UInt8(ascii: "\t")].contains(byte)
    }

    // MARK: Cookies

    /// Returns the values of cookies (RFC 6265 section 4.2.1), without their names and quotes.
    private static func values(ofCookies text: String) -> [String] {
        text.utf8.split(separator: UInt8(ascii: ";")).map { pair in
            let value = pair.drop { $0 != UInt8(ascii: "=") }.dropFirst().drop(while: Self.surroundsValue)
            return String(decoding: value.reversed().drop(while: Self.surroundsValue).reversed(), as: UTF8.self)
        }
    }

    private static func surroundsValue(_ byte: UInt8) -> Bool {
        [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\"")].contains(byte)
    }
}
