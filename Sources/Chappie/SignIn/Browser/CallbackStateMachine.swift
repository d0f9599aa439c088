import ChappieTransport

/// What the browser came back with.
enum CallbackOutcome: Sendable, Equatable {
    /// An authorization code.
    case code(String)
    /// An error (RFC 6749 section 4.1.2.1), in the server's words.
    case denied(String)
    /// The state is right, and there is neither a code nor an error.
    case invalid
    /// Somebody gave up.
    case cancelled
}

/// Decides what a request to the callback's listener gets.
///
/// It performs no I/O, reads no clock and starts no task. Its owner is the listener's thread. Whoever does not know the
/// state changes nothing: any page that the browser shows, and any program on this machine, can make requests.
struct CallbackStateMachine: Sendable {
    /// What the listener must do after one request.
    enum Action: Sendable, Equatable {
        /// Answers with a page.
        case answer(CallbackPage)
        /// Answers with a page, and says what the browser came back with.
        case answerAndReport(CallbackPage, CallbackOutcome)
        /// Says what the browser came back with, and answers when it is known what becomes of it.
        case holdAndReport(CallbackOutcome)
    }

    private enum State: Sendable, Equatable {
        case waiting
        case returned
    }

    private var state: State = .waiting
    private let port: UInt16
    private let secret: String

    /// A machine that listens on a port for whoever knows the state of the authorization request.
    init(port: UInt16, state: String) {
        self.port = port
        self.secret = state
    }

    // MARK: Inputs

    /// A whole request has arrived.
    mutating func received(_ request: CallbackRequest) -> Action {
        // A page elsewhere can give its own name the address of this machine; the browser then says that name.
        guard let hosts = request.fields["host"], hosts.count == 1, self.isOwn(hosts[0]) else {
            return .answer(.refused(statusCode: 403))
        }
        guard request.fields["origin", default: []].allSatisfy({ self.isOwnOrigin($0) }) else {
            return .answer(.refused(statusCode: 403))
        }
        guard request.method == "GET" else { return .answer(.refused(statusCode: 405)) }
        switch request.path {
        case AuthorizationRequest.callbackPath: return self.cameBack(request)
        case "/cancel": return self.cancelled(request)
        default: return .answer(.refused(statusCode: 404))
        }
    }

    private mutating func cameBack(_ request: CallbackRequest) -> Action {
        guard let state = request.parameter("state"), Self.isEqual(state, self.secret) else {
            return .answer(.wrongState)
        }
        guard self.state == .waiting else { return .answer(.returnedBefore) }
        self.state = .returned
        if let code = request.parameter("code"), !code.isEmpty, request.parameter("error") == nil {
            return .holdAndReport(.code(code))
        }
        let error = AuthorizationRefusal(
            code: request.parameter("error"), message: request.parameter("error_description"))
        guard let said = error.message ?? error.code.flatMap({ AuthorizationRefusal.printable($0) }) else {
            return .answerAndReport(.invalid, .invalid)
        }
        let words = SecretRedaction([self.secret]).words(said)
        return .answerAndReport(.denied(words), .denied(words))
    }

    /// For the person, and for another instance of the program that wants the port; not for pages.
    ///
    /// A browser says where a request comes from (Fetch Metadata): `none` is the person; other programs do not say.
    private mutating func cancelled(_ request: CallbackRequest) -> Action {
        guard request.fields["sec-fetch-site", default: []].allSatisfy({ ["none", "same-origin"].contains($0) }) else {
            return .answer(.refused(statusCode: 403))
        }
        guard self.state == .waiting else { return .answer(.returnedBefore) }
        self.state = .returned
        return .answerAndReport(.cancelled, .cancelled)
    }

    // MARK: Comparisons

    private func isOwn(_ host: String) -> Bool {
        ["127.0.0.1", "localhost", "[::1]"].contains { "\($0):\(self.port)" == host.lowercased() }
    }

    private func isOwnOrigin(_ origin: String) -> Bool {
        origin.lowercased().hasPrefix("http://") && self.isOwn(String(origin.dropFirst("http://".count)))
    }

    /// In a time that says nothing about where the texts differ.
    private static func isEqual(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return zip(one.utf8, other.utf8).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
