import CLibwebsocketsShim
import StreamTransport

/// The layers between a socket and HTTP: the greeting of a proxy, and TLS with it and with the server.
///
/// Bytes in, bytes out: it uses no socket, clock or thread. It belongs to the service thread.
struct LayerStack {
    /// A layer that is to be set up.
    enum Plan {
        /// TLS with this server; `isProxy` says that it is not the request's.
        case tls(context: OpaquePointer, host: String, port: UInt16, isProxy: Bool)
        /// A request for a tunnel to a proxy.
        case greeting(ProxyGreeting)
    }

    /// The result of a step, bytes aside.
    enum Outcome: Equatable {
        /// The state of the layers is the same, or has advanced without completing them.
        case unchanged
        /// The last layer was just established: the request may be written.
        case established
        /// The peer has announced that it sends no more.
        case ended
        /// The connection has failed, before or after it was established.
        case failed(TransportFailure)
    }

    private enum Layer {
        case tls(TLSLayer, isProxy: Bool)
        case greeting(ProxyGreeting)
    }

    /// The established layers, from the socket upwards.
    private var layers: [Layer] = []
    /// The layers to set up, the next one first.
    private var plans: [Plan]
    private let scratch: LayerScratch
    /// Indicates whether every layer is up.
    private(set) var isEstablished = false

    init(_ plans: [Plan], scratch: LayerScratch) {
        self.plans = plans
        self.scratch = scratch
    }

    /// Indicates whether bytes pass unchanged.
    var isTransparent: Bool { self.layers.isEmpty && self.plans.isEmpty }

    /// The topmost TLS; nil without one.
    var tls: TLSLayer? {
        if case .tls(let tls, _) = self.layers.last { tls } else { nil }
    }

    /// Indicates whether the end of TCP truncates no data: TLS, where there is any, was ended before it.
    var hasEndInOrder: Bool { self.tls.map { $0.state == .ended } ?? true }

    /// Indicates whether the proxy has not opened the tunnel yet.
    var isAtProxy: Bool {
        switch self.layers.last {
        case .tls(_, let isProxy): isProxy
        case .greeting: true
        case nil: false
        }
    }

    /// The failure that the end of the connection means while a layer is missing.
    var failureOfEnd: TransportFailure {
        switch self.layers.last {
        case .tls(let tls, let isProxy): tls.failure(isProxy: isProxy)
        case .greeting: TransportFailure(phase: .proxy, cause: .connectionLost)
        case nil: TransportFailure(phase: .connect, cause: .connectionLost)
        }
    }

    // MARK: Steps

    /// Starts the first layer.
    mutating func start() -> Outcome { self.startNext() }

    /// Takes bytes that a socket has received; returns the number of plaintext bytes, and the outcome.
    ///
    /// `plaintext` has room for as many bytes, and `TLSLayer.overhead`.
    mutating func receive(
        _ bytes: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer
    ) -> (count: Int, outcome: Outcome) {
        var count = 0
        let outcome = self.pass(bytes, to: 0, into: plaintext, &count)
        return (count, outcome)
    }

    /// Sends bytes to the peer, through every layer.
    mutating func send(_ bytes: UnsafeRawBufferPointer) { self.emit(bytes, below: self.layers.count) }

    /// Ends TLS, where that can still be sent.
    mutating func end() {
        for (index, layer) in self.layers.enumerated().reversed() {
            guard case .tls(let tls, _) = layer else { continue }
            let buffer = self.scratch.ciphertext.0
            self.emit(buffer, tls.end(buffer), below: index)
        }
    }

    // MARK: Upwards

    private mutating func pass(
        _ bytes: UnsafeRawBufferPointer, to index: Int, into plaintext: UnsafeMutableRawBufferPointer,
        _ count: inout Int
    ) -> Outcome {
        guard index < self.layers.count else {
            UnsafeMutableRawBufferPointer(rebasing: plaintext[count...]).copyMemory(from: bytes)
            count += bytes.count
            return .unchanged
        }
        switch self.layers[index] {
        case .tls(let tls, let isProxy):
            return self.pass(bytes, to: tls, at: index, isProxy: isProxy, into: plaintext, &count)
        case .greeting(var greeting):
            var position = 0
            let outcome = greeting.receive(bytes, at: &position)
            self.layers[index] = .greeting(greeting)
            return self.greeted(outcome, bytes.dropFirst(position), at: index, into: plaintext, &count)
        }
    }

