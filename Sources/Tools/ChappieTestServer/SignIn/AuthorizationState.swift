// The state of the authorization server: device codes, authorization codes, and the decisions of users.
//
// A value; `AuthorizationServer` guards it. Times come in, in seconds since 1970.

/// Device codes, authorization codes and tokens.
struct AuthorizationState: Sendable {
    typealias SignIn = ChappieTestServer.SignIn

    /// A device that waits for the user's agreement.
    struct Device: Sendable {
        /// The decision of the user.
        enum Decision: Sendable {
            case pending
            case agreed
            case denied
        }

        /// `device_auth_id`, or `device_code` of RFC 8628.
        var code: String
        var way: SignInRoute.DeviceWay
        /// The code that the user enters.
        var userCode: String
        var clientID: String
        var expiresAt: Double
        var interval: Int
        var pollCount = 0
        var lastPoll: Double?
        var decision = Decision.pending
        /// The code that was issued when the user had agreed.
        var grant: DeviceGrant?
    }

    /// The code that a device receives in the end.
    struct DeviceGrant: Equatable, Sendable {
        /// The authorization code.
        var code: String
        /// The verifier that goes with it.
        var verifier: String
    }

    /// The result of a poll.
    enum Poll: Equatable, Sendable {
        case unknown
        case tooFast
        case pending
        case denied
        case expired
        case agreed(DeviceGrant)
    }

    /// The parameters of an authorization code.
    struct CodeGrant: Sendable {
        /// The permitted redirection of the code.
        enum Destination: Sendable {
            /// Exactly this `redirect_uri`.
            case redirect(String)
            /// A device, whose `redirect_uri` names the server's own page.
            case device
        }

        var clientID: String
        var destination: Destination
        var challenge: String
        var expiresAt: Double
        /// The family of the tokens that the code was exchanged for.
        var family: Int?
        var isSpent = false
    }

    /// A browser's request that waits for the user's agreement.
    struct BrowserRequest: Sendable {
        var clientID: String
        var redirectURI: String
        var challenge: String
        var state: String?
    }

    /// The lifetime of an authorization code, in seconds (RFC 6749 section 4.1.2 recommends at most ten minutes).
    static let codeLifetime = 600.0

    /// The configuration.
    let configuration: SignIn
    /// The tokens.
    var tokens: TokenFamilies
    private var devices: [String: Device] = [:]
    private var codes: [String: CodeGrant] = [:]
    private var browserRequests: [String: BrowserRequest] = [:]
    private var requestCounts: [SignIn.Endpoint: Int] = [:]

    /// Creates a state without sign-ins.
    init(_ configuration: SignIn) {
        self.configuration = configuration
        self.tokens = TokenFamilies(lifetime: configuration.accessTokenLifetime)
    }

    /// Counts a request; returns its number, from 1.
    mutating func begin(_ endpoint: SignIn.Endpoint) -> Int {
        self.requestCounts[endpoint, default: 0] += 1
        return self.requestCounts[endpoint, default: 0]
    }

    // MARK: Devices

    /// Adds a device that asks for a code.
    mutating func addDevice(clientID: String, way: SignInRoute.DeviceWay, at now: Double) -> Device {
        let device = Device(
            code: TokenMaker.secret("dev_"), way: way, userCode: TokenMaker.userCode(), clientID: clientID,
            expiresAt: now + Double(self.configuration.deviceCodeLifetime),
            interval: self.configuration.pollInterval)
        self.devices[device.code] = device
        return device
    }

    /// Handles a device's poll.
    ///
    /// A device that polls again after the agreement gets the same code, as long as it is not used: an answer may be
    /// lost.
    mutating func poll(_ code: String, way: SignInRoute.DeviceWay, at now: Double) -> Poll {
        guard var device = self.devices[code], device.way == way else { return .unknown }
        defer { self.devices[code] = device }
        guard now < device.expiresAt else { return .expired }
        let earliest = device.lastPoll.map { $0 + Double(device.interval) }
        device.lastPoll = now
        if let earliest, now < earliest, way == .standard, self.configuration.refusesFastPolls {
            // RFC 8628 section 3.5: the interval of this and all later polls grows by five seconds.
            device.interval += 5
            return .tooFast
        }
        device.pollCount += 1
        if let count = self.configuration.pendingPollCount, device.pollCount > count, device.decision == .pending {
            device.decision = .agreed
        }
        switch device.decision {
        case .pending: return .pending
        case .denied: return .denied
        case .agreed:
            let grant = device.grant ?? self.grant(to: device.clientID, at: now)
            device.grant = grant
            return .agreed(grant)
        }
    }

