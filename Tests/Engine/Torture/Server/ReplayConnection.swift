// One connection: reads a request, sends an answer, cuts it.
//
// Owned by the server's thread.

import ChappieTestServer

/// Serves one socket.
final class ReplayConnection {
    /// The bytes to send on the connection.
    struct Answer {
        /// The whole answer.
        var rendered: RenderedAnswer
        /// The fault, and the number of bytes before it.
        var cut: (cut: Cut, offset: Int)?
        /// The connection's number in the record; nil for a run that is not recorded.
        var recordedConnection: Int?
    }

    /// The next action on the socket.
    enum Outcome {
        /// It stays.
        case open
        /// It is closed.
        case closed
        /// It is reset.
        case reset
    }

    private enum Phase {
        /// A request's header section is read.
        case head
        /// The rest of a POST is read.
        case content(Answer, byteCount: Int)
        /// The 101 was sent and the request's message is read.
        case message(Answer)
        /// The answer is whole; frames are answered.
        case answered
        /// Whatever comes is thrown away until the client leaves.
        case discarding
    }

    /// The socket.
    let descriptor: CInt
    private unowned let server: ReplayServer
    private var run = 0
    private var isWebSocket = false
    private var phase: Phase = .head
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    /// The fault that follows when all bytes are sent.
    private var cutAfterOutput: Cut?
    private var closesAfterOutput = false
    private var buffer = [UInt8](repeating: 0, count: 8 * 1024)
    /// The connection's number in the record; nil for a run that is not recorded.
    private var recordedConnection: Int?
    /// The bytes that a recorded connection has sent before its request was complete.
    private var sentBeforeRequest: [UInt8] = []

    /// Indicates whether bytes wait to be sent.
    var wantsToWrite: Bool { !self.output.isEmpty }

    /// Serves a socket that does not block.
    init(_ descriptor: CInt, server: ReplayServer) {
        self.descriptor = descriptor
        self.server = server
    }

    /// Does what can be done without waiting.
    func advance() -> Outcome {
        guard self.read() else { return .closed }
        while self.step() {}
        return self.flush()
    }

    /// Reads everything; false at the end.
    private func read() -> Bool {
        while true {
            switch SystemSocket.receive(self.descriptor, into: &self.buffer) {
            case .nothing: return true
            case .end: return false
            case .bytes(let count):
                if case .discarding = self.phase { continue }
                self.input += self.buffer[..<count]
                if count < self.buffer.count { return true }
            }
        }
    }

    private func flush() -> Outcome {
        while !self.output.isEmpty {
            guard let count = self.sendOutput() else { return .closed }
            if count == 0 { return .open }
            self.output.removeFirst(count)
        }
        if self.closesAfterOutput { return .closed }
        guard let cut = self.cutAfterOutput else { return .open }
        self.cutAfterOutput = nil
        self.phase = .discarding
        switch cut {
        case .end: SystemSocket.shutDownWriting(self.descriptor)
        case .reset: return .reset
        case .stall: break
        }
        return .open
    }

    private func sendOutput() -> Int? {
        guard let connection = self.recordedConnection else {
            return SystemSocket.send(self.descriptor, self.output[...])
        }
        var count: Int?
        self.server.noteSending(on: connection, run: self.run) {
            count = SystemSocket.send(self.descriptor, self.output[...])
            return self.output.prefix(count ?? 0)
        }
        if case .message = self.phase { self.sentBeforeRequest += self.output.prefix(count ?? 0) }
        return count
    }

    /// Enters a request that is whole into the record.
    private func noteRequest() {
        guard let connection = self.recordedConnection else { return }
        self.server.noteRequest(
            on: connection, isWebSocket: self.isWebSocket, sent: self.sentBeforeRequest, run: self.run)
        self.sentBeforeRequest = []
    }

    // MARK: Requests

    /// Takes one unit of the input; returns false when bytes are missing.
    private func step() -> Bool {
        guard self.cutAfterOutput == nil, !self.closesAfterOutput else { return false }
        switch self.phase {
        case .head: return self.takeHead()
        case .content(let answer, let byteCount):
            guard self.input.count >= byteCount else { return false }
            self.input.removeFirst(byteCount)
            self.noteRequest()
            self.send(answer, from: 0, to: answer.rendered.bytes.count)
            self.phase = .answered
            return true
        case .message(let answer):
            guard let frame = ClientFrame(self.input) else { return false }
            self.input.removeFirst(frame.byteCount)
            guard !frame.isControl else { return self.answer(frame) }
            self.noteRequest()
            self.send(answer, from: answer.rendered.headByteCount, to: answer.rendered.bytes.count)
            self.phase = .answered
            return true
        case .answered:
            guard self.isWebSocket, let frame = ClientFrame(self.input) else { return false }
            self.input.removeFirst(frame.byteCount)
            return self.answer(frame)
        case .discarding: return false
        }
    }

    private func takeHead() -> Bool {
        guard let head = RequestHead(self.input) else { return false }
        self.input.removeFirst(head.byteCount)
        self.run = head.run
        self.isWebSocket = head.key != nil
        guard var answer = self.server.answer(run: head.run, isWebSocket: self.isWebSocket) else {
            self.closesAfterOutput = true
            return false
        }
        self.recordedConnection = answer.recordedConnection
        guard let key = head.key else {
            self.phase = .content(answer, byteCount: head.contentByteCount)
            return true
        }
        if let offset = answer.rendered.acceptKeyOffset {
            let accept = Array(HandshakeDigest.acceptKey(for: String(decoding: key, as: UTF8.self)).utf8)
            answer.rendered.bytes.replaceSubrange(offset..<offset + accept.count, with: accept)
        }
        self.phase = .message(answer)
        self.send(answer, from: 0, to: answer.rendered.headByteCount)
        return true
    }

    private func send(_ answer: Answer, from start: Int, to end: Int) {
        guard let (cut, offset) = answer.cut else {
            self.output += answer.rendered.bytes[start..<end]
            return
        }
        let end = min(end, offset)
        self.output += answer.rendered.bytes[start..<end]
        self.server.noteFirstSent(end, run: self.run)
        if end == offset { self.cutAfterOutput = cut }
    }

    /// Answers a control frame.
    private func answer(_ frame: ClientFrame) -> Bool {
        switch frame.opcode {
        case ClientFrame.close:
            self.output += [0x88, UInt8(min(2, frame.payload.count))] + frame.payload.prefix(2)
            self.closesAfterOutput = true
        case ClientFrame.ping: self.output += [0x8A, UInt8(frame.payload.count)] + frame.payload
        default: break
        }
        return true
    }
}
