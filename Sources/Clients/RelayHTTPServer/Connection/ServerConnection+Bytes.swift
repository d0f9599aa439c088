// Bytes between a connection's socket, TLS and its queues.
// The owner is the service thread.

import CLibwebsocketsShim
import PlatformC
import StreamTransport

/// Encrypted bytes that the system has not taken.
struct CiphertextRest {
    private(set) var bytes: [UInt8] = []
    private var sentCount = 0

    /// Indicates whether there are none.
    var isEmpty: Bool { self.bytes.isEmpty }

    mutating func append(_ bytes: UnsafeRawBufferPointer) { self.bytes.append(contentsOf: bytes) }

    /// Writes the bytes; returns the result of the last call of the system, or nil when none was needed.
    mutating func write(to descriptor: CInt) -> Int? {
        guard !self.bytes.isEmpty else { return nil }
        let rest = self.bytes.count - self.sentCount
        let written = self.bytes.withUnsafeBytes { bytes -> Int in
            guard let start = bytes.baseAddress else { return 0 }
            return clws_socket_write(descriptor, start + self.sentCount, rest)
        }
        if written > 0 { self.sentCount += written }
        if self.sentCount == self.bytes.count { self = Self() }
        return written
    }
}

extension ServerConnection {
    // MARK: Reading

    /// The most reads of one event, so that one connection does not hold the others up.
    private static let readLimit = 4
    /// The most bytes of requests that are kept while an exchange runs.
    private static let pipelinedByteLimit = 16_384

    /// The most encrypted bytes that wait to be sent while more are read.
    private static let unsentCiphertextLimit = 131_072

    /// Indicates whether bytes are read: the end of a connection is noticed by reading.
    var wantsInput: Bool {
        // A client can have TLS answer it, and read none of the answers.
        guard !self.hasInputEnded, self.ciphertext.bytes.count <= Self.unsentCiphertextLimit else { return false }
        switch self.phase {
        case .exchange: return self.input.count < Self.pipelinedByteLimit
        case .webSocket: return self.webSocket?.isInboxFull != true
        case .handshaking, .idle, .head, .body, .closing, .lingering: return true
        case .closed: return false
        }
    }

    func readAvailable() {
        for _ in 0..<Self.readLimit {
            guard self.wantsInput else { return }
            let memory = self.thread.scratch.input
            let count = clws_socket_read(self.descriptor, memory.baseAddress, ServerScratch.byteCount)
            if count == -Int(EAGAIN) { return }
            guard count >= 0 else { return self.close(.clientGone) }
            guard count > 0 else { return self.inputEnded() }
            let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
            if let tls = self.tls { self.decrypt(bytes, by: tls) } else { self.received(bytes) }
            guard count == ServerScratch.byteCount else { return }
        }
    }

    private func decrypt(_ bytes: UnsafeMutableRawBufferPointer, by tls: OpaquePointer) {
        let scratch = self.thread.scratch
        let step = clws_tls_receive(
            tls, bytes.baseAddress, bytes.count, scratch.plaintext.baseAddress, scratch.plaintext.count,
            scratch.ciphertext.baseAddress, scratch.ciphertext.count)
        self.ciphertext.append(UnsafeRawBufferPointer(rebasing: scratch.ciphertext[..<step.ciphertext_count]))
        if step.state == .failed {
            // An alert tells the client why.
            _ = self.ciphertext.write(to: self.descriptor)
            return self.close(.clientGone, isAbrupt: false)
        }
        if self.phase == .handshaking, step.state == .open {
            self.phase = .idle
            if self.isRefused { self.refuse() }
        }
        if step.plaintext_count > 0 {
            self.received(UnsafeMutableRawBufferPointer(rebasing: scratch.plaintext[..<step.plaintext_count]))
        }
        if step.state == .ended, self.phase != .closed { self.inputEnded() }
    }

