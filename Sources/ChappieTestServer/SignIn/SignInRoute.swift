// Where the endpoints of sign-in are. Pure.

/// What stands at a path of the authorization server.
enum SignInRoute: Equatable, Sendable {
    /// The two ways in which a device without a browser signs in.
    enum DeviceWay: Equatable, Sendable {
        /// RFC 8628.
        case standard
        /// The device gets an authorization code.
        case authorizationCode
    }

    case deviceCode(DeviceWay)
    case poll
    case authorize
    case token
    case revoke
    case devicePage
    case usage

    /// What is at a path; nil when it is nothing of sign-in.
    init?(path: String) {
        switch path {
        case "/api/accounts/deviceauth/usercode": self = .deviceCode(.authorizationCode)
        case "/api/accounts/deviceauth/token": self = .poll
        case "/oauth/device_authorization": self = .deviceCode(.standard)
        case "/oauth/authorize": self = .authorize
        case "/oauth/token": self = .token
        case "/oauth/revoke": self = .revoke
        case "/codex/device": self = .devicePage
        default:
            guard path.hasSuffix("/wham/usage") || path.hasSuffix("/api/codex/usage") else { return nil }
            self = .usage
        }
    }

    /// The methods that it answers.
    var methods: [String] {
        switch self {
        case .deviceCode, .poll, .token, .revoke: ["POST"]
        case .authorize, .devicePage: ["GET", "POST"]
        case .usage: ["GET"]
        }
    }
}
