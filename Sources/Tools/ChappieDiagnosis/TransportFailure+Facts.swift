import ChappieTransport
import PathDiagnosis
import PlatformC
import StreamTransport
import TransportSurface

/// The facts that a failure of the transport stands for.
extension TransportFailure {
    /// The fault of the process or its settings; nil when the path is at fault.
    var environmentFault: EnvironmentFacts.Fault? {
        switch self.cause {
        case .descriptorsExhausted(let limit): .descriptors(limit: limit)
        case .unavailable, .environmentUnusable: .resources
        case .trustAnchorsUnreadable: .trustAnchors
        case .clientCertificateUnreadable: .clientCertificate
        case .proxyInvalid(let words): .proxyURL(words)
        default: nil
        }
    }

    /// The failure of a look-up.
    var resolution: ResolutionFacts.Failure {
        switch self.cause {
        case .unresolvable(let code): code == EAI_NONAME || code == Self.noAddress ? .unknownName : Self.failure(code)
        case .timedOut: .timedOut
        default: .other
        }
    }

    /// glibc's code for a name without addresses, which its headers show only to some programs.
    private static let noAddress: Int32 = -5

    private static func failure(_ code: Int32) -> ResolutionFacts.Failure { code == EAI_AGAIN ? .noAnswer : .other }

    /// The outcome of a TCP connection attempt.
    var reach: Reach {
        switch self.cause {
        case .timedOut: .timedOut
        case .unreachable(let code):
            switch code {
            case ECONNREFUSED: .refused
            case ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, EAFNOSUPPORT: .noRoute
            case EACCES, EPERM: .forbidden
            case ETIMEDOUT: .timedOut
            default: .failed
            }
        default: .failed
        }
    }

    /// The outcome of the request for a tunnel.
    func tunnel(hasLogin: Bool) -> ProxyFacts.Tunnel {
        switch self.cause {
        // 407 by RFC 9110 section 15.5.8; tinyproxy before 1.11.3 answers 401 to a wrong login.
        case .proxyRefused(407), .proxyRefused(401): hasLogin ? .loginRefused : .loginMissing
        case .proxyRefused(let code): .refused(code: code)
        case .socksRefused(let code): .refused(code: Int(code))
        case .socksAuthenticationRefused(let fault): fault == .credentialMissing ? .loginMissing : .loginRefused
        case .notSOCKS, .notHTTP, .headerSectionTooLarge: .otherProtocol
        case .certificateRejected(let code, let issuer): .certificate(CertificateFault(code), issuer: issuer)
        case .tlsAlert, .tlsHandshakeFailed: .tls
        case .unresolvable: .serverUnresolved
        case .timedOut: .timedOut
        default: .cut
        }
    }

    /// The outcome of the TLS handshake.
    var handshake: TLSFacts.Handshake {
        switch self.cause {
        case .certificateRejected(let code, let issuer): .certificate(CertificateFault(code), issuer: issuer)
        case .keyNotPinned: .certificate(.other, issuer: nil)
        case .tlsAlert(let alert): .alert(alert)
        case .timedOut: .timedOut
        default: .cut
        }
    }

    /// Indicates whether the server has sent a certificate, which was not accepted.
    var hasCertificate: Bool {
        switch self.cause {
        case .certificateRejected, .keyNotPinned: self.phase == .tls
        default: false
        }
    }

    /// The outcome of a request that was not answered.
    var exchange: HTTPFacts.Exchange {
        switch self.cause {
        case .timedOut: .timedOut
        case .notHTTP, .protocolSwitched, .headerSectionTooLarge, .openingHandshakeInvalid: .notHTTP
        default: .cut
        }
    }

    /// The outcome of an opening handshake that was not answered as it has to be.
    var upgrade: UpgradeFacts.Handshake {
        switch self.cause {
        case .timedOut: .timedOut
        case .openingHandshakeInvalid(.content): .announcesContent
        case .openingHandshakeInvalid(let fault): .altered(fault.rawValue)
        default: .cut
        }
    }
}

extension CertificateFault {
    /// Creates the fault for OpenSSL's verdict (`X509_V_ERR_…`).
    init(_ code: Int32) {
        self =
            switch TLSRefusal(certificateCode: code) {
            case .expired: .expired
            case .notYetValid: .notYetValid
            case .unknownIssuer, .selfSigned: .unknownIssuer
            case .wrongHost: .wrongHost
            default: .other
            }
    }
}
