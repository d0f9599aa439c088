// The kind of an answer, from its fields and its text. Pure.

extension HTTPFacts.Body {
    /// Creates the kind of a page for a browser, from its first bytes.
    package init(page: String) {
        let text = page.lowercased()
        let signIn = ["type=\"password\"", "type='password'", "single sign-on", "samlrequest"]
        let block = ["blocked", "access denied", "web filter", "not permitted", "policy violation"]
        self =
            if signIn.contains(where: { text.contains($0) }) {
                .signInPage
            } else if block.contains(where: {
                text.contains($0)
            }) { .blockPage } else { .page }
    }

    /// Creates the kind of a body that is no page.
    package init(contentType: String?, text: String) {
        let isJSON = contentType?.lowercased().contains("json") ?? false
        let first = text.first { !$0.isWhitespace }
        self = isJSON || first == "{" || first == "[" ? .json : .other
    }
}

extension HTTPFacts.Redirection {
    /// Creates the target of a redirection by a server with this host, from the field `Location` (RFC 9110 section 10.2.2).
    package init(location: String, host: String) {
        let location = location.lowercased()
        let authority = location.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false).dropFirst()
            .first
        let isAbsolute = location.hasPrefix("http://") || location.hasPrefix("https://") || location.hasPrefix("//")
        let place = authority?.prefix { !"/?#".contains($0) } ?? ""
        let target = place.split(separator: "@").last ?? ""
        guard isAbsolute, target != host.lowercased(), !target.hasPrefix(host.lowercased() + ":") else {
            self = .sameHost
            return
        }
        let words = ["login", "signin", "sign-in", "sso", "saml", "oauth", "authenticate"]
        self = words.contains { location.contains($0) } ? .signIn : .otherHost
    }
}
