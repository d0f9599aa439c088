// One connection of a server: its state, its deadlines, and its end.
// The owner is the service thread.

import CLibwebsocketsShim
import HTTPProtocol
import LibwebsocketsTransport
import StreamTransport
import WebSocketProtocol

/// A connection of a server.
///
/// `ServerConnection+Bytes.swift` reads and writes, `+Requests` reads requests, `+Answers` writes answers, and
/// `+WebSocket` has the frames of a WebSocket.
final class ServerConnection {
    /// The phase of the connection.
    enum Phase {
        /// The handshake of TLS.
        case handshaking
        /// Waits for the first byte of a request.
        case idle
        /// Reads the head of a request.
        case head
        /// Reads the body of a request.
        case body
        /// An exchange answers a request by HTTP.
        case exchange
        /// A WebSocket, its closing handshake included.
        case webSocket
        /// Sends the rest of its output, and then ends it.
        case closing
        /// Has ended its output, and waits for the client to do the same: closing with unread bytes would reset the
        /// connection, and could take the response from the client (RFC 9112 section 9.6).
        case lingering
        /// Has no socket any more.
        case closed
    }

    let id: ConnectionID
    let core: HTTPServerCore
    let thread: ServerThread
    /// Indicates whether the connection is above the limit, and is only told so.
    let isRefused: Bool
    let descriptor: CInt
    let remoteAddress: String
    /// The shim's TLS connection; nil without TLS.
    private(set) var tls: OpaquePointer?
    private var interest: CUnsignedInt = 0

    var phase: Phase
    /// The deadline of the phase.
    var deadline: Moment?
    /// The time by which the client has to take a byte; nil while nothing waits for it.
    var stallDeadline: Moment?
    /// The deadline in the thread's queue: no later than the next of the above.
    var scheduledDeadline: Moment?

    // Input.

    /// Received bytes that were not read, because an exchange runs or an inbox is full.
    var input: [UInt8] = []
    /// Indicates whether the client has ended its side.
    var hasInputEnded = false
    /// Indicates whether a request was answered before.
    var hasServed = false
    var reader: RequestReader
    var head: RequestMessageHead?
    var body: [UInt8] = []

    // Output.

    var output = OutboundQueue()
    /// Encrypted bytes that the system has not taken.
    var ciphertext = CiphertextRest()
    /// Indicates whether close_notify was written.
    var hasEndedTLS = false

    // The exchange.

    var exchange: HTTPExchange?
    var answer = AnswerState()
    /// The request for a WebSocket that the exchange answers.
    var webSocketRequest: UpgradeRequest?
    var webSocket: WebSocketState?

    init(
        id: ConnectionID, core: HTTPServerCore, thread: ServerThread, descriptor: CInt, remoteAddress: String,
        tls: OpaquePointer?, isRefused: Bool
    ) {
        self.id = id
        self.core = core
        self.thread = thread
        self.descriptor = descriptor
        self.remoteAddress = remoteAddress
        self.tls = tls
        self.isRefused = isRefused
        self.phase = tls == nil ? .idle : .handshaking
        self.reader = RequestReader(limits: core.configuration.limits.request)
    }

    var timeouts: HTTPServerConfiguration.Timeouts { self.core.configuration.timeouts }

    /// The time after which TCP probes a quiet client, and the time between two probes.
    private static let (idleSeconds, probeSeconds): (CInt, CInt) = (60, 15)

    /// Begins to read.
    func start() {
        let silence = CInt(clamping: self.timeouts.stall.nanoseconds / 1_000_000)
        clws_socket_watch_peer(self.descriptor, Self.idleSeconds, Self.probeSeconds, silence)
        self.deadline = .now + self.timeouts.requestHead
        if self.isRefused, self.tls == nil { self.refuse() }
        self.settle()
    }

    // MARK: Events

    func socketReady(isReadable: Bool, isWritable: Bool) {
        if isReadable { self.readAvailable() }
        self.settle()
    }

    /// Sends what the exchange has posted.
    func outputPosted(by exchange: HTTPExchange) {
        guard exchange === self.exchange else { return }
        for output in exchange.takeOutputs() { self.perform(output) }
        self.settle()
    }

    /// Closes the connection of an exchange at once.
    func abort(_ exchange: HTTPExchange) {
        guard exchange === self.exchange else { return }
        self.close(.aborted)
    }

    /// Lets the current exchange end, and begins no other.
    func serverStops() {
        switch self.phase {
        case .handshaking, .idle: self.close(.serverStopped)
        case .head where !self.reader.hasBegun: self.close(.serverStopped)
        case .head, .body, .exchange, .webSocket, .closing, .lingering, .closed: break
        }
    }

    /// Ends the connection, because the grace period of its server is over.
    func graceEnded() {
        switch self.phase {
        case .webSocket:
            self.output.append(OutboundPiece(closing: CloseFrame(code: .goingAway)))
            self.flush()
            self.close(.serverStopped, isAbrupt: false)
        case .handshaking, .idle, .head, .body, .exchange, .closing, .lingering:
            self.close(.serverStopped)
        case .closed:
            break
        }
    }

