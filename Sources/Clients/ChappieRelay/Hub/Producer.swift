import ChappieTransport
import StreamTransport

/// Makes one stream: reads the response and appends its events, while it holds the stream's lease.
///
/// `run` belongs to one task; the others may be called from any.
final class Producer: Sendable {
    /// The source of the events.
    enum Source: Sendable {
        /// A stream that the program has begun.
        case handle(ChappieStreamHandle)
        /// The request, from its beginning or where the journal ends.
        case request(ChappieTransportRequest, Predecessor?)
    }

    /// The content of the journal that an earlier producer has left.
    struct Predecessor: Sendable {
        var events: [ChappieStreamEvent] = []
        var lastPosition = 0
        /// The position in the upstream's response behind the last event, if the server keeps that response.
        var point: ChappieResumePoint?
    }

    private enum Wish {
        case none, cancel, leave
    }

    private struct State {
        var handle: ChappieStreamHandle?
        var records: RecordWriter?
        var wish = Wish.none
    }

    let id: ChappieStreamID
    /// The user that a server has started the stream for.
    let reader: String?
    let start = ContinuousClock.now
    private let writer: ChappieJournalWriter
    private let hub: ChappieHub.Parts
    private let tail: StreamTail
    private let state = LockedValue(State())

    init(
        _ id: ChappieStreamID, of reader: String?, writer: ChappieJournalWriter, hub: ChappieHub.Parts, tail: StreamTail
    ) {
        self.id = id
        self.reader = reader
        self.writer = writer
        self.hub = hub
        self.tail = tail
    }

    /// The time for which the oldest event has waited that is not journaled.
    var lag: Duration { self.state.withLock { $0.records }?.lag ?? .zero }

    /// Ends the stream for everybody.
    func cancel() { self.stop(.cancel) }

    /// Ends this producer and frees the stream for another process.
    func leave() { self.stop(.leave) }

    private func stop(_ wish: Wish) {
        let handle = self.state.withLock { state in
            if case .none = state.wish { state.wish = wish }
            return state.handle
        }
        handle?.cancel()
    }

    /// Makes the stream to its end, or until it is lost.
    func run(_ source: Source) async {
        let records = RecordWriter(
            self.id, by: self.writer, in: self.hub.journal, tail: self.tail, configuration: self.hub.configuration,
            meter: self.hub.meter
        ) { [weak self] in self?.cancel() }
        self.state.withLock { $0.records = records }
        var last = 0
        if case .request(_, let predecessor?) = source { last = predecessor.lastPosition }
        let renewal = Task { await self.renew(records) }
        let reading = Task { await self.read(source, into: records) }
        let outcome = await records.run(after: last)
        let wish = self.state.withLock { $0.wish }
        // Events that are read from here on have no place in the journal.
        if outcome != .ended { self.leave() }
        await reading.value
        renewal.cancel()
        // A stream that ended by itself, such as with its engine, is free when the lease is over, and not at once: this
        // process would take it again and again.
        if outcome == .drained, case .leave = wish {
            try? await self.hub.journal.release(self.id, by: self.writer)
        }
    }

    /// Renews the lease, until the task is cancelled or the stream is lost.
    private func renew(_ records: RecordWriter) async {
        let lease = self.hub.configuration.lease
        while (try? await Task.sleep(for: lease / 3)) != nil {
            do {
                let standing = try await self.hub.journal.renew(self.id, by: self.writer, lease: lease)
                if standing.hasReader { self.tail.noteReader() }
                let isUnread = self.hub.configuration.stopsWithoutReadersAfter.map {
                    $0 <= self.tail.timeWithoutReaders
                }
                if standing.isCancellationRequested || isUnread == true { self.cancel() }
            } catch ChappieJournalError.fenced, ChappieJournalError.unknownStream {
                return records.lose()
            } catch {
                // The next renewal, or the next append, finds the journal again or does not.
            }
        }
    }

    // MARK: Reading

    /// Reads the response into the writer, and its end.
    private func read(_ source: Source, into records: RecordWriter) async {
        switch source {
        case .handle(let handle): await self.finish(self.read(handle, nil, into: records), records)
        case .request(let request, nil):
            await self.finish(self.read(self.hub.transport.streamHandle(request), nil, into: records), records)
        case .request(let request, let predecessor?):
            await self.finish(self.continueStream(request, behind: predecessor, into: records), records)
        }
    }

