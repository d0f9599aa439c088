import LibwebsocketsTransport
import PlatformC
import StreamTransport
import TransportSurface

/// Performs what a link decides: looks names up, asks Sentinels, opens sockets, reads and writes.
///
/// It has no policy but the order of addresses. It belongs to the journal's thread.
final class RedisConnection {
    /// The actions that the thread must perform for it.
    struct Lookup: Sendable {
        /// The name.
        let host: String
        /// The number of the attempt, by which a late answer is known.
        let attempt: Int
    }

    /// The memory and contexts that the connections of a thread share, made with the first one.
    final class Memory {
        private let tls: ChappieTLSPolicy?
        private var context: ByteStreamContext?

        init(tls: ChappieTLSPolicy?) { self.tls = tls }

        /// Returns the context; a failure, such as that of a file of authorities, is tried again with the next call.
        func streamContext() throws(TransportFailure) -> ByteStreamContext {
            if let context = self.context { return context }
            let made = try ByteStreamContext(tls: self.tls)
            self.context = made
            return made
        }
    }

    private enum Stage {
        case none
        /// Waits for the addresses of a host.
        case lookingUp(RedisAddress.Host)
        /// Has a socket that is not established, or is one to a Sentinel.
        case opening(RedisAddress.Host)
        case open
    }

    private let address: RedisAddress
    private let memory: Memory
    private var stage = Stage.none
    private var stream: ByteStream?
    private var parser = RESPParser()
    private var attempt = 0
    /// The addresses of the present host that were not tried.
    private var addresses: ArraySlice<String> = []
    /// The Sentinels that were not asked in this attempt.
    private var sentinels: ArraySlice<RedisAddress.Host> = []
    private var isAtSentinel = false
    private(set) var link: RedisLink
    /// A look-up that is to be started.
    private var lookup: Lookup?

    init(address: RedisAddress, settings: RedisLink.Settings, memory: Memory) {
        self.address = address
        self.memory = memory
        self.link = RedisLink(settings: settings)
    }

    /// The socket and its events for `poll`; nil without one.
    var awaited: (descriptor: CInt, events: Int16)? {
        self.stream.map { ($0.descriptor, $0.awaitedEvents) }
    }

    /// Takes the look-up that is to be started.
    func takeLookup() -> Lookup? {
        defer { self.lookup = nil }
        return self.lookup
    }

    /// Gives the link an input.
    func input(_ body: (inout RedisLink) -> Void) { body(&self.link) }

    /// Performs the link's actions; returns those that concern the journal.
    func perform() -> [RedisLink.Action] {
        var others: [RedisLink.Action] = []
        while true {
            let actions = self.link.takeActions()
            if actions.isEmpty { return others }
            for action in actions {
                switch action {
                case .connect: self.connect()
                case .disconnect: self.disconnect()
                case .write(let bytes): self.stream?.write(bytes)
                case .answer, .fail, .opened, .message, .closed, .openingFailed: others.append(action)
                }
            }
        }
    }

    // MARK: Connecting

    private func connect() {
        self.attempt += 1
        switch self.address.kind {
        case .server: self.lookUp(self.address.hosts[0], isSentinel: false)
        case .sentinels:
            self.sentinels = self.address.hosts[...]
            self.askNextSentinel(after: "no Sentinel was asked")
        }
    }

    private func askNextSentinel(after reason: String) {
        self.closeStream()
        guard let sentinel = self.sentinels.popFirst() else { return self.end(reason) }
        self.lookUp(sentinel, isSentinel: true)
    }

    private func lookUp(_ host: RedisAddress.Host, isSentinel: Bool) {
        self.isAtSentinel = isSentinel
        self.stage = .lookingUp(host)
        if AddressLookup.isNumeric(host.name) { return self.found(.success([host.name]), attempt: self.attempt) }
        self.lookup = Lookup(host: host.name, attempt: self.attempt)
    }

    /// The addresses of a host are known, or are not.
    func found(_ answer: Result<[String], TransportFailure>?, attempt: Int) {
        guard attempt == self.attempt, case .lookingUp(let host) = self.stage else { return }
        switch answer {
        case .success(let addresses)?:
            self.addresses = addresses[...]
            self.openNext(of: host, after: self.named(host, "the name has no address"))
        case .failure(let failure)?: self.ended(self.named(host, failure.redisReason))
        case nil: self.ended(self.named(host, "the name was not looked up in time"))
        }
    }

