import CLibwebsocketsShim
import StreamTransport

/// TLS with one server: ciphertext in, plaintext out, and the other way round.
///
/// It uses no socket. It belongs to the service thread.
final class TLSLayer {
    /// The result of one step.
    struct Step {
        let state: clws_tls_state
        let plaintextCount: Int
        let ciphertextCount: Int

        fileprivate init(_ step: clws_tls_step) {
            self.state = step.state
            self.plaintextCount = step.plaintext_count
            self.ciphertextCount = step.ciphertext_count
        }
    }

    /// The most bytes by which the output of a step may exceed its input.
    static let overhead = Int(CLWS_TLS_OVERHEAD)

    private let pointer: OpaquePointer
    /// The state after the last step.
    private(set) var state = clws_tls_state.handshaking

    /// Creates a connection to a server, whose certificate must name `host`; nil when that is not a valid name, or
    /// memory is short.
    init?(context: OpaquePointer, host: String, port: UInt16) {
        guard let pointer = clws_tls_create(context, host, port) else { return nil }
        self.pointer = pointer
    }

    deinit { clws_tls_free(self.pointer) }

    /// Indicates whether the handshake has resumed a session (RFC 8446 section 2.2).
    var isResumed: Bool { clws_tls_is_resumed(self.pointer) }

    /// The result of the handshake, once it is complete.
    var session: clws_session { clws_tls_session(self.pointer) }

    /// The certificates that the server has sent, its own first, once they were accepted or rejected.
    var certificates: [TLSCertificate] {
        let pointer = self.pointer
        let certificates = Array<clws_certificate>(unsafeUninitializedCapacity: Int(CLWS_CERTIFICATE_LIMIT)) {
            buffer, count in
            count = buffer.baseAddress.map { clws_tls_certificates(pointer, $0, buffer.count) } ?? 0
        }
        return certificates.map { TLSCertificate($0) }
    }

    /// The details of a failure.
    var details: clws_details { clws_tls_details(self.pointer) }

    /// Begins the handshake; its first message is written into `ciphertext`.
    func start(_ ciphertext: UnsafeMutableRawBufferPointer) -> Step {
        self.note(clws_tls_start(self.pointer, ciphertext.bytes, ciphertext.count))
    }

    /// Takes all bytes that the peer has sent.
    ///
    /// `plaintext` has room for it and `overhead`, `ciphertext` for `overhead`.
    func receive(
        _ bytes: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer,
        answering ciphertext: UnsafeMutableRawBufferPointer
    ) -> Step {
        self.note(
            clws_tls_receive(
                self.pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, plaintext.bytes,
                plaintext.count, ciphertext.bytes, ciphertext.count))
    }

    /// Encrypts bytes for the peer; `ciphertext` has room for them and `overhead`.
    func send(_ bytes: UnsafeRawBufferPointer, into ciphertext: UnsafeMutableRawBufferPointer) -> Step {
        self.note(
            clws_tls_send(
                self.pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, ciphertext.bytes,
                ciphertext.count))
    }

    /// Announces the end of this side's data (close_notify, RFC 8446 section 6.1), where that can still be sent.
    func end(_ ciphertext: UnsafeMutableRawBufferPointer) -> Step {
        self.note(clws_tls_end(self.pointer, ciphertext.bytes, ciphertext.count))
    }

    private func note(_ step: clws_tls_step) -> Step {
        self.state = step.state
        return Step(step)
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate var bytes: UnsafeMutablePointer<UInt8>? { self.baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
