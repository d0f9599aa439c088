// A server that sends answers from memory and cuts one connection of each run where it is told to.
//
// One thread owns all connections. The table of runs is shared with the workers; one lock guards it.
import Foundation
import PromiseRecord
import StreamTransport

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Serves rendered answers on 127.0.0.1.
///
/// A client names its run in the field `x-torture-run`. The first request of a run gets the first answer up to the
/// cut; every later one gets the replay, whole.
/// - Safety: `connections` belongs to the server's thread; everything else is immutable or behind a lock.
final class ReplayServer: @unchecked Sendable {
    /// The field that names a run.
    static let runField = "x-torture-run"

    /// The answers for one run.
    struct Script: Sendable {
        /// The first answer.
        var first: RenderedAnswer
        /// The fault of the first connection.
        var cut: Cut
        /// After how many bytes.
        var offset: Int
        /// The answer to every later request.
        var replay: RenderedAnswer
        /// The same over HTTP.
        var fallback: RenderedAnswer
        /// Indicates whether what is sent is kept.
        var isRecorded = false
    }

    /// The server's observations of one run.
    struct Observation: Sendable {
        /// Requests and upgrades.
        var requestCount = 0
        /// The number of bytes sent of the first answer.
        var firstSentByteCount = 0
        /// The bytes sent for each request of a recorded run.
        var exchanges: [PromiseRecord.Exchange] = []
    }

    private struct Run {
        var script: Script
        var observation = Observation()
    }

    private let runs = LockedValue([Int: Run]())
    private let numbers = LockedValue(0)
    private let listener: CInt
    private let wake: (reader: CInt, writer: CInt)
    private let ended = DispatchSemaphore(value: 0)
    private var connections: [CInt: ReplayConnection] = [:]

    /// The port.
    let port: Int

    /// Listens and serves until `stop()`.
    init() throws(SystemSocket.Failure) {
        (self.listener, self.port) = try SystemSocket.listen()
        var pair: [CInt] = [-1, -1]
        guard pipe(&pair) == 0 else { throw SystemSocket.Failure(call: "pipe", code: errno) }
        self.wake = (pair[0], pair[1])
        Thread { [self] in self.serve() }.start()
    }

    /// Begins a run; the number goes into the field.
    func add(_ script: Script) -> Int {
        let number = self.numbers.withLock { number in
            number += 1
            return number
        }
        self.runs.withLock { $0[number] = Run(script: script) }
        return number
    }

    /// Ends a run.
    func remove(_ number: Int) -> Observation {
        self.runs.withLock { $0.removeValue(forKey: number)?.observation } ?? Observation()
    }

    /// Closes everything and returns when the thread has ended.
    func stop() {
        var byte: UInt8 = 0
        _ = write(self.wake.writer, &byte, 1)
        self.ended.wait()
        close(self.wake.writer)
    }

    // MARK: For connections

    /// The answer to a request of a run, and where it is cut; nil for a run that is over.
    func answer(run number: Int, isWebSocket: Bool) -> ReplayConnection.Answer? {
        self.runs.withLock { runs in
            guard var run = runs[number] else { return nil }
            run.observation.requestCount += 1
            runs[number] = run
            let script = run.script
            let isFirst = run.observation.requestCount == 1
            var answer = ReplayConnection.Answer(
                rendered: isFirst ? script.first : isWebSocket ? script.replay : script.fallback,
                cut: isFirst ? (script.cut, script.offset) : nil)
            if script.isRecorded { answer.recordedConnection = run.observation.requestCount }
            return answer
        }
    }

    /// Notes how much of the first answer was sent.
    func noteFirstSent(_ byteCount: Int, run number: Int) {
        self.runs.withLock { $0[number]?.observation.firstSentByteCount = byteCount }
    }

    /// Notes a request, whole, of a recorded run, and what was sent on its connection before.
    func noteRequest(on connection: Int, isWebSocket: Bool, sent: [UInt8], run number: Int) {
        let exchange = PromiseRecord.Exchange(
            connection: connection, isWebSocket: isWebSocket, request: .create(content: nil), sent: .connection(sent))
        self.runs.withLock { $0[number]?.observation.exchanges.append(exchange) }
    }

    /// Sends bytes of a recorded run: a run that ends meanwhile has all that was sent.
    func noteSending(on connection: Int, run number: Int, _ send: () -> ArraySlice<UInt8>) {
        self.runs.withLock { runs in
            let bytes = send()
            guard let exchanges = runs[number]?.observation.exchanges,
                let index = exchanges.firstIndex(where: { $0.connection == connection }),
                case .connection(let sent) = exchanges[index].sent
            else { return }
            runs[number]?.observation.exchanges[index].sent = .connection(sent + bytes)
        }
    }

    // MARK: The thread

    private func serve() {
        while true {
            var entries = [
                pollfd(fd: self.wake.reader, events: Int16(POLLIN), revents: 0),
                pollfd(fd: self.listener, events: Int16(POLLIN), revents: 0),
            ]
            for connection in self.connections.values {
                let events = Int16(POLLIN) | (connection.wantsToWrite ? Int16(POLLOUT) : 0)
                entries.append(pollfd(fd: connection.descriptor, events: events, revents: 0))
            }
            guard poll(&entries, nfds_t(entries.count), -1) > 0 else { continue }
            guard entries[0].revents == 0 else { break }
            if entries[1].revents != 0 { self.acceptAll() }
            for entry in entries[2...] where entry.revents != 0 { self.advance(entry.fd) }
        }
        for connection in self.connections.values { close(connection.descriptor) }
        self.connections = [:]
        close(self.listener)
        close(self.wake.reader)
        self.ended.signal()
    }

    private func acceptAll() {
        while let descriptor = SystemSocket.accept(self.listener) {
            self.connections[descriptor] = ReplayConnection(descriptor, server: self)
        }
    }

    private func advance(_ descriptor: CInt) {
        guard let connection = self.connections[descriptor] else { return }
        switch connection.advance() {
        case .open: return
        case .closed: close(descriptor)
        case .reset: SystemSocket.reset(descriptor)
        }
        self.connections[descriptor] = nil
    }
}
