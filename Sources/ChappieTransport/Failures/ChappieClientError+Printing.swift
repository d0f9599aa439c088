// The printed form of an error, without the server's words and without content.
//
// A program that logs an unredacted error must not log a response by accident. The facts are in the error's properties.

extension ChappieClientError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The stable tag and the safe description.
    ///
    /// The server's words are in `unsafeMessage`, and the delivered text is in the case's own value.
    public var description: String { "\(self.tag): \(self.safeDescription)" }

    /// The same as `description`.
    public var debugDescription: String { "ChappieClientError(\(self.description))" }

    /// The tag and the facts derived from it; for a failure below HTTP, its facts.
    public var customMirror: Mirror {
        guard case .transport(let failure) = self else { return Mirror(self, children: ["tag": self.tag]) }
        return Mirror(self, children: ["tag": self.tag, "failure": failure])
    }
}

extension ChappieTransportFailure: CustomStringConvertible, CustomDebugStringConvertible {
    /// The stable tag and the safe description.
    public var description: String { "\(self.tag): \(self.safeDescription)" }

    /// The same as `description`.
    public var debugDescription: String { "ChappieTransportFailure(\(self.description))" }
}

extension ChappieTransportFailure.Details: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private var facts: [(name: String, value: String)] {
        let facts: [(name: String, value: String?)] = [
            ("closeCode", self.closeCode.map(String.init)),
            ("statusCode", self.statusCode.map(String.init)),
            ("requestID", self.requestID),
            ("clientRequestID", self.clientRequestID),
            ("systemCode", self.systemCode.map(String.init)),
            ("limit", self.limit.map(String.init)),
            ("detail", self.detail),
            ("receivedByteCount", String(self.receivedByteCount)),
            ("sinceLastByte", self.sinceLastByte.map { "\($0)" }),
            ("retryAfter", self.retryAfter.map { "\($0)" }),
        ]
        return facts.compactMap { fact in fact.value.map { (name: fact.name, value: $0) } }
    }

    /// The facts without the peer's words: `closeReason`, `serverMessage` and `issuer` are omitted.
    public var description: String { self.facts.map { "\($0.name): \($0.value)" }.joined(separator: ", ") }

    /// The same as `description`.
    public var debugDescription: String { "Details(\(self.description))" }

    /// The same facts.
    public var customMirror: Mirror {
        Mirror(self, children: self.facts.map { (label: $0.name, value: $0.value as Any) })
    }
}
