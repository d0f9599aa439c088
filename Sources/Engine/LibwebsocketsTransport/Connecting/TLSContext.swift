import CLibwebsocketsShim
import StreamTransport

/// Makes the TLS context that connections of one policy share; the service thread keeps it for the life of the process.
func makeTLSContext(for tls: ChappieTLSPolicy) throws(TransportFailure) -> OpaquePointer {
    var fault = clws_tls_context_fault.none
    guard let trust = TrustAnchors.read(tls.trust) else {
        throw TransportFailure(phase: .tls, cause: .trustAnchorsUnreadable)
    }
    let pins = tls.pinnedKeys.flatMap(\.digest)
    let context = withOptionalCString(tls.clientCertificate?.certificatePath) { certificate in
        withOptionalCString(tls.clientCertificate?.privateKeyPath) { privateKey in
            pins.withUnsafeBufferPointer { pinnedKeys in
                var options = clws_tls_options()
                options.trust = trust
                options.certificate = certificate
                options.private_key = privateKey
                options.pinned_keys = pinnedKeys.baseAddress
                options.pinned_key_count = tls.pinnedKeys.count
                options.requires_tls13 = tls.minimumVersion == .tls13
                return clws_tls_context_create(&options, &fault)
            }
        }
    }
    guard let context else { throw fault.failure }
    return context
}

private func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
}

extension clws_tls_context_fault {
    /// The failure as the consumer receives it.
    fileprivate var failure: TransportFailure {
        switch self {
        case .certificate: TransportFailure(phase: .tls, cause: .clientCertificateUnreadable)
        case .none, .noMemory: TransportFailure(phase: .connect, cause: .unavailable)
        }
    }
}

extension clws_details {
    /// The failure of a handshake that the server rejected after the request was written; nil for none.
    ///
    /// In TLS 1.3 a client has finished before the server has verified its certificate (RFC 8446 section 4.4.2.4).
    var lateFailure: TransportFailure? {
        guard let alert = UInt8(exactly: self.alert), TLSAlert.aboutClients.contains(alert) else { return nil }
        return TransportFailure(phase: .tls, cause: .tlsAlert(alert))
    }

    /// The cause of a failed handshake.
    var cause: TransportFailure.Cause {
        if self.is_key_not_pinned { return .keyNotPinned }
        if self.certificate_code != 0 {
            return .certificateRejected(code: self.certificate_code, issuer: self.issuerName)
        }
        return self.alert == 0 ? .tlsHandshakeFailed : .tlsAlert(UInt8(truncatingIfNeeded: self.alert))
    }

    private var issuerName: String? {
        let name = withUnsafeBytes(of: self.issuer) { String(printingName: $0) }
        return name.isEmpty ? nil : name
    }
}

/// TLS alerts by number (RFC 8446 section 6).
private enum TLSAlert {
    /// The alerts with which a server rejects the client's certificate, or the absence of one.
    ///
    /// Bad, unsupported, revoked, expired and otherwise unacceptable certificate, unknown authority, access denied, an
    /// invalid signature, and no certificate at all.
    static let aboutClients: Set<UInt8> = [40, 42, 43, 44, 45, 46, 48, 49, 51, 116]
}
