import StreamTransport

/// A SOCKS proxy's reason for refusing a connection, as a fixed word for reports and a clause for sentences
/// (RFC 1928 section 6).
///
/// A value without an owner.
enum SOCKSRefusal: String, Sendable, CaseIterable {
    case generalFailure = "general-failure"
    case notAllowed = "not-allowed"
    case networkUnreachable = "network-unreachable"
    case hostUnreachable = "host-unreachable"
    case connectionRefused = "connection-refused"
    case hopLimitPassed = "ttl-expired"
    case commandNotSupported = "command-not-supported"
    case addressTypeNotSupported = "address-type-not-supported"

    /// Creates the reason for the code of a reply; nil for one that the specification does not assign.
    init?(code: UInt8) {
        switch code {
        case 1: self = .generalFailure
        case 2: self = .notAllowed
        case 3: self = .networkUnreachable
        case 4: self = .hostUnreachable
        case 5: self = .connectionRefused
        case 6: self = .hopLimitPassed
        case 7: self = .commandNotSupported
        case 8: self = .addressTypeNotSupported
        default: return nil
        }
    }

    /// The end of a sentence, behind a colon.
    var words: String {
        switch self {
        case .generalFailure: "it failed"
        case .notAllowed: "its rules do not allow it"
        case .networkUnreachable: "it cannot reach the server's network"
        case .hostUnreachable: "it cannot reach the server"
        case .connectionRefused: "the server refused it"
        case .hopLimitPassed: "the way from it to the server is too long"
        case .commandNotSupported: "it opens no connections"
        case .addressTypeNotSupported: "it does not support this kind of address"
        }
    }

    /// The advice for the program's user.
    var advice: String {
        switch self {
        case .generalFailure: "Check the server's address, and ask the proxy's operator: its log says why."
        case .notAllowed: "Ask the proxy's operator to allow the server, or name it in NO_PROXY."
        case .networkUnreachable, .hostUnreachable, .connectionRefused, .hopLimitPassed:
            "Check the server's address, and whether the server can be reached from the proxy."
        case .commandNotSupported: "Use another proxy, or ask this one's operator to allow CONNECT."
        case .addressTypeNotSupported: "Write the server's address as a name, or as an IPv4 address."
        }
    }
}

extension TransportFailure.SOCKSAuthenticationFault {
    /// The sentence, without its end.
    var words: String {
        switch self {
        case .credentialMissing: "The proxy requires a user name and a password"
        case .credentialRefused: "The proxy refused the user name or the password"
        case .methodsRefused: "The proxy requires another way of logging in than with a user name and a password"
        }
    }

    /// The advice for the program's user.
    var advice: String {
        switch self {
        case .credentialMissing: "Put the user name and password into the proxy's URL."
        case .credentialRefused: "Check the user name and password in the proxy's URL."
        case .methodsRefused: "Ask the proxy's operator to allow a login with user name and password."
        }
    }
}
