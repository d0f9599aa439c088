/// The faults of a path that an examination can find, and no others.
///
/// The raw value is the stable name of the cause in a report. `row` has the words.
package enum PathFinding: String, Sendable, CaseIterable {
    // The process and its settings.
    case descriptors = "environment.descriptors"
    case resources = "environment.resources"
    case trustAnchors = "environment.trust-anchors"
    case clientCertificate = "environment.client-certificate"
    case proxyURL = "environment.proxy-url"
    case clock = "environment.clock"
    case fewDescriptors = "environment.few-descriptors"
    case otherScheme = "environment.proxy-of-other-scheme"
    // Below TLS.
    case unknownName = "resolve.unknown-name"
    case noNameServer = "resolve.no-answer"
    case slowName = "resolve.slow"
    case blockedName = "resolve.blocked"
    case refused = "connect.refused"
    case noRoute = "connect.no-route"
    case forbidden = "connect.forbidden"
    case silent = "connect.no-answer"
    case connectionFailed = "connect.failed"
    case version6Silent = "connect.ipv6-silent"
    case version4Silent = "connect.ipv4-silent"
    case proxyUnresolved = "proxy.unresolved"
    case proxyUnreachable = "proxy.unreachable"
    case proxyLoginMissing = "proxy.login-missing"
    case proxyLoginRefused = "proxy.login-refused"
    case proxyRefused = "proxy.refused"
    case proxyProtocol = "proxy.other-protocol"
    case proxyCertificate = "proxy.certificate"
    case proxySilent = "proxy.no-answer"
    case proxyCut = "proxy.cut"
    // TLS.
    case inspected = "tls.inspected"
    case unknownIssuer = "tls.unknown-issuer"
    case incompleteChain = "tls.incomplete-chain"
    case expired = "tls.expired"
    case authorityExpired = "tls.authority-expired"
    case notYetValid = "tls.not-yet-valid"
    case wrongHost = "tls.wrong-host"
    case certificate = "tls.certificate"
    case plainHTTP = "tls.plain-http"
    case notTLS = "tls.not-tls"
    case tlsRefused = "tls.refused"
    case tlsCut = "tls.cut"
    case tlsSilent = "tls.no-answer"
    // HTTP.
    case captivePortal = "http.captive-portal"
    case signInPage = "http.sign-in-page"
    case blockPage = "http.block-page"
    case asksCredential = "http.asks-credential"
    case credentialWithheld = "http.credential-withheld"
    case limited = "http.limited"
    case responsesLimited = "http.responses-limited"
    case wrongAddress = "http.wrong-address"
    case noResponses = "http.no-responses"
    case notOffered = "http.not-offered"
    case redirected = "http.redirected"
    case gatewayError = "http.gateway-error"
    case serverError = "http.server-error"
    case needsTLS = "http.needs-tls"
    case notHTTP = "http.not-http"
    case httpCut = "http.cut"
    case httpSilent = "http.no-answer"
    case credentialRefused = "credential.refused"
    case credentialForbidden = "credential.forbidden"
    case credentialUnavailable = "credential.unavailable"
    case credentialUnusable = "credential.unusable"
    case credentialForm = "credential.unusual-form"
    // WebSocket.
    case webSocketNotOffered = "web-socket.not-offered"
    case webSocketBlocked = "web-socket.blocked"
    case webSocketRefused = "web-socket.refused"
    case webSocketUnauthorized = "web-socket.unauthorized"
    case webSocketLimited = "web-socket.limited"
    case webSocketAltered = "web-socket.altered"
    case webSocketContent = "web-socket.content"
    case webSocketCut = "web-socket.cut"
    case webSocketSilent = "web-socket.no-answer"
    case webSocketUnknown = "web-socket.not-examined"
    case compressionBroken = "compression.broken"
    case closedEarly = "early-close.closed"
    case largeMessages = "messages.large"
    case everyMessage = "messages.all"
    case damagedMessages = "messages.damaged"
    case pingsUnanswered = "pings.unanswered"
    case pingsSlow = "pings.slow"
    // Event streams.
    case buffered = "event-stream.buffered"
    case whole = "event-stream.whole"
    case eventsCut = "event-stream.cut"
    case eventsSilent = "event-stream.no-answer"
    case eventsRefused = "event-stream.refused"
    case eventsAltered = "event-stream.altered"
    case idleCut = "idle.cut"
    case idleAnswered = "idle.early-answer"

    /// The effect of a fault on turns.
    package enum Effect: Sendable, Equatable {
        /// No turn is possible.
        case everything
        /// No turn over HTTP is possible.
        case http
        /// It is not known whether turns are possible: what decides was not examined.
        case doubt
        /// No turn over a WebSocket is possible.
        case webSocket
        /// Turns are possible, with a defect.
        case quality
        /// No turn is affected: a remark, which may explain another fault.
        case hint
    }

    /// A change of settings.
    package enum Setting: Sendable, Equatable {
        /// `--http-only`.
        case httpOnly
        /// No compression.
        case noCompression
        /// An environment variable, which is to be set or corrected.
        case variable(String)
        /// The environment variable that names the proxy for the URL's scheme.
        case proxyVariable
    }

    /// The words and consequences of a fault.
    package struct Row: Sendable {
        /// The layer at fault.
        package let step: ChappieDiagnosis.Step
        /// The effect.
        package let effect: Effect
        /// The fault as a clause, without a capital letter and a full stop.
        package let clause: String
        /// The remedies, each in a sentence.
        package let remedies: [String]
        /// The settings that work around it.
        package let settings: [Setting]

        init(
            _ step: ChappieDiagnosis.Step, _ effect: Effect, _ clause: String, _ remedies: [String],
            set settings: [Setting] = []
        ) {
            self.step = step
            self.effect = effect
            self.clause = clause
            self.remedies = remedies
            self.settings = settings
        }
    }
}
