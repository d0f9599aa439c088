import ChappieTestServer
import ChappieTransport
import Testing

/// A response by the batch, over real sockets: the same as event by event.
@Suite(.timeLimit(.minutes(10))) struct BatchStreamTests {
    @Test(arguments: Wire.allCases, [false, true])
    func aResponseArrivesWholeAndOnce(over wire: Wire, isCompressed: Bool) async throws {
        let model = ChappieTestServer.ScriptedModel(seed: 3, textByteCount: 200_000)
        var configuration = ChappieTestServer.Configuration(model: .scripted(model))
        configuration.messageCompression = .deflate(.init())
        configuration.contentCoding = .gzip
        try await withServer(configuration) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = wire.policy
                    $0.offersCompression = isCompressed
                    $0.reportsDiagnostics = false
                })
            let handle = transport.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
            var outcome = StreamOutcome()
            var batchCount = 0
            var eventCount = 0
            for try await batch in handle.batches() {
                #expect(!batch.isEmpty)
                batchCount += 1
                eventCount += batch.count
                for event in batch { outcome.add(event) }
            }
            outcome.report = handle.report
            outcome.expectWhole(model.fullText)
            #expect(batchCount < eventCount)
        }
    }

    /// On the thread that receives it, with connections of other tasks beside it.
    @Test(arguments: Wire.allCases, [1, 3])
    func aResponseArrivesWholeOnAServiceThread(over wire: Wire, threadCount: Int) async throws {
        // Under the thread sanitizer 8 responses of 200,000 bytes take half a minute.
        let byteCount = EveryByteCutTests.stride == 1 ? 200_000 : 20_000
        let model = ChappieTestServer.ScriptedModel(seed: 3, textByteCount: byteCount)
        try await withServer(ChappieTestServer.Configuration(model: .scripted(model))) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = wire.policy
                    $0.serviceThreadCount = threadCount
                })
            try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 {
                    let executor: (any TaskExecutor)? = number.isMultiple(of: 2) ? transport.executor : nil
                    group.addTask(executorPreference: executor) {
                        var text = ""
                        for try await event in transport.events(ChappieTransportRequest(prompt: "hi", model: "m")) {
                            if case .textDelta(let delta) = event { text += delta }
                        }
                        return text
                    }
                }
                for try await text in group { #expect(text == model.fullText) }
            }
        }
    }

    @Test(arguments: Wire.allCases)
    func aBrokenResponseIsPutTogetherWithoutAGap(over wire: Wire) async throws {
        var configuration = ChappieTestServer.Configuration(
            model: .scripted(LoopbackTurn.model), faults: [.init(.cutAfterEvent(event: 20), attempts: 1...1)])
        configuration.eventsPerSecond = 2_000
        try await withServer(configuration) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { $0.policy = wire.policy })
            var outcome = StreamOutcome()
            for try await batch in transport.batches(ChappieTransportRequest(prompt: "hi", model: "m")) {
                for event in batch { outcome.add(event) }
            }
            #expect(outcome.text == LoopbackTurn.model.fullText)
            #expect(outcome.completions == 1)
            #expect(server.log.count == 2)
        }
    }
}
