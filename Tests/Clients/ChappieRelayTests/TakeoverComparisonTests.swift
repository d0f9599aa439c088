import ChappieTransport
import Foundation
import Testing

@testable import ChappieRelay

/// The events that readers get of a repeated request.
@Suite struct TakeoverComparisonTests {
    /// Feeds a comparison and returns what is delivered; nil at a divergence.
    private func delivered(
        _ journaled: [ChappieStreamEvent], _ repeated: [ChappieStreamEvent], restarts: Bool = false
    ) -> [ChappieStreamEvent]? {
        var comparison = TakeoverComparison(journaled, restarts: restarts)
        var delivered: [ChappieStreamEvent] = []
        for event in repeated {
            guard case .deliver(let events) = comparison.received(event) else { return nil }
            delivered += events
        }
        return delivered
    }

    @Test func journaledTextIsWithheldForAllCutsOfADelta() {
        let text = "Größe 🌤️"
        let scalars = Array(text.unicodeScalars)
        for known in 0...scalars.count {
            for cut in 0...scalars.count {
                let parts = [scalars[..<cut], scalars[cut...]].map { String(String.UnicodeScalarView($0)) }
                let repeated = parts.filter { !$0.isEmpty }.map { ChappieStreamEvent.textDelta($0) } + [.completed]
                let prefix = String(String.UnicodeScalarView(scalars[..<known]))
                let journaled = prefix.unicodeScalars.map { ChappieStreamEvent.textDelta(String($0)) }
                let delivered = self.delivered(journaled, repeated)
                let rest = delivered?.reduce(into: "") { if case .textDelta(let delta) = $1 { $0 += delta } }
                #expect(Array((prefix + (rest ?? "?")).utf8) == Array(text.utf8))
                #expect(delivered?.last == .completed)
            }
        }
    }

    @Test func kindsAreComparedByThemselves() {
        let journaled: [ChappieStreamEvent] = [.reasoningDelta("abc"), .textDelta("Hel")]
        // The text is new before the reasoning is repeated.
        #expect(
            self.delivered(
                journaled,
                [.textDelta("Hello"), .reasoningDelta("ab"), .reasoningDelta("cd"), .refusalDelta("no"), .completed])
                == [.textDelta("lo"), .reasoningDelta("d"), .refusalDelta("no"), .completed])
    }

    @Test func anotherAnswerDiverges() {
        let journaled: [ChappieStreamEvent] = [.reasoningDelta("abc"), .textDelta("Hel")]
        #expect(self.delivered(journaled, [.reasoningDelta("abd")]) == nil)
        #expect(self.delivered(journaled, [.textDelta("Help"), .textDelta("!"), .reasoningDelta("x")]) == nil)
        // An answer that ends before all was repeated.
        #expect(self.delivered(journaled, [.textDelta("Hello"), .completed]) == nil)
        #expect(self.delivered(journaled, [.reasoningDelta("abc"), .textDelta("He"), .completed]) == nil)
        #expect(self.delivered([], [.completed]) == [.completed])
    }

    @Test func anotherAnswerBeginsAnewWhereTheUpstreamsPolicySaysSo() {
        let journaled: [ChappieStreamEvent] = [.reasoningDelta("abc"), .textDelta("Hel")]
        #expect(
            self.delivered(
                journaled,
                [.reasoningDelta("ab"), .textDelta("Help"), .textDelta("!"), .reasoningDelta("x"), .completed],
                restarts: true)
                == [
                    .textDelta("p"), .textDelta("!"), .restarted(deliveredText: "Help!"), .reasoningDelta("ab"),
                    .textDelta("Help"), .textDelta("!"), .reasoningDelta("x"), .completed,
                ])
        // A shorter answer.
        #expect(
            self.delivered(journaled, [.textDelta("H"), .completed], restarts: true)
                == [.restarted(deliveredText: "Hel"), .textDelta("H"), .completed])
    }

    @Test func aRestartOfTheRepeatedRequestItselfIsPassedOnWhereItHasDelivered() {
        let journaled: [ChappieStreamEvent] = [.textDelta("Hel")]
        // No new output was delivered: the second answer is compared in place of the first.
        #expect(
            self.delivered(
                journaled, [.textDelta("He"), .restarted(deliveredText: "He"), .textDelta("Hello"), .completed])
                == [.textDelta("lo"), .completed])
        #expect(
            self.delivered(
                journaled,
                [.textDelta("Hello"), .restarted(deliveredText: "Hello"), .textDelta("Hi"), .completed])
                == [.textDelta("lo"), .restarted(deliveredText: "Hello"), .textDelta("Hi"), .completed])
    }

    @Test func onlyWhatIsBehindTheLastRestartIsCompared() {
        let journaled: [ChappieStreamEvent] = [
            .textDelta("Hello"), .reasoningDelta("x"), .restarted(deliveredText: "Hello"), .textDelta("Hi"),
        ]
        #expect(self.delivered(journaled, [.textDelta("Hi!"), .completed]) == [.textDelta("!"), .completed])
    }

    @Test func rawEventsAreWithheldByTheirNumber() {
        let journaled: [ChappieStreamEvent] = [
            .raw(type: "a", payload: "1"), .raw(type: "a", payload: "2"), .raw(type: "b", payload: "3"),
        ]
        #expect(
            self.delivered(
                journaled,
                [
                    .raw(type: "a", payload: "4"), .raw(type: "b", payload: "5"), .raw(type: "b", payload: "6"),
                    .raw(type: "a", payload: "7"), .raw(type: "a", payload: "8"),
                ]) == [.raw(type: "b", payload: "6"), .raw(type: "a", payload: "8")])
    }
}