    private func received(_ bytes: UnsafeMutableRawBufferPointer) {
        self.webSocket?.lastReceived = .now
        guard self.input.isEmpty else {
            self.input.append(contentsOf: bytes)
            return self.readInput()
        }
        let count = self.consume(bytes)
        if count < bytes.count { self.input = Array(bytes[count...]) }
    }

    /// Reads what was received and not read yet.
    func readInput() {
        guard !self.input.isEmpty else { return }
        var bytes = self.input
        self.input = []
        let count = bytes.withUnsafeMutableBytes { self.consume($0) }
        if count < bytes.count { self.input = Array(bytes[count...]) }
    }

    /// The client sends no more.
    private func inputEnded() {
        self.hasInputEnded = true
        switch self.phase {
        case .handshaking, .idle, .lingering: self.close(.clientGone)
        case .head, .body: self.fail(statusCode: 400)
        // Before the answer begins a client may end its side and wait for it. Later it has gone.
        case .exchange where self.answer.hasBegun && !self.answer.isComplete: self.close(.clientGone)
        case .webSocket: self.close(.clientGone)
        case .exchange, .closing, .closed: break
        }
    }

    // MARK: Writing

    /// Writes as much as the system takes.
    func flush() {
        guard self.phase != .closed else { return }
        let before = self.output.byteCount
        var cost = 0
        var isGone = false
        var hasProgress = false
        while true {
            let result = self.tls.map { self.writeEncrypted(by: $0, cost: &cost) } ?? self.writePlain(cost: &cost)
            guard let result else { break }
            if result > 0 { hasProgress = true }
            if result < 0 {
                isGone = result != -Int(EAGAIN)
                break
            }
        }
        if self.output.isEmpty && self.ciphertext.isEmpty {
            self.stallDeadline = nil
        } else if hasProgress || self.stallDeadline == nil || self.output.byteCount < before {
            self.stallDeadline = .now + self.timeouts.stall
        }
        self.exchange?.sent(cost: cost)
        if isGone { self.close(.clientGone) }
    }

    /// Writes one run; nil when there is nothing to write, and a negated `errno` when it cannot be written.
    private func writePlain(cost: inout Int) -> Int? {
        guard !self.output.isEmpty else { return nil }
        let memory = self.thread.scratch.input
        let count = self.output.copy(to: memory)
        let written = clws_socket_write(self.descriptor, memory.baseAddress, count)
        if written > 0 { cost += self.output.removeFirst(written) }
        return written
    }

    private func writeEncrypted(by tls: OpaquePointer, cost: inout Int) -> Int? {
        if let written = self.ciphertext.write(to: self.descriptor) { return written }
        guard !self.output.isEmpty, self.phase != .handshaking else { return nil }
        let scratch = self.thread.scratch
        let count = self.output.copy(
            to: UnsafeMutableRawBufferPointer(rebasing: scratch.plaintext[..<ServerScratch.byteCount]))
        let step = clws_tls_send(
            tls, scratch.plaintext.baseAddress, count, scratch.ciphertext.baseAddress, scratch.ciphertext.count)
        guard step.state != .failed else { return -Int(EPIPE) }
        cost += self.output.removeFirst(count)
        let start = scratch.ciphertext.baseAddress
        let written = clws_socket_write(self.descriptor, start, step.ciphertext_count)
        let sent = max(0, written)
        if sent < step.ciphertext_count {
            self.ciphertext.append(UnsafeRawBufferPointer(rebasing: scratch.ciphertext[sent..<step.ciphertext_count]))
        }
        return written
    }

    /// Queues close_notify.
    func endTLS(_ tls: OpaquePointer) {
        let scratch = self.thread.scratch
        let step = clws_tls_end(tls, scratch.ciphertext.baseAddress, scratch.ciphertext.count)
        self.ciphertext.append(UnsafeRawBufferPointer(rebasing: scratch.ciphertext[..<step.ciphertext_count]))
    }
}
