// The authorization server: what it is asked, decided under one lock.
//
// Shared by all connection threads and the server's user.

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Answers the endpoints of sign-in; it writes nothing.
final class AuthorizationServer: Sendable {
    private static let deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code"

    private let state: Monitor<AuthorizationState>
    private let configuration: ChappieTestServer.SignIn

    /// A server that behaves in this way.
    init(_ configuration: ChappieTestServer.SignIn) {
        self.configuration = configuration
        self.state = Monitor(AuthorizationState(configuration))
    }

    private static var now: Double { Date().timeIntervalSince1970 }

    /// Runs `body` with what is known, and with the time.
    func withState<Result>(_ body: (inout AuthorizationState, Double) -> Result) -> Result {
        self.state.withLock { body(&$0, Self.now) }
    }

    /// Whether an access token is good.
    func accepts(_ token: String) -> Bool { self.withState { state, now in state.tokens.accepts(token, at: now) } }

    private func knows(_ clientID: String) -> Bool { self.configuration.clientIDs?.contains(clientID) ?? true }

    /// Why a request is refused, whatever it asks for; nil when it is not.
    private func refusal(_ request: SignInRequest) -> SignInAnswer? {
        if request.repeatsParameter { return .refusal("invalid_request", "A parameter is there twice.") }
        guard let clientID = request["client_id"] else { return .refusal("invalid_request", "There is no client_id.") }
        return self.knows(clientID) ? nil : .refusal(status: 401, "invalid_client", "The client is not known.")
    }

    // MARK: Devices

    /// A device asks for a code: RFC 8628 section 3.1, or the other way.
    func deviceCode(_ request: SignInRequest, way: SignInRoute.DeviceWay, origin: String) -> SignInAnswer {
        if let refusal = self.refusal(request) { return refusal }
        let device = self.withState { state, now in
            state.addDevice(clientID: request["client_id"] ?? "", way: way, at: now)
        }
        let lifetime = self.configuration.deviceCodeLifetime
        switch way {
        case .authorizationCode:
            let end = Date(timeIntervalSince1970: device.expiresAt.rounded(.down)).formatted(.iso8601)
            return .init(
                .json(
                    .members([
                        "device_auth_id": .string(device.code), "user_code": .string(device.userCode),
                        "interval": .string(String(device.interval)), "expires_at": .string(end),
                    ])))
        case .standard:
            let page = origin + "/codex/device"
            return .init(
                .json(
                    .members([
                        "device_code": .string(device.code), "user_code": .string(device.userCode),
                        "verification_uri": .string(page),
                        "verification_uri_complete": .string("\(page)?user_code=\(device.userCode)"),
                        "expires_in": .number(String(lifetime)), "interval": .number(String(device.interval)),
                    ])))
        }
    }

    /// A device asks whether somebody has agreed, and gets an authorization code with its verifier then.
    func pollForCode(_ request: SignInRequest) -> SignInAnswer {
        guard let code = request["device_auth_id"], let userCode = request["user_code"] else {
            return .nestedRefusal(status: 400, "invalid_request", "device_auth_id and user_code are needed.")
        }
        let poll = self.withState { state, now in
            state.device(code, isShownAs: userCode) ? state.poll(code, way: .authorizationCode, at: now) : .unknown
        }
        switch poll {
        case .unknown: return .nestedRefusal(status: 400, "invalid_request", "There is no such device.")
        // Polls that are too fast are refused by RFC 8628 alone.
        case .pending, .tooFast:
            let status = self.configuration.pendingStatusCode
            return .nestedRefusal(status: status, "deviceauth_authorization_pending", "Nobody has agreed yet.")
        case .denied: return .nestedRefusal(status: 403, "access_denied", "Somebody has said no.")
        case .expired: return .nestedRefusal(status: 403, "expired_token", "The code has expired.")
        case .agreed(let grant):
            return .init(
                .json(
                    .members([
                        "authorization_code": .string(grant.code),
                        "code_challenge": .string(TokenMaker.challenge(for: grant.verifier)),
                        "code_verifier": .string(grant.verifier),
                    ])))
        }
    }

    /// A device asks whether somebody has agreed, and gets tokens then (RFC 8628 section 3.4).
    private func pollForTokens(_ request: SignInRequest) -> SignInAnswer {
        guard let code = request["device_code"], let clientID = request["client_id"] else {
            return .refusal("invalid_request", "There is no device_code.")
        }
        return self.withState { state, now in
            guard state.clientID(ofDevice: code) == clientID else {
                return .refusal("invalid_grant", "There is no such device.")
            }
            switch state.poll(code, way: .standard, at: now) {
            case .unknown: return .refusal("invalid_grant", "There is no such device.")
            case .tooFast: return .refusal("slow_down", "Ask less often.")
            case .pending: return .refusal("authorization_pending", "Nobody has agreed yet.")
            case .denied: return .refusal("access_denied", "Somebody has said no.")
            case .expired: return .refusal("expired_token", "The code has expired.")
            case .agreed(let grant):
                guard let tokens = state.exchange(grant, clientID: clientID, at: now) else {
                    return .refusal("invalid_grant", "The code is spent.")
                }
                return Self.answer(tokens)
            }
        }
    }

