import ChappieTransport
import PlatformFoundation
import TransportSurface

/// Sends requests to an authorization server, over the engine's transport.
struct AuthorizationClient: Sendable {
    /// The content of a POST, parameter by parameter.
    enum Body {
        /// `application/x-www-form-urlencoded`.
        case form([(name: String, value: String)])
        /// A JSON object with string values.
        case json([(name: String, value: String)])
    }

    /// The largest answer; a larger one is invalid.
    static let answerByteLimit = 1 << 20
    /// The largest part of an error's answer that is kept.
    static let errorByteLimit = 4 << 10
    /// The time limit for an answer, from the beginning of the request.
    static let timeout: Duration = .seconds(30)

    private let transport: ChappieStreamingTransport
    private let originator: String

    /// Creates a client with the TLS settings, the proxy and the connect timeout of a configuration.
    ///
    /// `timeout` is the time limit for an answer, from the beginning of the request.
    init(_ configuration: ChappieConfiguration, timeout: Duration = Self.timeout) {
        var settings = ChappieTransportConfiguration(baseURL: configuration.signIn.server.issuer)
        settings.tls = configuration.tls
        settings.proxy = configuration.proxy
        settings.offersCompression = configuration.offersCompression
        settings.timeouts.connect = configuration.timeouts.connect
        settings.timeouts.firstEvent = timeout
        settings.timeouts.total = timeout
        settings.limits.eventByteCount = Self.answerByteLimit
        settings.limits.errorBodyByteCount = Self.errorByteLimit
        self.transport = ChappieStreamingTransport(configuration: settings)
        self.originator = configuration.signIn.originator
    }

    /// Posts a body, and returns the answer, whatever its status code.
    ///
    /// Throws `networkFailure`, `cancelledSignIn`, `invalidResponse` for an answer that is too large or cut, and `unknown`
    /// for a URL that is neither https nor on this machine. A cut answer that the server gives again is a
    /// `networkFailure`; tokens may be used up.
    func post(
        _ body: Body, to url: URL, isGivenAgain: Bool = false
    ) async throws(ChappieAuthError) -> FetchedDocument {
        try Self.check(url)
        var request = DocumentRequest(url: url, content: body.content)
        request.fields = [(name: "originator", value: self.originator)]
        do {
            return try await self.transport.exchange(request)
        } catch {
            throw Self.authError(error, isGivenAgain: isGivenAgain)
        }
    }

    /// Returns the token endpoint's answer as tokens, or throws its refusal.
    ///
    /// `secrets` are sent values that must not appear in an error.
    static func grant(
        _ answer: FetchedDocument, secrets: [String]
    ) throws(ChappieAuthError) -> TokenGrant {
        guard (200..<300).contains(answer.statusCode) else {
            throw .tokenExchangeFailed(
                statusCode: answer.statusCode, body: Self.words(answer.body, without: secrets))
        }
        guard let grant = TokenGrant(body: answer.body) else { throw .invalidResponse }
        return grant
    }

    /// Returns the text of an answer, without the sent secrets, and cut to a readable length.
    static func words(_ body: [UInt8], without secrets: [String]) -> String {
        // Some servers echo the form as it was sent: percent-encoding is recognized.
        SecretRedaction(secrets).words(String(decoding: body.prefix(Self.errorByteLimit), as: UTF8.self))
    }

    /// Throws `unknown` for a URL that is neither https nor on this machine.
    static func check(_ url: URL) throws(ChappieAuthError) {
        guard ChappieAuthorizationServer.allows(url) else {
            throw .unknown("The authorization server's address has to be https, or http on this machine.")
        }
    }

    private static func authError(_ error: any Error, isGivenAgain: Bool) -> ChappieAuthError {
        switch error {
        case is CancellationError: .cancelledSignIn
        case ChappieClientError.transport(let failure) where failure.code == .eventTooLarge: .invalidResponse
        case ChappieClientError.transport(let failure) where failure.isCut && !isGivenAgain: .invalidResponse
        case let error as ChappieClientError: .networkFailure(error.failureReason ?? error.tag)
        default: .unknown("The exchange with the authorization server failed.")
        }
    }
}

extension ChappieTransportFailure {
    /// Indicates whether an answer with a success has begun, and has ended within its content.
    fileprivate var isCut: Bool {
        let codes: [Code] = [.connectionLost, .endedEarly, .malformedBody, .corruptContentCoding]
        return self.phase == .stream && codes.contains(self.code)
    }
}

extension AuthorizationClient.Body {
    fileprivate var content: (type: String, body: [UInt8]) {
        switch self {
        case .form(let parameters):
            let text = parameters.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
                .joined(separator: "&")
            return (type: "application/x-www-form-urlencoded", body: Array(text.utf8))
        case .json(let parameters):
            let members = Dictionary(
                parameters.map { ($0.name, ChappieJSONValue.string($0.value)) }, uniquingKeysWith: { $1 })
            return (type: "application/json", body: Array(ChappieJSONValue.object(members).jsonText.utf8))
        }
    }
}
