import CLibwebsocketsShim
import StreamTransport

/// Makes what connections of one way share; the service thread keeps it for the life of the process.
func makeRoute(for way: Way, on service: OpaquePointer) throws(TransportFailure) -> OpaquePointer {
    var fault = clws_route_fault.none
    guard let tls = way.tls else {
        guard let route = clws_route_create(service, nil, &fault) else { throw fault.failure }
        return route
    }
    let path: String? = if case .file(let path) = tls.trust { path } else { nil }
    let route = withOptionalCString(path) { trustAnchors in
        var options = clws_tls_options()
        options.trust_anchors = trustAnchors
        options.requires_tls13 = tls.minimumVersion == .tls13
        return clws_route_create(service, &options, &fault)
    }
    guard let route else { throw fault.failure }
    return route
}

private func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
}

extension clws_route_fault {
    /// What the consumer is told.
    fileprivate var failure: TransportFailure {
        switch self {
        case .trustAnchors: TransportFailure(phase: .tls, cause: .trustAnchorsUnreadable)
        case .certificate: TransportFailure(phase: .tls, cause: .clientCertificateUnreadable)
        case .none, .noMemory: TransportFailure(phase: .connect, cause: .unavailable)
        }
    }
}

extension clws_details {
    /// Why a connection that TCP has established failed before its request was written.
    var failure: TransportFailure {
        TransportFailure(phase: .tls, cause: self.tlsCause)
    }

    private var tlsCause: TransportFailure.Cause {
        if self.is_key_not_pinned { return .keyNotPinned }
        if self.certificate_code != 0 {
            return .certificateRejected(code: self.certificate_code, issuer: self.issuerName)
        }
        return self.alert == 0 ? .tlsHandshakeFailed : .tlsAlert(UInt8(truncatingIfNeeded: self.alert))
    }

    private var issuerName: String? {
        let name = withUnsafeBytes(of: self.issuer) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return name.isEmpty ? nil : name
    }
}
