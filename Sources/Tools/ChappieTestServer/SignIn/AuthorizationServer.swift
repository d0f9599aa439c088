// The authorization server: requests, decided under one lock.
//
// Shared by all connection threads and the server's user.

import PlatformFoundation

/// Answers the endpoints of sign-in; it writes no bytes.
final class AuthorizationServer: Sendable {
    private static let deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code"

    private let state: Monitor<AuthorizationState>
    /// The configuration.
    let configuration: ChappieTestServer.SignIn

    /// Creates a server with a configuration.
    init(_ configuration: ChappieTestServer.SignIn) {
        self.configuration = configuration
        self.state = Monitor(AuthorizationState(configuration))
    }

    private static var now: Double { Date().timeIntervalSince1970 }

    /// Runs `body` with the state, and with the time.
    func withState<Result>(_ body: (inout AuthorizationState, Double) -> Result) -> Result {
        self.state.withLock { body(&$0, Self.now) }
    }

    /// Returns whether an access token is valid.
    func accepts(_ token: String) -> Bool { self.withState { state, now in state.tokens.accepts(token, at: now) } }

    /// Returns whether a client may sign users in.
    func knows(_ clientID: String) -> Bool { self.configuration.clientIDs?.contains(clientID) ?? true }

    /// Returns the refusal of a request of any kind; nil when it is accepted.
    private func refusal(_ request: SignInRequest) -> SignInAnswer? {
        if request.repeatsParameter { return .refusal("invalid_request", "A parameter is there twice.") }
        guard let clientID = request["client_id"] else { return .refusal("invalid_request", "There is no client_id.") }
        return self.knows(clientID) ? nil : .refusal(status: 401, "invalid_client", "The client is not known.")
    }

    // MARK: Devices

    /// Handles a device's request for a code: RFC 8628 section 3.1, or the other flow.
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

    /// Handles a device's poll, and returns an authorization code with its verifier once the user has agreed.
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

    /// Handles a device's poll, and returns tokens once the user has agreed (RFC 8628 section 3.4).
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

    /// Returns the kind of a request to the token endpoint.
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

    /// Revokes a token; an unknown one is not an error (RFC 7009 section 2.2).
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
