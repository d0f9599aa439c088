/// The wire protocol that carries a response.
public enum ChappieTransportKind: String, Sendable, Codable, CaseIterable {
    /// RFC 6455.
    case webSocket
    /// A POST whose response is an event stream (WHATWG HTML section 9.2).
    case httpSSE
}
