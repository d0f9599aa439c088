/// The examination of the path to a server: which layer fails, the causes, and what to set.
///
/// A namespace. It costs no tokens: no request asks a model.
public enum ChappieDiagnosis {
    /// A step of an examination, in the order of the layers.
    ///
    /// A minor version may add cases.
    public enum Step: String, Sendable, CaseIterable {
        /// The process and its settings: proxies, trust anchors, the clock, descriptors.
        case environment
        /// The look-up of the addresses of the server, or of the proxy.
        case resolve
        /// TCP with the server, or with the proxy, for each address family alone and for both (RFC 8305).
        case connect
        /// The proxy's tunnel.
        case proxy
        /// The TLS handshake and the verification of the certificate.
        case tls
        /// The answer to a GET of `/models`, without a credential.
        case http
        /// The same with the credential.
        case credential
        /// The opening handshake of a WebSocket.
        case webSocket
        /// permessage-deflate (RFC 7692).
        case compression
        /// The first 250 ms after the handshake, in which some intermediaries close the WebSocket.
        case earlyClose
        /// Messages near 64 KiB and of 1 MiB, to the server and back.
        case messages
        /// Pings and the times of their answers.
        case pings
        /// A stream of server-sent events over HTTP, and whether its events arrive at the pace at which they are sent.
        case eventStream
        /// Connections that are idle for asked times.
        case idle
    }

    /// The outcome of a step.
    public enum Outcome: String, Sendable, CaseIterable {
        /// The step works.
        case ok
        /// The step works, with a defect.
        case degraded
        /// The step does not work.
        case failed
        /// The step was not examined; `StepResult.words` has the reason.
        case skipped
    }

    /// The verdict on the path as a whole.
    public enum Verdict: String, Sendable, CaseIterable {
        /// Everything that was examined works.
        case works
        /// Turns are possible, with a defect, or over one transport only.
        case degraded
        /// No turn is possible.
        case fails
    }
}
