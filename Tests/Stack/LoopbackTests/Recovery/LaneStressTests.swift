import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Lanes whose turns are cancelled and cut at random, many times: none may hang, lose events or mix them.
@Suite(.timeLimit(.minutes(10))) struct LaneStressTests {
    private static let laneCount = 16
    private static let turnCount = 10

    /// The end of a turn.
    private enum Ending: Equatable {
        case whole
        case cancelled
        case wrong(String)
    }

    private static func request(_ lane: String) -> ChappieTransportRequest {
        var request = ChappieTransportRequest(prompt: "Say something.", model: "m")
        request.lane = lane
        return request
    }

    /// Reads a turn, and cancels it after `limit` events; nil: to its end.
    private static func run(
        _ transport: ChappieStreamingTransport, lane: String, cancelsAfter limit: Int?, text expected: String
    ) async -> Ending {
        let handle = transport.streamHandle(Self.request(lane))
        var (text, count, isComplete) = ("", 0, false)
        do {
            for try await event in handle.events {
                count += 1
                if case .textDelta(let delta) = event { text += delta }
                if event == .completed { isComplete = true }
                if count == limit { handle.cancel() }
            }
        } catch is CancellationError {
            return expected.utf8.starts(with: text.utf8) ? .cancelled : .wrong("mixed: \(text)")
        } catch {
            return .wrong("\(error)")
        }
        if !isComplete { return limit == nil ? .wrong("no end") : .cancelled }
        return text == expected ? .whole : .wrong("\(text.utf8.count) bytes")
    }

    @Test(arguments: 1...(EveryByteCutTests.stride > 1 ? 1 : 3)) func lanesNeitherHangNorMix(seed: Int) async throws {
        var model = ChappieTestServer.ScriptedModel(seed: UInt64(seed), textByteCount: 1_500)
        model.includesReasoning = false
        // Three sockets are cut, each in the middle of a response.
        let server = try ChappieTestServer(
            configuration: .init(
                model: .scripted(model), faults: [.init(.cutAfterEvent(event: 40), attempts: 1...3, response: 9)]))
        defer { server.stop() }
        let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL) { $0.usesLanes = true })
        let text = model.fullText
        let endings = await withTaskGroup(of: [Ending].self) { group in
            for lane in 0..<Self.laneCount {
                group.addTask {
                    var random = SplitMix64(state: UInt64(seed * 1_000 + lane))
                    var endings: [Ending] = []
                    for _ in 0..<Self.turnCount {
                        let limit = random.next() % 3 == 0 ? Int(random.next() % 60) + 1 : nil
                        endings.append(
                            await Self.run(transport, lane: "lane-\(lane)", cancelsAfter: limit, text: text))
                    }
                    return endings
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        let wrong = endings.filter { $0 != .whole && $0 != .cancelled }
        #expect(wrong.isEmpty, "\(wrong.prefix(3))")
        #expect(endings.count { $0 == .whole } > Self.laneCount * Self.turnCount / 3)
        #expect(endings.contains(.cancelled))
    }
}

/// A small generator, the same everywhere.
private struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
