import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// The promise, tested at every byte: the wire is cut, the stream continues, and the consumer sees the response once.
@Suite struct EveryByteCutTests {
    /// Transport and content coding.
    struct Variant: Sendable, CustomTestStringConvertible {
        let wire: Wire
        let isCompressed: Bool
        let cut: ChappieTestServer.Fault.ConnectionCut

        var testDescription: String {
            "\(self.wire.rawValue), \(self.isCompressed ? "compressed" : "plain"), \(self.cut.rawValue)"
        }

        static let all = Wire.allCases.flatMap { wire in
            [false, true].map { Variant(wire: wire, isCompressed: $0, cut: $0 ? .reset : .end) }
        }
    }

    @Test(arguments: Variant.all)
    func aCutAtAnyByteIsNotNoticed(_ variant: Variant) async throws {
        let byteCount = try await self.run(variant, cuttingAt: nil).sentByteCount
        #expect(byteCount > 400)
        let failures = try await withThrowingTaskGroup(of: Int?.self) { group in
            var failures: [Int] = []
            var next = 0
            func startNext() {
                guard next <= byteCount else { return }
                let offset = next
                next += Self.stride
                group.addTask {
                    let run = try await self.run(variant, cuttingAt: offset)
                    return Self.isRight(run.outcome) && run.sentByteCount <= offset ? nil : offset
                }
            }
            for _ in 0..<8 { startNext() }
            while let failure = try await group.next() {
                if let failure { failures.append(failure) }
                startNext()
            }
            return failures
        }
        #expect(failures.isEmpty, "wrong after cuts at these bytes")
        print("\(variant.testDescription): cut at every \(Self.stride). of \(byteCount + 1) offsets")
    }

    /// The distance between the cuts: 1, unless the environment asks for a sample because every turn is slow.
    static let stride: Int = {
        let value = ProcessInfo.processInfo.environment["CHAPPIE_CUT_STRIDE"].flatMap { Int($0) }
        return max(1, value ?? 1)
    }()

    /// A response of one message, as short as the rules allow, so that there is time for every byte of it.
    private static let deltas = ["Det er ", "21 °C", " in Oslo, ", "日本", "語 ", "👩‍🚀", " e\u{301}", "\r\n", "done."]

    private static let events: [String] = {
        var events = [#"{"type":"response.created","response":{"id":"resp_1"}}"#]
        for delta in Self.deltas {
            let text = delta.replacing("\r\n", with: #"\r\n"#)
            events.append(
                #"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"\#(text)"}"#)
        }
        events.append(#"{"type":"response.completed","response":{"id":"resp_1","status":"completed"}}"#)
        return events
    }()

    private func run(_ variant: Variant, cuttingAt offset: Int?) async throws
        -> (outcome: StreamOutcome, sentByteCount: Int)
    {
        var configuration = ChappieTestServer.Configuration(model: .custom { _ in Self.events })
        if let offset {
            configuration.faults = [.init(action: .cut(afterByte: offset, with: variant.cut), attempts: 1...1)]
        }
        configuration.messageCompression = variant.isCompressed ? .deflate(.init()) : .off
        configuration.contentCoding = variant.isCompressed ? .gzip : .identity
        return try await withServer(configuration) { server in
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { $0.policy = variant.wire.policy }
            ).outcome()
            // The client is gone, so the first attempt ends, if it was not cut.
            _ = await server.reached(.finishedAttempts(1))
            return (outcome, server.log.first?.sentByteCount ?? 0)
        }
    }

    private static func isRight(_ outcome: StreamOutcome) -> Bool {
        outcome.error == nil && outcome.text.utf8.elementsEqual(self.deltas.joined().utf8) && outcome.completions == 1
            && outcome.emptyDeltas == 0 && outcome.eventsAfterCompletion == 0
    }
}
