// One request to an endpoint of sign-in: routed, decided, and written with its fault.
//
// Owned by the connection thread.

/// Answers one request.
struct SignInExchange {
    let parts: ServerParts
    let stream: ByteStream
    let writer: WireWriter
    let request: HTTPRequest

    private var server: AuthorizationServer { self.parts.authorization }

    /// Writes the answer.
    ///
    /// The connection may carry another request when this returns.
    func run(_ route: SignInRoute) throws(ConnectionEnd) {
        try self.writer.begin(AttemptFaults([], attempt: 0, transport: .http), sliceByteCount: nil)
        guard route.methods.contains(self.request.method) else {
            return try self.write(.refusal(status: 405, "invalid_request", "The method is not for this path."))
        }
        let asked = SignInRequest(self.request)
        guard let endpoint = self.endpoint(route, asked) else { return try self.write(self.answer(route, asked)) }
        let number = self.server.withState { state, _ in state.begin(endpoint) }
        let fault = self.parts.configuration.signIn.faults.first {
            $0.endpoint == endpoint && $0.requests.contains(number)
        }
        let (answer, ending) = self.outcome(fault?.answer) { self.answer(route, asked) }
        self.parts.log.addSignIn(
            .init(
                endpoint: endpoint, number: number, status: ending == .whole || ending == .half ? answer.status : nil,
                errorCode: answer.errorCode, coding: asked?.coding,
                parameterNames: asked?.parameters.map(\.name) ?? [], clientID: asked?["client_id"],
                fields: RequestLog.harmless(self.request.fields)))
        try self.write(answer, ending)
    }

    /// Returns the endpoint whose requests are counted; nil is a page's form.
    private func endpoint(_ route: SignInRoute, _ asked: SignInRequest?) -> ChappieTestServer.SignIn.Endpoint? {
        switch route {
        case .deviceCode: .deviceCode
        case .poll: .poll
        case .authorize: self.request.method == "GET" ? .authorize : nil
        case .token: AuthorizationServer.endpoint(ofTokenRequest: asked)
        case .revoke: .revoke
        case .devicePage: nil
        case .usage: .usage
        }
    }

    private func answer(_ route: SignInRoute, _ asked: SignInRequest?) -> SignInAnswer {
        if route == .usage {
            guard self.parts.authorizes(self.request) else {
                return .nestedRefusal(status: 401, "token_expired", "The token has expired.")
            }
            return self.server.usage()
        }
        guard let asked else { return .refusal("invalid_request", "The request cannot be read.") }
        let isPost = self.request.method == "POST"
        switch route {
        case .deviceCode(let way):
            let host = self.request.value(of: "host")
            let scheme = self.parts.identity == nil ? "http" : "https"
            return self.server.deviceCode(asked, way: way, origin: "\(scheme)://\(host ?? "127.0.0.1")")
        case .poll: return self.server.pollForCode(asked)
        case .authorize: return isPost ? self.server.decideOnBrowser(asked) : self.server.authorize(asked)
        case .token: return self.server.token(asked)
        case .revoke: return self.server.revoke(asked)
        case .devicePage: return isPost ? self.server.decideOnDevice(asked) : self.server.devicePage(asked)
        case .usage: return self.server.usage()
        }
    }

    // MARK: What goes wrong

    /// The part of an answer that is written.
    private enum Ending {
        case whole
        case half
        case none
        case silence
    }

    private func outcome(
        _ fault: ChappieTestServer.SignIn.Answer?, _ regular: () -> SignInAnswer
    ) -> (answer: SignInAnswer, ending: Ending) {
        switch fault {
        case nil: (regular(), .whole)
        case .refusal(let status, let body): (.init(status: status, .text(body)), .whole)
        case .dropped: (.init(.empty), .none)
        case .doneAndDropped: (regular(), .none)
        case .truncated: (regular(), .half)
        case .without(let member): (regular().removing(member), .whole)
        case .garbage(let count): (.init(.text(String(repeating: "x", count: max(0, count)))), .whole)
        case .silence: (.init(.empty), .silence)
        }
    }

    private func write(_ answer: SignInAnswer, _ ending: Ending = .whole) throws(ConnectionEnd) {
        switch ending {
        case .none: throw .cut(.end)
        case .silence:
            self.stream.waitForPeerToLeave()
            throw .stalled
        case .whole, .half: break
        }
        let body = answer.body
        let length = ChappieTestServer.Field(name: "content-length", value: String(body.count))
        let bytes = HTTPResponseHead(status: answer.status, fields: answer.fields + [length]).bytes + body
        if ending == .half {
            // An answer without a body is cut in its head.
            try self.writer.append(Array(bytes.prefix(bytes.count - max(1, body.count / 2 + body.count % 2))))
            try self.writer.flush()
            throw .cut(.end)
        }
        try self.writer.append(bytes)
        try self.writer.flush()
    }
}