    private mutating func pass(
        _ bytes: UnsafeRawBufferPointer, to tls: TLSLayer, at index: Int, isProxy: Bool,
        into plaintext: UnsafeMutableRawBufferPointer, _ count: inout Int
    ) -> Outcome {
        let isTop = index + 1 == self.layers.count && self.plans.isEmpty
        let wasHandshaking = tls.state == .handshaking
        let room = isTop ? UnsafeMutableRawBufferPointer(rebasing: plaintext[count...]) : self.scratch.between
        let step = tls.receive(bytes, into: room, answering: self.scratch.ciphertext.0)
        self.emit(self.scratch.ciphertext.0, step, below: index)
        var outcome = Outcome.unchanged
        if wasHandshaking, step.state == .open || step.state == .ended { outcome = self.startNext() }
        if isTop {
            count += step.plaintextCount
        } else if step.plaintextCount > 0 {
            let passed = UnsafeRawBufferPointer(rebasing: room[..<step.plaintextCount])
            let above = self.pass(passed, to: index + 1, into: plaintext, &count)
            if above != .unchanged { outcome = above }
        }
        switch (step.state, outcome) {
        case (_, .failed), (_, .ended), (.handshaking, _), (.open, _): return outcome
        // The end is noticed with the next read, when the request has gone out.
        case (.ended, .established): return outcome
        case (.ended, _): return .ended
        case (.failed, _): return .failed(tls.failure(isProxy: isProxy))
        }
    }

    private mutating func greeted(
        _ outcome: ProxyGreeting.Outcome, _ rest: Slice<UnsafeRawBufferPointer>, at index: Int,
        into plaintext: UnsafeMutableRawBufferPointer, _ count: inout Int
    ) -> Outcome {
        switch outcome {
        case .failed(let cause):
            return .failed(TransportFailure(phase: .proxy, cause: cause))
        case .incomplete:
            self.sendGreeting(at: index)
            return .unchanged
        case .established:
            self.sendGreeting(at: index)
            self.layers.remove(at: index)
            let outcome = self.startNext()
            guard outcome != .failed(.noMemory), !rest.isEmpty else { return outcome }
            // They may lie where the next layer writes.
            let above = Array(rest).withUnsafeBytes { self.pass($0, to: index, into: plaintext, &count) }
            return above == .unchanged ? outcome : above
        }
    }

    // MARK: Setting up

    private mutating func startNext() -> Outcome {
        guard !self.plans.isEmpty else {
            self.isEstablished = true
            return .established
        }
        switch self.plans.removeFirst() {
        case .greeting(let greeting):
            self.layers.append(.greeting(greeting))
            self.sendGreeting(at: self.layers.count - 1)
        case .tls(let context, let host, let port, let isProxy):
            guard let tls = TLSLayer(context: context, host: host, port: port) else { return .failed(.noMemory) }
            let buffer = self.scratch.ciphertext.0
            let step = tls.start(buffer)
            self.emit(buffer, step, below: self.layers.count)
            self.layers.append(.tls(tls, isProxy: isProxy))
            if step.state == .failed { return .failed(tls.failure(isProxy: isProxy)) }
        }
        return .unchanged
    }

    private mutating func sendGreeting(at index: Int) {
        guard case .greeting(var greeting) = self.layers[index] else { return }
        let bytes = greeting.takeBytesToSend()
        self.layers[index] = .greeting(greeting)
        bytes.withUnsafeBytes { self.emit($0, below: index) }
    }

    // MARK: Downwards

    /// Passes the output of a step to the layers below; it lies in the first of the two buffers.
    private func emit(_ buffer: UnsafeMutableRawBufferPointer, _ step: TLSLayer.Step, below index: Int) {
        let made = UnsafeRawBufferPointer(rebasing: buffer[..<step.ciphertextCount])
        self.emit(made, below: index, by: (self.scratch.ciphertext.1, buffer))
    }

    private func emit(_ bytes: UnsafeRawBufferPointer, below index: Int) {
        self.emit(bytes, below: index, by: self.scratch.ciphertext)
    }

    /// Passes bytes down; `buffers` are the one that the next layer writes to, and the one that may hold `bytes`.
    private func emit(
        _ bytes: UnsafeRawBufferPointer, below index: Int,
        by buffers: (UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer)
    ) {
        guard index > 0, case .tls(let tls, _) = self.layers[index - 1] else {
            return self.scratch.output.append(contentsOf: bytes)
        }
        var rest = bytes
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(LayerScratch.writeByteCount))
            let step = tls.send(piece, into: buffers.0)
            let made = UnsafeRawBufferPointer(rebasing: buffers.0[..<step.ciphertextCount])
            self.emit(made, below: index - 1, by: (buffers.1, buffers.0))
            rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
        }
    }
}

extension TransportFailure {
    /// The failure of a layer that could not be created.
    fileprivate static let noMemory = TransportFailure(phase: .connect, cause: .unavailable)
}

extension TLSLayer {
    /// Returns the failure of the handshake.
    fileprivate func failure(isProxy: Bool) -> TransportFailure {
        TransportFailure(phase: isProxy ? .proxy : .tls, cause: self.details.cause)
    }
}
