/// The phases of an attempt, in order.
///
/// A minor version may add cases.
public enum ChappieTransportPhase: String, Sendable, CaseIterable {
    /// The look-up of the host's addresses.
    case resolve
    /// The TCP connection.
    case connect
    /// A proxy: its look-up, TCP and TLS to it, and CONNECT or SOCKS.
    case proxy
    /// The TLS handshake and the verification of the certificate.
    case tls
    /// The WebSocket's opening handshake, or an HTTP response's header section.
    case upgrade
    /// Writing the request.
    case send
    /// Waiting for the first event.
    case firstEvent
    /// Between the first event and the last.
    case stream
    /// The closing handshake.
    case close
}