    // MARK: Time

    func deadlineFired(at now: Moment) {
        if let time = self.stallDeadline, time <= now { return self.close(.clientStalled) }
        if let time = self.deadline, time <= now {
            self.deadline = nil
            self.phaseTimedOut(at: now)
        }
        self.settle()
    }

    private func phaseTimedOut(at now: Moment) {
        switch self.phase {
        case .handshaking: self.close(.clientStalled)
        // A connection that never began a request, or rests between two, ends without an answer.
        case .idle: self.endOutput()
        case .head, .body: self.fail(statusCode: 408)
        case .webSocket: self.webSocketTimedOut(at: now)
        case .lingering: self.close(.clientStalled)
        case .exchange, .closing, .closed: break
        }
    }

    /// Schedules the next look at the connection, unless an earlier one is.
    func schedule(_ time: Moment) {
        guard self.phase != .closed, self.scheduledDeadline.map({ time < $0 }) ?? true else { return }
        self.scheduledDeadline = time
        self.thread.expect(time, of: self)
    }

    // MARK: Settling

    /// Completes the work on the connection after an event: writes, goes on to the next request, awaits the next event.
    func settle() {
        repeat {
            self.flush()
        } while self.output.isEmpty && self.ciphertext.isEmpty && self.goOn()
        guard self.phase != .closed else { return }
        self.awaitSocket()
        if let time = self.deadline { self.schedule(time) }
        if let time = self.stallDeadline { self.schedule(time) }
    }

    /// Takes the step that follows when all output was sent; returns whether there was one.
    private func goOn() -> Bool {
        switch self.phase {
        case .exchange where self.answer.isComplete:
            self.endExchange()
            return true
        case .closing:
            self.endOutput()
            return self.phase == .closing
        case .handshaking, .idle, .head, .body, .exchange, .webSocket, .lingering, .closed:
            return false
        }
    }

    private func endExchange() {
        let exchange = self.exchange
        self.exchange = nil
        exchange?.ended(.completed)
        guard self.answer.keepsConnection, !self.thread.isStopping(self.core) else { return self.endOutput() }
        self.answer = AnswerState()
        self.head = nil
        self.hasServed = true
        self.reader = RequestReader(limits: self.core.configuration.limits.request)
        self.phase = .idle
        self.deadline = .now + self.timeouts.keepAlive
        self.readInput()
        // A client that ends its side behind its last request still gets every answer.
        if self.hasInputEnded, self.phase == .idle { self.endOutput() }
    }

    /// Ends this side of the connection, for which all output was sent.
    func endOutput() {
        if let tls = self.tls, !self.hasEndedTLS {
            self.hasEndedTLS = true
            self.endTLS(tls)
            self.phase = .closing
            return
        }
        guard !self.hasInputEnded else { return self.close(.clientGone) }
        clws_socket_end_output(self.descriptor)
        self.phase = .lingering
        self.deadline = .now + self.timeouts.closing
        self.input = []
    }

    private func awaitSocket() {
        var wanted: CUnsignedInt = 0
        if self.wantsInput { wanted |= CUnsignedInt(CLWS_READABLE) }
        if !self.output.isEmpty || !self.ciphertext.isEmpty { wanted |= CUnsignedInt(CLWS_WRITABLE) }
        guard wanted != self.interest else { return }
        guard self.thread.watch(self.descriptor, of: self.id, from: self.interest, to: wanted) else {
            return self.close(.clientGone)
        }
        self.interest = wanted
    }

    // MARK: The end

    /// Closes the socket, by a reset unless `isAbrupt` is false, and ends the exchange.
    func close(_ end: HTTPExchange.End, isAbrupt: Bool = true) {
        guard self.phase != .closed else { return }
        self.phase = .closed
        _ = self.thread.watch(self.descriptor, of: self.id, from: self.interest, to: 0)
        self.interest = 0
        // An answer that the system has taken whole is delivered, however slow the client is.
        let isQuiet = self.output.isEmpty && self.ciphertext.isEmpty && self.exchange == nil
        if isAbrupt, !isQuiet {
            clws_socket_close(self.descriptor, true)
        } else {
            clws_socket_release(self.descriptor)
        }
        if let tls = self.tls { clws_tls_free(tls) }
        self.tls = nil
        self.output.removeAll()
        self.ciphertext = CiphertextRest()
        (self.input, self.body) = ([], [])
        self.thread.remove(self)
        let exchange = self.exchange
        self.exchange = nil
        exchange?.ended(end)
    }
}

/// The framing of the answer that an exchange gives.
struct AnswerState {
    /// The form in which the bytes of a streaming response are sent.
    enum Body {
        /// No streaming response has begun.
        case none
        /// In chunks.
        case chunked
        /// As they are: the end of the connection is the end of the body.
        case untilClose
        /// Not at all: the request was HEAD, or the status code allows no body.
        case dropped
    }

    var body: Body = .none
    /// Indicates whether a byte of the answer was queued.
    var hasBegun = false
    /// Indicates whether the last byte of the answer was queued.
    var isComplete = false
    /// Indicates whether another request may follow.
    var keepsConnection = false
}
