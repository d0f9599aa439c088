// The paths of the sign-in endpoints. Pure.

/// An endpoint or page of the authorization server.
enum SignInRoute: Equatable, Sendable {
    /// The two sign-in flows of a device without a browser.
    enum DeviceWay: Equatable, Sendable {
        /// RFC 8628.
        case standard
        /// The flow in which the device gets an authorization code.
        case authorizationCode
    }

    case deviceCode(DeviceWay)
    case poll
    case authorize
    case token
    case revoke
    case devicePage
    case usage

    /// Creates the route of a path; nil when it is not one of sign-in.
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