    private func openNext(of host: RedisAddress.Host, after reason: String) {
        self.closeStream()
        var reason = reason
        while let address = self.addresses.popFirst() {
            do throws(TransportFailure) {
                let context = try self.memory.streamContext()
                self.stream = try ByteStream(to: address, port: host.port, host: host.name, context: context)
                self.parser = RESPParser()
                self.stage = .opening(host)
                return
            } catch {
                reason = self.named(host, error.redisReason)
            }
        }
        self.ended(reason)
    }

    /// Ends an attempt, unless there is another Sentinel.
    private func ended(_ reason: String) {
        if self.isAtSentinel { self.askNextSentinel(after: reason) } else { self.end(reason) }
    }

    private func end(_ reason: String) {
        self.link.connectionEnded(reason, at: .now, fraction: .random(in: 0...1))
    }

    private func disconnect() {
        self.closeStream()
        self.stage = .none
        self.addresses = []
        self.sentinels = []
    }

    private func closeStream() {
        self.stream?.close()
        self.stream = nil
    }

    // MARK: The socket

    /// Reads and writes what the socket is ready for.
    func ready(_ events: Int16) {
        guard let stream = self.stream else { return }
        do throws(TransportFailure) {
            let wasEstablished = stream.isEstablished
            if events & Int16(POLLOUT | POLLERR | POLLHUP) != 0 { try stream.becameWritable() }
            var reading = ByteStream.Reading.bytes(0)
            if events & Int16(POLLIN | POLLERR | POLLHUP) != 0 {
                reading = try stream.read { self.parser.append($0) }
            }
            if !wasEstablished, stream.isEstablished { self.established() }
            self.readValues()
            if reading == .ended, self.stream === stream { self.failed("the server closed the connection") }
        } catch {
            self.failed(error.redisReason)
        }
    }

    private func established() {
        if self.isAtSentinel, case .sentinels(let name) = self.address.kind {
            self.stream?.write(RESPCommand("SENTINEL", "get-master-addr-by-name", name).bytes)
        } else {
            self.stage = .open
            self.input { $0.connected(at: .now) }
        }
    }

    private func readValues() {
        let now = ContinuousClock.now
        do throws(RESPError) {
            while let stream = self.stream, let value = try self.parser.next() {
                if self.isAtSentinel {
                    self.sentinelAnswered(value)
                } else {
                    self.link.received(value, at: now, fraction: .random(in: 0...1))
                }
                guard self.stream === stream else { return }
            }
        } catch {
            let reason = "this is not a server of Redis: \(error)"
            if self.isAtSentinel { return self.failed(reason) }
            self.link.receivedGarbage(reason, at: now, fraction: .random(in: 0...1))
        }
    }

    private func sentinelAnswered(_ value: RESPValue) {
        guard case .array(let parts) = value, parts.count == 2, case .bulk(let name) = parts[0],
            case .bulk(let digits) = parts[1], let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
        else {
            let reason: String
            switch value {
            case .error(let error): reason = RedisRefusal.reason(ofGreeting: error)
            case .null, .simple, .integer, .bulk, .array: reason = "the Sentinel knows no master of this name"
            }
            return self.failed(reason)
        }
        self.closeStream()
        self.lookUp(RedisAddress.Host(name: String(decoding: name, as: UTF8.self), port: port), isSentinel: false)
    }

    private func failed(_ reason: String) {
        switch self.stage {
        case .opening(let host): self.openNext(of: host, after: self.named(host, reason))
        case .none, .lookingUp, .open: self.end(reason)
        }
    }

    /// A reason with the host that it concerns, where that is not the URL's only one.
    private func named(_ host: RedisAddress.Host, _ reason: String) -> String {
        self.address.hosts == [host] ? reason : "\(host): \(reason)"
    }
}

extension TransportFailure {
    /// The failure in a few words.
    fileprivate var redisReason: String {
        switch self.cause {
        case .unresolvable: "the name has no address"
        case .unreachable(let code): code == 0 ? "it cannot be reached" : String(cString: strerror(code))
        case .timedOut, .peerUnresponsive: "it does not answer"
        case .certificateRejected(let code, _):
            "its certificate was refused (\(TLSRefusal(certificateCode: code).rawValue))"
        case .keyNotPinned: "its key is not pinned"
        case .tlsAlert(let alert): "TLS failed (alert \(alert)): the port may have no TLS, or other versions"
        case .tlsHandshakeFailed: "TLS failed: the port may have no TLS"
        case .trustAnchorsUnreadable: "the file of trusted authorities cannot be read"
        case .clientCertificateUnreadable: "the client's certificate or its key cannot be read"
        case .connectionLost: "the connection was lost"
        case .descriptorsExhausted(let limit): "this process has no file descriptor left (\(limit))"
        default: "the connection cannot be made (\(self.phase.rawValue))"
        }
    }
}
