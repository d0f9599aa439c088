// The answers to browsers and people: the authorization endpoint, the pages, and the usage of an account.
//
// As for the rest of the server: shared by all connection threads.

import PlatformFoundation

extension AuthorizationServer {
    /// Handles a browser's request for an authorization code (RFC 6749 section 4.1.1, RFC 7636 section 4.3).
    func authorize(_ request: SignInRequest) -> SignInAnswer {
        // There is no redirection to an address that cannot be trusted (RFC 6749 section 4.1.2.1).
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

    /// Handles a button on the page of `authorize`.
    func decideOnBrowser(_ request: SignInRequest) -> SignInAnswer {
        let asked = self.withState { state, _ in request["request"].flatMap { state.takeBrowserRequest($0) } }
        guard let asked else {
            let page = SignInPage(title: "Signing in", message: "Nobody waits for this, or it was decided before.")
            return .init(status: 400, .page(page.text), errorCode: "invalid_request")
        }
        let answer =
            request["decision"] == "agree"
            ? self.agree(asked) : Self.refusal("access_denied", asked.redirectURI, state: asked.state)
        // The page was posted to, but the client is called with GET (RFC 9110 section 15.4.4).
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

    /// Returns whether an address is that of a program on this machine (RFC 8252 section 7.3), and is valid in a field.
    private static func isOnThisMachine(_ address: String) -> Bool {
        guard let parts = URLComponents(string: address, encodingInvalidCharacters: false), parts.scheme == "http",
            parts.fragment == nil,
            parts.user == nil, let host = parts.host
        else { return false }
        return ["127.0.0.1", "localhost", "[::1]", "::1"].contains(host)
    }

    /// Returns the page on which a user enters a device's code.
    func devicePage(_ request: SignInRequest) -> SignInAnswer {
        let page = SignInPage(
            title: "Connect a device",
            message: "Type the code that the device shows, and it can act for \(self.configuration.account.email).",
            action: "/codex/device", userCode: request["user_code"] ?? "")
        return .init(.page(page.text))
    }

    /// Handles a button on the page of `devicePage`.
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

    /// Returns the used part of the account's limits.
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