    // MARK: Tokens

    /// A request to the token endpoint (RFC 6749 section 3.2).
    func token(_ request: SignInRequest) -> SignInAnswer {
        if let refusal = self.refusal(request) { return refusal }
        switch request["grant_type"] {
        case "authorization_code": return self.exchange(request)
        case "refresh_token": return self.refresh(request)
        case Self.deviceGrantType: return self.pollForTokens(request)
        case nil: return .refusal("invalid_request", "There is no grant_type.")
        case .some: return .refusal("unsupported_grant_type", "The grant type is not known.")
        }
    }

    /// What a request to the token endpoint is.
    static func endpoint(ofTokenRequest request: SignInRequest?) -> ChappieTestServer.SignIn.Endpoint {
        switch request?["grant_type"] {
        case "refresh_token": .refresh
        case Self.deviceGrantType: .poll
        default: .exchange
        }
    }

    private func exchange(_ request: SignInRequest) -> SignInAnswer {
        guard request.coding == .form else { return .refusal("invalid_request", "A code comes in a form.") }
        guard let code = request["code"], let clientID = request["client_id"], let uri = request["redirect_uri"],
            let verifier = request["code_verifier"]
        else { return .refusal("invalid_request", "code, redirect_uri and code_verifier are needed.") }
        let tokens = self.withState { state, now in
            state.exchange(code, clientID: clientID, redirectURI: uri, verifier: verifier, at: now)
        }
        return tokens.map(Self.answer) ?? .refusal("invalid_grant", "The code is good for nothing.")
    }

    private func refresh(_ request: SignInRequest) -> SignInAnswer {
        guard let token = request["refresh_token"] else {
            return .refusal("invalid_request", "There is no refresh_token.")
        }
        switch self.withState({ state, now in state.tokens.refresh(token, clientID: request["client_id"], at: now) }) {
        case .tokens(let tokens): return Self.answer(tokens)
        case .reused:
            return .nestedRefusal(status: 401, "refresh_token_reused", "The refresh token has been used already.")
        case .unknown, .ended:
            return .nestedRefusal(status: 401, "refresh_token_invalidated", "The refresh token is no longer good.")
        case .otherClient: return .refusal("invalid_grant", "The token belongs to another client.")
        }
    }

    private static func answer(_ tokens: ChappieTestServer.IssuedTokens) -> SignInAnswer {
        .init(
            .json(
                .members([
                    "id_token": .string(tokens.idToken), "access_token": .string(tokens.accessToken),
                    "refresh_token": .string(tokens.refreshToken), "token_type": .string("Bearer"),
                    "expires_in": .number(String(tokens.expiresIn)),
                ])))
    }

    /// Revokes a token; one that is not known is no error (RFC 7009 section 2.2).
    func revoke(_ request: SignInRequest) -> SignInAnswer {
        guard let token = request["token"], !request.repeatsParameter else {
            return .refusal("invalid_request", "There is no token, or two.")
        }
        if let clientID = request["client_id"], !self.knows(clientID) {
            return .refusal(status: 401, "invalid_client", "The client is not known.")
        }
        self.withState { state, _ in state.tokens.revoke(token) }
        return .init(.empty)
    }
}

// MARK: Browsers and people

extension AuthorizationServer {
    /// A browser asks for an authorization code (RFC 6749 section 4.1.1, RFC 7636 section 4.3).
    func authorize(_ request: SignInRequest) -> SignInAnswer {
        // Nobody is sent to an address that cannot be trusted (RFC 6749 section 4.1.2.1).
        guard !request.repeatsParameter, let clientID = request["client_id"], self.knows(clientID),
            let address = request["redirect_uri"], Self.isOnThisMachine(address)
        else {
            let page = SignInPage(title: "Signing in", message: "The address that brought you here is wrong.")
            return .init(status: 400, .page(page.text), errorCode: "invalid_request")
        }
        let state = request["state"]
        if request["response_type"] != "code" {
            return Self.refusal("unsupported_response_type", address, state: state)
        }
        guard let challenge = request["code_challenge"], challenge.utf8.count == 43,
            request["code_challenge_method"] == "S256"
        else { return Self.refusal("invalid_request", address, state: state) }
        let asked = AuthorizationState.BrowserRequest(
            clientID: clientID, redirectURI: address, challenge: challenge, state: state)
        if self.configuration.approvesBrowsers { return self.agree(asked) }
        let name = self.withState { state, _ in state.addBrowserRequest(asked) }
        let page = SignInPage(
            title: "Signing in", message: "\(clientID) wants to act for \(self.configuration.account.email).",
            action: "/oauth/authorize", request: name)
        return .init(.page(page.text))
    }

