// Events that are repeated, left out, exchanged, changed, inserted and appended.
import Testing

@testable import ChappieTestServer

@Suite struct EventEditTests {
    typealias Action = ChappieTestServer.Fault.Action

    private static let script = ResponseScript(
        Recording([
            #"{"type":"a","sequence_number":0,"response":{"id":"resp_1"}}"#, #"{"type":"b","sequence_number":1}"#,
            #"{"type":"c","sequence_number":2,"item":{"id":"x","deep":{"n":1}}}"#,
            #"{"type":"response.completed","sequence_number":3}"#,
        ]),
        identity: ResponseIdentity(id: "resp_1", model: "m", isStored: false))

    /// The texts of the events, and words for the other steps.
    private func steps(
        _ actions: [Action], transport: ChappieTestServer.Transport = .webSocket, earlierID: String? = nil
    ) -> [String] {
        ResponseSteps.make(Self.script, actions: actions, transport: transport, earlierID: earlierID).map { step in
            switch step {
            case .event(let event): event.text
            case .binary(let event): "binary " + event.text
            case .ping: "ping"
            case .close(let code, _): "close \(code ?? 1005)"
            case .endStream: "end"
            case .text(let text, let inChunk): "\(inChunk ? "chunk" : "text") \(text.prefix(12))"
            case .end(.cut(let cut)): "cut \(cut)"
            case .end: "other end"
            case .pause(let seconds): "pause \(seconds)"
            case .hang: "hang"
            }
        }
    }

    private var plain: [String] { Self.script.events.map(\.text) }

    @Test func eventsAreRepeatedLeftOutAndExchanged() {
        let plain = self.plain
        #expect(self.steps([]) == plain)
        #expect(self.steps([.repeatEvent(event: 2)]) == [plain[0], plain[1], plain[1], plain[2], plain[3]])
        #expect(self.steps([.dropEvent(event: 2)]) == [plain[0], plain[2], plain[3]])
        #expect(self.steps([.swapEvents(event: 2)]) == [plain[0], plain[2], plain[1], plain[3]])
        // Positions stay those of the events as they were.
        #expect(
            self.steps([.dropEvent(event: 1), .repeatEvent(event: 3), .cutAfterEvent(event: 3)])
                == [plain[1], plain[2], plain[2], "cut end"])
    }

    @Test func interruptWithTextAppliesToEventStreamsAlone() {
        let plain = self.plain
        let outside = Action.interruptWithText(afterEvent: 1)
        #expect(self.steps([outside], transport: .http) == [plain[0], "text HTTP/1.0 502", "cut end"])
        let inside = Action.interruptWithText(text: "<html>", afterEvent: 2, inChunk: true)
        #expect(self.steps([inside], transport: .http) == [plain[0], plain[1], "chunk <html>", "end"])
        #expect(self.steps([outside, inside]) == plain)
    }

    @Test(arguments: [
        Action.repeatEvent(event: 0), .repeatEvent(event: 5), .dropEvent(event: -1), .swapEvents(event: 4),
        .swapEvents(event: 0), .changeMember(event: 9, member: "a", value: "1"),
        .changeMember(event: 2, through: 1, member: "a", value: "1"),
        .changeMember(event: 1, member: "a", value: "not JSON"), .changeMember(event: -3, member: "a", value: "1"),
        .swapEvents(event: .min), .repeatEvent(event: .min), .dropEvent(event: .max), .swapEvents(event: .max),
        .renumber(event: 5, from: 0), .renumber(event: .max, from: 0),
        .pause(afterEvent: .max, seconds: 1), .pause(afterEvent: .min, seconds: 1),
    ])
    func editsOfEventsThatAreNotThereDoNothing(_ action: Action) {
        #expect(self.steps([action]) == self.plain)
    }

    @Test func membersAreChangedAndAdded() {
        let changed = self.steps([
            .changeMember(event: 2, through: 3, member: "sequence_number", value: "1.5"),
            .changeMember(event: 3, member: "item.deep.n", value: "\"é\""),
            .changeMember(event: 2, member: "new.member", value: "[null]"),
        ])
        #expect(changed[1] == #"{"type":"b","sequence_number":1.5,"new":{"member":[null]}}"#)
        #expect(changed[2] == #"{"type":"c","sequence_number":1.5,"item":{"id":"x","deep":{"n":"é"}}}"#)
        #expect(changed[0] == self.plain[0] && changed[3] == self.plain[3])
    }

    @Test func eventsAreNumberedAnew() {
        let steps = self.steps([
            .dropEvent(event: 2), .renumber(event: 3, from: 1), .insert(payload: #"{"type":"x"}"#, beforeEvent: 4),
        ])
        #expect(
            steps == [
                self.plain[0], #"{"type":"c","sequence_number":1,"item":{"id":"x","deep":{"n":1}}}"#, #"{"type":"x"}"#,
                #"{"type":"response.completed","sequence_number":2}"#,
            ])
        #expect(self.steps([.renumber(event: .min, from: .max)]).first?.contains("\(Int.max)") == true)
    }

    @Test func payloadsNameResponses() {
        let steps = self.steps(
            [.insert(payload: "$earlier", beforeEvent: 1), .append(payload: "$response")], earlierID: "resp_0")
        #expect(steps == ["resp_0"] + self.plain + ["resp_1"])
        #expect(self.steps([.insert(payload: "$earlier", beforeEvent: 1)]).first == "resp_earlier")
    }

    @Test func pausesStandAfterTheirEvent() {
        let plain = self.plain
        #expect(self.steps([.pause(afterEvent: 0, seconds: 1)]) == ["pause 1.0"] + plain)
        #expect(self.steps([.pause(afterEvent: 4, seconds: 1)]) == plain + ["pause 1.0"])
        #expect(
            self.steps([.pause(afterEvent: 2, seconds: 1), .cutAfterEvent(event: 2)])
                == [plain[0], plain[1], "pause 1.0", "cut end"])
    }

    @Test func cutsStandAroundTheTerminalEvent() {
        #expect(self.steps([.cutBeforeTerminal(with: .reset)]) == self.plain.dropLast() + ["cut reset"])
        #expect(self.steps([.cutAfterTerminal()], transport: .http) == self.plain + ["cut end"])
    }
}
