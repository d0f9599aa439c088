// The facts that a probe server tells of a request. Values without an owner.

extension HTTPFacts {
    /// The facts that a probe server has seen of a request.
    ///
    /// Anything on the way may have written them: texts are those of a short list of characters, or left out.
    package struct Seen: Sendable, Equatable {
        /// The version of the Internet Protocol with which the probe server was reached.
        package enum Family: String, Sendable {
            case version4 = "IPv4"
            case version6 = "IPv6"
        }

        /// The TLS of the connection that reached the probe server.
        package enum Security: Sendable, Equatable {
            /// The probe server does not tell.
            case unknown
            /// None.
            case none
            /// This version, such as `TLSv1.3`; IANA's name of the cipher suite, and the digest of the client's hello,
            /// where they are told.
            case tls(version: String, cipherSuite: String?, hello: String?)
        }

        /// The names of the fields that were added on the way, in lower case.
        package var added: [String]
        /// The names of the fields that were removed on the way, in lower case.
        package var removed: [String]
        /// The address family; nil when it is not told.
        package var family: Family?
        /// The version of HTTP, such as `1.1`; nil when it is not told.
        package var httpVersion: String?
        /// The TLS.
        package var security = Security.unknown

        /// Creates the difference between the names of the sent and of the received fields, without regard to case.
        package init(sent: [String], received: [String]) {
            let (sent, received) = (sent.map { $0.lowercased() }, received.map { $0.lowercased() })
            self.added = received.filter { !sent.contains($0) && Self.isWord($0) }
            self.removed = sent.filter { !received.contains($0) }
        }

        /// Adds what is told about the connection.
        package mutating func add(family: String?, httpVersion: String?, security: Security) {
            self.family = family.flatMap { Family(rawValue: $0) }
            self.httpVersion = httpVersion.flatMap { ["1.0", "1.1"].contains($0) ? $0 : nil }
            self.security = security.checked
        }

        /// The most bytes of a word.
        private static let wordLimit = 64

        /// Returns whether a text is a word that can be shown: a letter, and then letters, digits, and `-`, `_` and
        /// `.`.
        fileprivate static func isWord(_ text: String) -> Bool {
            let bytes = text.utf8
            return bytes.first.map(Self.isLetter) ?? false && bytes.count <= Self.wordLimit
                && bytes.allSatisfy { Self.isLetter($0) || Self.digits.contains($0) || Self.marks.contains($0) }
        }

        private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        private static let marks = Array("-_.".utf8)

        private static func isLetter(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        }

        /// Returns whether a text is the digest of a hello: sixteen hexadecimal digits.
        fileprivate static func isDigest(_ text: String) -> Bool {
            text.utf8.count == 16
                && text.utf8.allSatisfy {
                    Self.digits.contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
                }
        }
    }
}

extension HTTPFacts.Seen.Security {
    /// The same without texts that are no words.
    fileprivate var checked: Self {
        guard case .tls(let version, let suite, let hello) = self else { return self }
        guard HTTPFacts.Seen.isWord(version) else { return .unknown }
        return .tls(
            version: version, cipherSuite: suite.flatMap { HTTPFacts.Seen.isWord($0) ? $0 : nil },
            hello: hello.flatMap { HTTPFacts.Seen.isDigest($0) ? $0 : nil })
    }
}

// MARK: Words

extension HTTPFacts.Seen {
    /// Returns the facts in words; `version` is that of the examination's own TLS, nil without TLS.
    func words(besideTLS version: String?) -> String {
        let reached = [
            self.family?.rawValue, self.httpVersion.map { "HTTP/\($0)" }, self.security.words(besideTLS: version),
        ].compactMap { $0 }
        let probe = reached.isEmpty ? "a probe server" : "a probe server that saw \(reached.joined(separator: ", "))"
        func difference(_ what: String, _ names: [String]) -> [String] {
            names.isEmpty ? [] : ["\(what) on the way: \(names.joined(separator: " "))"]
        }
        return ([probe] + difference("added", self.added) + difference("removed", self.removed))
            .joined(separator: ", ")
    }

    /// The details of TLS, for a person that helps; empty without any.
    var fullWords: [String] {
        guard case .tls(let version, let suite, let hello) = self.security else { return [] }
        let details = [suite.map { "with \($0)" }, hello.map { "client hello \($0)" }].compactMap { $0 }
        return details.isEmpty ? [] : ["the probe server saw \(([version] + details).joined(separator: ", "))"]
    }
}

extension HTTPFacts.Seen.Security {
    /// Returns the TLS in words, beside the version of the examination's own; nil when there is none at either end.
    fileprivate func words(besideTLS version: String?) -> String? {
        switch (self, version) {
        case (.unknown, _), (.none, nil): nil
        case (.none, _?): "no TLS: it ends on the way"
        case (.tls(let seen, _, _), nil): "\(seen), which begins on the way"
        case (.tls(let seen, _, _), let version?): seen == version ? seen : "\(seen) instead of \(version)"
        }
    }
}
