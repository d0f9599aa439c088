import ChappieTransport
import TransportSurface

/// The outcome of the browser's return.
enum CallbackOutcome: Sendable, Equatable {
    /// An authorization code.
    case code(String)
    /// An error (RFC 6749 section 4.1.2.1), with the server's description.
    case denied(String)
    /// The state is right, and there is neither a code nor an error.
    case invalid
    /// The sign-in was cancelled.
    case cancelled
}

/// Decides the answer to a request to the callback's listener.
///
/// It performs no I/O, reads no clock and starts no task. Its owner is the listener's thread. A request without the
/// state has no effect: any page in the browser, and any program on this machine, can make requests.
struct CallbackStateMachine: Sendable {
    /// The listener's task after one request.
    enum Action: Sendable, Equatable {
        /// Answer with a page.
        case answer(CallbackPage)
        /// Answer with a page, and report the outcome of the browser's return.
        case answerAndReport(CallbackPage, CallbackOutcome)
        /// Report the outcome of the browser's return, and answer when the result of the sign-in is known.
        case holdAndReport(CallbackOutcome)
    }

    private enum State: Sendable, Equatable {
        case waiting
        case returned
    }

    private var state: State = .waiting
    private let port: UInt16
    private let secret: String

    /// Creates a machine for a port and the state of the authorization request.
    init(port: UInt16, state: String) {
        self.port = port
        self.secret = state
    }

    // MARK: Inputs

    /// Handles a complete request.
    mutating func received(_ request: CallbackRequest) -> Action {
        // Another page can make its own name resolve to this machine; the browser then sends that name.
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

    /// Handles a request to cancel, from the user or another instance of the program that needs the port, but not from
    /// pages.
    ///
    /// A browser sends the origin of a request (Fetch Metadata): `none` is the user; other programs send none.
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

    /// Compares texts in a time that does not depend on the place where they differ.
    private static func isEqual(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return zip(one.utf8, other.utf8).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