    private mutating func grant(to clientID: String, at now: Double) -> DeviceGrant {
        let verifier = TokenMaker.secret("server-made-verifier-")
        let code = self.addCode(
            clientID: clientID, destination: .device, challenge: TokenMaker.challenge(for: verifier), at: now)
        return DeviceGrant(code: code, verifier: verifier)
    }

    /// Returns the client of a device, by its code; nil when there is none.
    func clientID(ofDevice code: String) -> String? { self.devices[code]?.clientID }

    /// Returns whether a device's code was shown as this user code, in any spelling.
    func device(_ code: String, isShownAs userCode: String) -> Bool {
        self.devices[code].map { Self.canonical($0.userCode) == Self.canonical(userCode) } ?? false
    }

    /// Records the user's decision; returns false when no device waits with that code.
    mutating func decide(_ decision: Device.Decision, userCode: String, at now: Double) -> Bool {
        let typed = Self.canonical(userCode)
        let match = self.devices.values.first { Self.canonical($0.userCode) == typed }
        guard let match, match.decision == .pending, now < match.expiresAt else { return false }
        self.devices[match.code]?.decision = decision
        return true
    }

    /// Returns a user code in the form for comparison (RFC 8628 section 6.1): without case and punctuation.
    private static func canonical(_ userCode: String) -> String {
        String(userCode.uppercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) })
    }

    // MARK: Browsers

    /// Adds a browser's request that waits; the text names it on the page.
    mutating func addBrowserRequest(_ request: BrowserRequest) -> String {
        let name = TokenMaker.secret("request-")
        self.browserRequests[name] = request
        return name
    }

    /// Removes and returns a browser's waiting request; nil when there is none.
    mutating func takeBrowserRequest(_ name: String) -> BrowserRequest? {
        self.browserRequests.removeValue(forKey: name)
    }

    // MARK: Codes

    /// Creates an authorization code.
    mutating func addCode(
        clientID: String, destination: CodeGrant.Destination, challenge: String, at now: Double
    ) -> String {
        let code = TokenMaker.secret("ac_")
        self.codes[code] = CodeGrant(
            clientID: clientID, destination: destination, challenge: challenge, expiresAt: now + Self.codeLifetime)
        return code
    }

    /// Exchanges a code for the first tokens of a family; nil when it is invalid.
    ///
    /// A code is used up by the first attempt, whatever its result; a code that is presented again revokes its tokens
    /// as well (RFC 6749 section 4.1.2).
    mutating func exchange(
        _ code: String, clientID: String, redirectURI: String, verifier: String, at now: Double
    ) -> ChappieTestServer.IssuedTokens? {
        guard let grant = self.codes[code] else { return nil }
        if grant.isSpent {
            if let family = grant.family { self.tokens.end(family: family) }
            return nil
        }
        self.codes[code]?.isSpent = true
        let isExpected: Bool =
            switch grant.destination {
            case .redirect(let uri): uri == redirectURI
            // The client may know the server by another name, such as a proxy's.
            case .device: redirectURI.hasSuffix("/deviceauth/callback")
            }
        guard isExpected, grant.clientID == clientID, now < grant.expiresAt,
            TokenMaker.challenge(for: verifier) == grant.challenge
        else { return nil }
        let issued = self.tokens.begin(clientID: clientID, account: self.configuration.account, at: now)
        self.codes[code]?.family = issued.family
        return issued.tokens
    }

    /// Exchanges a device's code for the first tokens of a family (RFC 8628 section 3.4); nil when it is used up.
    mutating func exchange(_ grant: DeviceGrant, clientID: String, at now: Double) -> ChappieTestServer.IssuedTokens? {
        self.exchange(
            grant.code, clientID: clientID, redirectURI: "/deviceauth/callback", verifier: grant.verifier, at: now)
    }
}
