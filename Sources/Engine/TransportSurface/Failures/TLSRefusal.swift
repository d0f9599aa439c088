import StreamTransport

/// The reason why a TLS handshake was refused, as a fixed word for reports and a clause for sentences.
///
/// A value without an owner.
package enum TLSRefusal: String, Sendable, CaseIterable {
    // The server's certificate, as judged on this side.
    case expired
    case notYetValid = "not-yet-valid"
    case unknownIssuer = "unknown-issuer"
    case selfSigned = "self-signed"
    case wrongHost = "wrong-host"
    case revoked
    case badSignature = "bad-signature"
    case wrongPurpose = "wrong-purpose"
    case tooWeak = "too-weak"
    case invalid
    case notPinned = "not-pinned"
    // The meaning of an alert.
    case protocolVersion = "protocol-version"
    case certificateRequired = "certificate-required"
    case clientCertificate = "client-certificate"
    case nothingInCommon = "handshake-failure"
    case unrecognizedName = "unrecognized-name"

    /// The other side of the handshake.
    enum Peer: String, Sendable, CaseIterable {
        case server
        case proxy
    }

    /// Creates the reason for OpenSSL's verdict on a certificate (`X509_V_ERR_…`).
    package init(certificateCode: Int32) {
        switch certificateCode {
        case 9: self = .notYetValid
        case 10: self = .expired
        case 18: self = .selfSigned
        // The unknown root may be sent by the server or not.
        case 2, 19, 20, 21, 27: self = .unknownIssuer
        case 62, 64: self = .wrongHost
        case 23: self = .revoked
        case 7: self = .badSignature
        case 26: self = .wrongPurpose
        case 66, 67, 68: self = .tooWeak
        default: self = .invalid
        }
    }

    /// Creates the reason for an alert (RFC 8446 section 6.2, RFC 5246 section 7.2); nil for an unspecific one.
    init?(alert: UInt8) {
        switch alert {
        case 40, 71: self = .nothingInCommon
        case 70, 86: self = .protocolVersion
        case 42, 43, 44, 45, 46, 48, 49: self = .clientCertificate
        case 112: self = .unrecognizedName
        case 41, 116: self = .certificateRequired
        default: return nil
        }
    }

    /// Returns the end of a sentence, behind a colon; nil when the word adds no information.
    func words(for peer: Peer) -> String? {
        switch self {
        case .expired: "it has expired"
        case .notYetValid: "it is not valid yet"
        case .unknownIssuer: "its issuer is not known"
        case .selfSigned: "it is signed by itself"
        case .wrongHost: "it is for another host"
        case .revoked: "it was revoked"
        case .badSignature: "its signature is wrong"
        case .wrongPurpose: "it is not for servers"
        case .tooWeak: "its key or its signature is too weak"
        case .invalid, .notPinned: nil
        case .protocolVersion: "there is no version of TLS that both sides accept"
        case .certificateRequired: "the \(peer.rawValue) demands a certificate of the client"
        case .clientCertificate: "the \(peer.rawValue) does not accept the client's certificate"
        case .nothingInCommon: "the \(peer.rawValue) accepts nothing of what was offered"
        case .unrecognizedName: "the \(peer.rawValue) does not know the host's name"
        }
    }

    /// Returns the advice; nil when the failure's own advice is as good.
    func advice(for peer: Peer) -> String? {
        let operators = "the \(peer.rawValue)'s operator"
        let checkAddress =
            switch peer {
            case .server: "Check the address"
            case .proxy: "Check the proxy's URL"
            }
        switch self {
        case .expired, .notYetValid: return "Check this machine's clock; if it is right, tell \(operators)."
        case .wrongHost, .unrecognizedName: return "\(checkAddress)."
        case .revoked, .badSignature, .wrongPurpose, .tooWeak: return "\(checkAddress), and tell \(operators)."
        case .unknownIssuer, .selfSigned, .invalid, .notPinned: return nil
        case .protocolVersion:
            return "Ask \(operators) for TLS 1.2 or 1.3, or lower the version that is demanded."
        case .certificateRequired where peer == .proxy, .clientCertificate where peer == .proxy:
            return "Use another proxy: a client certificate is given to servers alone."
        case .certificateRequired:
            return "Give a client certificate, or check that the one given is what the server wants."
        case .clientCertificate: return "Check the client's certificate: its issuer, and how long it is valid."
        case .nothingInCommon:
            return "Check whether the \(peer.rawValue) wants a client certificate, and which versions it speaks."
        }
    }

    /// Indicates whether a person has to make a change before another attempt makes sense.
    var requiresUserAction: Bool { self != .nothingInCommon }
}