    /// Somebody has pressed a button on the page of `authorize`.
    func decideOnBrowser(_ request: SignInRequest) -> SignInAnswer {
        let asked = self.withState { state, _ in request["request"].flatMap { state.takeBrowserRequest($0) } }
        guard let asked else {
            let page = SignInPage(title: "Signing in", message: "Nobody waits for this, or it was decided before.")
            return .init(status: 400, .page(page.text), errorCode: "invalid_request")
        }
        let answer =
            request["decision"] == "agree"
            ? self.agree(asked) : Self.refusal("access_denied", asked.redirectURI, state: asked.state)
        // The page was posted to, the client is asked with GET (RFC 9110 section 15.4.4).
        var changed = answer
        changed.status = 303
        return changed
    }

    private func agree(_ asked: AuthorizationState.BrowserRequest) -> SignInAnswer {
        let code = self.withState { state, now in
            state.addCode(
                clientID: asked.clientID, destination: .redirect(asked.redirectURI), challenge: asked.challenge, at: now
            )
        }
        let parameters = [ChappieTestServer.Field(name: "code", value: code)] + Self.echo(asked.state)
        return .init(status: 302, .redirect(asked.redirectURI, parameters))
    }

    private static func echo(_ state: String?) -> [ChappieTestServer.Field] {
        state.map { [.init(name: "state", value: $0)] } ?? []
    }

    private static func refusal(_ code: String, _ address: String, state: String?) -> SignInAnswer {
        .init(
            status: 302, .redirect(address, [.init(name: "error", value: code)] + self.echo(state)), errorCode: code)
    }

    /// Whether an address is one of a program on this machine (RFC 8252 section 7.3).
    private static func isOnThisMachine(_ address: String) -> Bool {
        guard let parts = URLComponents(string: address), parts.scheme == "http", parts.fragment == nil,
            parts.user == nil, let host = parts.host
        else { return false }
        return ["127.0.0.1", "localhost", "[::1]", "::1"].contains(host)
    }

    /// The page on which somebody types a device's code.
    func devicePage(_ request: SignInRequest) -> SignInAnswer {
        let page = SignInPage(
            title: "Connect a device",
            message: "Type the code that the device shows, and it can act for \(self.configuration.account.email).",
            action: "/codex/device", userCode: request["user_code"] ?? "")
        return .init(.page(page.text))
    }

    /// Somebody has pressed a button on the page of `devicePage`.
    func decideOnDevice(_ request: SignInRequest) -> SignInAnswer {
        let typed = request["user_code"] ?? ""
        let decision: AuthorizationState.Device.Decision = request["decision"] == "agree" ? .agreed : .denied
        guard self.withState({ state, now in state.decide(decision, userCode: typed, at: now) }) else {
            let page = SignInPage(
                title: "Connect a device", message: "No device waits with the code \(typed).",
                action: "/codex/device", userCode: typed)
            return .init(status: 400, .page(page.text), errorCode: "invalid_request")
        }
        let message = decision == .agreed ? "The device is connected." : "The device was turned away."
        return .init(.page(SignInPage(title: "Connect a device", message: message).text))
    }

    /// How much of the account is used.
    func usage() -> SignInAnswer {
        let now = self.withState { _, now in Int(now) }
        let window = { (percent: Int, length: Int, rest: Int) -> JSONValue in
            .members([
                "used_percent": .number(String(percent)), "limit_window_seconds": .number(String(length)),
                "reset_after_seconds": .number(String(rest)), "reset_at": .number(String(now + rest)),
            ])
        }
        return .init(
            .json(
                .members([
                    "plan_type": .string(self.configuration.account.planType),
                    "rate_limit": .members([
                        "allowed": .bool(true), "limit_reached": .bool(false),
                        "primary_window": window(42, 18_000, 7_349), "secondary_window": window(5, 604_800, 390_000),
                    ]),
                    "credits": .members([
                        "has_credits": .bool(false), "unlimited": .bool(false), "balance": .null,
                        "approx_local_messages": .null, "approx_cloud_messages": .null,
                    ]),
                    "spend_control": .members(["reached": .bool(false), "individual_limit": .null]),
                    "additional_rate_limits": .array([]), "rate_limit_reached_type": .null,
                ])))
    }
}