/// The content of records of a journal.
@Suite struct JournaledRecordTests {
    @Test func everyEventIsReadBackAsItWas() {
        let request = ChappieToolExecutionRequest(callID: "c", name: "n", arguments: "{\"a\":\"\u{0}\"}", policy: .ask)
        let result = ChappieToolExecutionResult(
            callID: "c", name: "n", status: .failed, output: "Größe", duration: .milliseconds(1500))
        let events: [ChappieStreamEvent] = [
            .textDelta("Größe\u{0}🌤️"), .reasoningDelta(" "), .refusalDelta("no"), .raw(type: "t", payload: "{\u{0}}"),
            .raw(type: "", payload: ""), .restarted(deliveredText: ""), .toolCallRequested(request),
            .approvalRequested(ChappieApprovalRequest(callID: "c", name: "n", arguments: "")),
            .toolCallCompleted(result),
        ]
        let point = ChappieResumePoint(responseID: "resp_1", sequenceNumber: 42)
        for event in events {
            let record = JournaledRecord.record(of: event) ?? []
            #expect(JournaledRecord.read(record).record == .event(event))
            #expect(JournaledRecord.read(record).point == nil)
            let marked = JournaledRecord.record(record, at: point)
            #expect(JournaledRecord.read(marked).record == .event(event))
            #expect(JournaledRecord.read(marked).point == point)
        }
        #expect(JournaledRecord.record(of: .completed) == nil)
    }

    @Test func anEndIsReadBackAsItWas() {
        let failure = ChappieHubFailure(tag: "http.400", message: "m", isRetryable: true)
        for end in [
            JournaledEnd(status: .completed), .init(status: .failed, failure: failure), .init(status: .cancelled),
        ] {
            #expect(JournaledRecord.read(JournaledRecord.record(of: end)).record == .end(end))
        }
    }

    @Test func invalidRecordsAreUnknown() {
        for bytes in [
            [], [0], [0xff], [0x80 | 0x74], [0x80 | 0x74, 1], [0x77], [0x65], [0x65, 0x7b], [0x71, 0x7b, 0x7d],
        ] {
            #expect(JournaledRecord.read(bytes.map { UInt8($0) }).record == .unknown)
        }
    }
}

/// The header of a stream.
@Suite struct JournaledRequestTests {
    @Test func aRequestIsReadBackWithoutItsSecrets() throws {
        var request = ChappieTransportRequest(body: Array(#"{"input":"Größe"}"#.utf8))
        request.model = "m"
        request.instructions = "i"
        request.requestID = "r"
        request.searchesWeb = true
        request.fields = [("OpenAI-Organization", "o"), ("Authorization", "Bearer canary"), ("X-Api-Key", "canary")]
        let bytes = JournaledRequest(request, createdAt: 7).bytes
        #expect(!String(decoding: bytes, as: UTF8.self).contains("canary"))
        let read = try #require(JournaledRequest(bytes)?.transportRequest)
        #expect(read.body == request.body && read.model == "m" && read.instructions == "i" && read.requestID == "r")
        #expect(read.searchesWeb && read.fields.map(\.name) == ["OpenAI-Organization"])
    }

    @Test func theClientOfAServerIsReadBack() throws {
        var client = ChappieHub.Client()
        client.reader = "anna"
        client.previousResponseID = "resp_1"
        client.isBackground = true
        let header = JournaledRequest(ChappieTransportRequest(body: []), createdAt: 7, for: client)
        #expect(JournaledRequest(header.bytes) == header)
        #expect(header.reader == "anna" && header.previousResponseID == "resp_1" && header.isBackground == true)
        // Older versions wrote fewer members.
        let older = try #require(JournaledRequest(Array(#"{"version":1,"createdAt":7}"#.utf8)))
        #expect(older == JournaledRequest(createdAt: 7) && older.isBackground == nil)
    }

    /// It can be deleted and cancelled: only its facts need the end.
    @Test func aStreamWhoseEndCannotBeReadBelongsToItsUser() async throws {
        let journal = ChappieMemoryJournal()
        let url = try #require(URL(string: "http://127.0.0.1:9/v1"))
        let transport = ChappieStreamingTransport(configuration: ChappieTransportConfiguration(baseURL: url))
        let hub = ChappieHub(transport: transport, journal: journal)
        var header = JournaledRequest(createdAt: 7)
        header.reader = "anna"
        let new = ChappieNewStream(header: header.bytes)
        let stream = try await journal.create(new, owner: "a", lease: .seconds(600))
        try await journal.append(
            ChappieJournalBatch(firstPosition: 1, records: [[0xff]], closes: true), to: new.id,
            by: ChappieJournalWriter(owner: "a", epoch: stream.epoch), lease: .seconds(600))
        await #expect(throws: ChappieHubError.self) { _ = try await hub.facts(of: new.id, for: "anna") }
        await #expect(throws: ChappieHubError.unknownStream) { try await hub.requireStream(new.id, for: "ben") }
        try await hub.requireStream(new.id, for: "anna")
        try await hub.delete(new.id)
        await #expect(throws: ChappieHubError.unknownStream) { try await hub.requireStream(new.id, for: "anna") }
        await hub.shutdown(gracePeriod: .zero)
    }

    @Test func aStreamOfAHandleHasNoRequest() throws {
        #expect(try #require(JournaledRequest(JournaledRequest(createdAt: 7).bytes)).transportRequest == nil)
    }

    @Test func headersOfOtherVersionsAreNotRead() {
        for text in ["", "{}", "[]", #"{"version":2}"#, "\u{0}"] { #expect(JournaledRequest(Array(text.utf8)) == nil) }
    }
}
