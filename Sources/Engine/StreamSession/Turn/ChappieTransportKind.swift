/// The wire protocol that carries a response.
///
/// A minor version may add cases.
public enum ChappieTransportKind: String, Sendable, Codable, CaseIterable {
    /// RFC 6455.
    case webSocket
    /// A POST whose response is an event stream (WHATWG HTML section 9.2).
    case httpSSE
}