    /// The end of the reading of a response.
    private enum Ending {
        case completed(JournaledEnd.Response?)
        case failed(ChappieHubFailure, isBeforeOutput: Bool)
        /// The program, or the hub, has cancelled it.
        case stopped
        /// Another process makes the stream, or will: its writer or the engine is gone.
        case lost
    }

    /// Resumes the response where the server keeps it, and compares a repeated one otherwise.
    private func continueStream(
        _ request: ChappieTransportRequest, behind predecessor: Predecessor, into records: RecordWriter
    ) async -> Ending {
        if let point = predecessor.point {
            let ending = await self.read(self.hub.transport.streamHandle(resuming: point), nil, into: records)
            // A server that no longer has the response is asked for it anew.
            guard case .failed(_, isBeforeOutput: true) = ending else { return ending }
        }
        let comparison = TakeoverComparison(predecessor.events, restarts: self.hub.restarts)
        return await self.read(self.hub.transport.streamHandle(request), comparison, into: records)
    }

    private func finish(_ ending: Ending, _ records: RecordWriter) {
        switch ending {
        case .completed(let response):
            records.end(
                JournaledRecord.record(
                    of: JournaledEnd(status: .completed, response: response, completedAt: ChappieHub.seconds())))
        case .failed(let failure, _):
            records.end(JournaledRecord.record(of: JournaledEnd(status: .failed, failure: failure)))
        case .stopped:
            if case .leave = self.state.withLock({ $0.wish }) { return records.drain() }
            records.end(JournaledRecord.record(of: JournaledEnd(status: .cancelled)))
        case .lost: records.drain()
        }
    }

    private func read(
        _ handle: ChappieStreamHandle, _ comparison: TakeoverComparison?, into records: RecordWriter
    ) async -> Ending {
        let isStopped = self.state.withLock { state in
            state.handle = handle
            if case .none = state.wish { return false }
            return true
        }
        if isStopped { handle.cancel() }
        var comparison = comparison
        var hasOutput = false
        do {
            for try await batch in handle.batches() {
                var events: [ChappieStreamEvent] = []
                for event in batch {
                    guard let verdict = comparison?.received(event) else {
                        events.append(event)
                        continue
                    }
                    guard case .deliver(let new) = verdict else {
                        handle.cancel()
                        return .failed(.diverged, isBeforeOutput: false)
                    }
                    events += new
                }
                var encoded = events.compactMap { JournaledRecord.record(of: $0) }
                hasOutput = hasOutput || !encoded.isEmpty
                if let point = handle.resumePoint, let newest = encoded.popLast() {
                    encoded.append(JournaledRecord.record(newest, at: point))
                }
                guard await records.add(encoded) else {
                    handle.cancel()
                    return .lost
                }
            }
            let items = handle.completedResponse?.items ?? []
            return .completed(handle.response.map { JournaledEnd.Response($0, items: items) })
        } catch is CancellationError {
            return .stopped
        } catch let error as ChappieClientError {
            if error.tag == "engine.shut-down" { return .lost }
            return .failed(ChappieHubFailure(error), isBeforeOutput: !hasOutput)
        } catch {
            // An error of the program's own, such as of its source of credentials; its text may have secrets.
            let failure = ChappieHubFailure(
                tag: "relay.program-error", message: "the program threw \(type(of: error))", isRetryable: false)
            return .failed(failure, isBeforeOutput: !hasOutput)
        }
    }
}

extension ChappieHubFailure {
    /// Another answer came from the upstream than readers have.
    static let diverged = ChappieHubFailure(
        tag: "replay.diverged", message: "the repeated request was answered differently", isRetryable: true)

    /// The process that made the stream is gone, and no other can make it.
    static let producerLost = ChappieHubFailure(
        tag: "relay.producer-lost", message: "the process that made the stream is gone, and no other can make it",
        isRetryable: true)

    /// The journal no longer has records that readers may have.
    package static let recordsLost = ChappieHubFailure(
        tag: "relay.records-lost", message: "the journal has lost a part of the stream", isRetryable: true)

    init(_ error: ChappieClientError) {
        self.init(tag: error.tag, message: error.safeDescription, isRetryable: error.isRetryable)
    }
}
