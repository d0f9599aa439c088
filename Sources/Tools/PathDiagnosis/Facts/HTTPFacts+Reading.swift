// The kind of an answer, from its fields and its text. Pure.

extension HTTPFacts.Body {
    /// Creates the kind of a page for a browser, from its first bytes.
    package init(page: String) {
        let text = page.lowercased()
        let signIn = [
            "type=\"password\"", "type='password'", "single sign-on", "samlrequest", "<title>sign in", "<title>log in",
        ]
        // The last ones are those of pages that try whether a person uses a browser.
        let block = [
            "blocked", "access denied", "web filter", "not permitted", "policy violation", "just a moment...",
            "checking your browser", "enable javascript and cookies",
        ]
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

extension HTTPFacts.Login {
    /// Creates the scheme of the first challenge in the field `WWW-Authenticate`; nil for any other.
    package init?(challenge: String) {
        let scheme = challenge.prefix { $0 != " " && $0 != "," }.lowercased()
        guard let login = Self.allCases.first(where: { $0.rawValue.lowercased() == scheme }) else { return nil }
        self = login
    }
}

extension HTTPFacts.Answer {
    /// Returns whether the path of the responses exists, by this answer to a POST without content to it; nil where the
    /// answer says neither.
    ///
    /// It exists where a refusal is an API's. It does not by status code 404, in JSON, as a text or as a page, except
    /// for one about a model; a page of something on the path says nothing.
    package func existenceOfResponses(text: String) -> Bool? {
        if self.statusCode == 404, self.redirection == nil, [.json, .page, .other].contains(self.body) {
            return HTTPFacts.isAboutModel(text)
        }
        let isRefusal = [400, 401, 403, 415, 422].contains(self.statusCode)
        return isRefusal && (self.body == .json || self.asksForToken) ? true : nil
    }
}

extension HTTPFacts {
    /// Returns whether the path of the responses exists, by the answer to a POST without content to it; nil where the
    /// answer says neither.
    ///
    /// Some servers find no JSON in such a POST, and say so in JSON with status code 500. One that answers everything
    /// so says nothing.
    package func existenceOfResponses(by answer: Answer, text: String) -> Bool? {
        if let existence = answer.existenceOfResponses(text: text) { return existence }
        guard answer.statusCode == 500, answer.body == .json, case .answered(let list) = self.exchange else {
            return nil
        }
        return list.statusCode < 500 ? true : nil
    }

    /// Returns whether the text of an answer with status code 404 is about a model, so that its path exists.
    package static func isAboutModel(_ text: String) -> Bool {
        let text = text.lowercased()
        return ["model_not_found", "the model ", "model '", "model \\\"", "model `", "no model"]
            .contains { text.contains($0) }
    }
}

extension HTTPFacts.Demand {
    /// Creates the demand of an error about the connection, from its status code and its text; nil for any other
    /// answer.
    ///
    /// The words are those of nginx and of the balancers that are made from it, of Apache, Go, and Tomcat.
    package init?(statusCode: Int, text: String) {
        // 495 to 497 are nginx's own, which it sends as 400.
        guard statusCode == 400 || (495...497).contains(statusCode) else { return nil }
        let text = text.lowercased()
        let ofTLS = [
            "plain http request was sent to https port", "speaking plain http to an ssl-enabled server port",
            "client sent an http request to an https server", "combination of host and port requires tls",
        ]
        let ofCertificate = ["no required ssl certificate was sent", "the ssl certificate error"]
        if ofTLS.contains(where: { text.contains($0) }) {
            self = .tls
        } else if ofCertificate.contains(where: { text.contains($0) }) {
            self = .clientCertificate
        } else {
            return nil
        }
    }
}

extension HTTPFacts.Redirection {
    /// Creates the target of a redirection by a server with this host, from the field `Location` (RFC 9110 section
    /// 10.2.2).
    ///
    /// `path` is that of a request without TLS; nil for one with TLS.
    package init(location: String, host: String, withoutTLS path: String? = nil) {
        let location = location.lowercased()
        let authority = location.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false).dropFirst()
            .first
        let isAbsolute = location.hasPrefix("http://") || location.hasPrefix("https://") || location.hasPrefix("//")
        let place = authority?.prefix { !"/?#".contains($0) } ?? ""
        let target = place.split(separator: "@").last ?? ""
        guard isAbsolute, target != host.lowercased(), !target.hasPrefix(host.lowercased() + ":") else {
            let rest = authority?.dropFirst(place.count).prefix { !"?#".contains($0) } ?? ""
            let isSamePath = path.map { rest == $0.lowercased() } ?? false
            self = location.hasPrefix("https://") && isSamePath ? .withTLS : .sameHost
            return
        }
        let words = ["login", "signin", "sign-in", "sso", "saml", "oauth", "authenticate"]
        self = words.contains { location.contains($0) } ? .signIn : .otherHost
    }
}
