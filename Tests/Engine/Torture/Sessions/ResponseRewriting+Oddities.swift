// The same response in a way in which few servers say it, and which a client has to put up with.

/// Ways to say the same that are odd.
enum Oddity: CaseIterable {
    /// Events come twice, under their numbers.
    case repeatedEvents
    /// Another agent's message stands between the events, and signs of life without a number.
    case otherAgent
    /// The end of texts stands in the events that close them alone.
    case textInClosing
    /// Calls stand at the end of the response alone.
    case callsAtEnd
}

extension ResponseRewriting {
    /// Says the same in an odd way; repeated events come when the lines are made.
    mutating func makeOdd(_ oddity: Oddity) {
        switch oddity {
        case .repeatedEvents: break
        case .otherAgent: self.addOtherAgent()
        case .textInClosing: self.moveTextToClosing()
        case .callsAtEnd: self.moveCallsToEnd()
        }
    }

    /// The lines with some of them twice, at once or one later.
    static func repeating(_ lines: [String], using random: inout RandomNumbers) -> [String] {
        var result: [String] = []
        var late: String?
        for (index, line) in lines.enumerated() {
            result.append(line)
            if let repeated = late.take() { result.append(repeated) }
            // The first two numbers show that the server counts at all, and no event follows the end.
            guard index > 1, index < lines.count - 2, JSONText.object(line)?["sequence_number"] != nil else { continue }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: result.append(line)
            case 1: late = line
            default: break
            }
        }
        return result
    }

    private mutating func addOtherAgent() {
        let place: [String: Any] = ["output_index": 40, "content_index": 0, "item_id": "msg_helper"]
        let item: [String: Any] = [
            "id": "msg_helper", "type": "message", "role": "assistant", "agent": ["agent_name": "/root/helper"],
            "content": [["type": "output_text", "text": "not for you"]],
        ]
        let delta: [String: Any] = ["type": "response.output_text.delta", "sequence_number": 0]
        let added: [[String: Any]] = [
            ["type": "response.output_item.added", "sequence_number": 0, "output_index": 40, "item": item],
            delta.merging(place) { $1 }.merging(["delta": "not "]) { $1 }, ["type": "keepalive"],
            delta.merging(place) { $1 }.merging(["delta": "for you"]) { $1 },
            ["type": "response.output_item.done", "sequence_number": 0, "output_index": 40, "item": item],
        ]
        // Behind the events that begin the response, and before its end.
        let last = self.events.count - 1
        guard last > 2 else { return }
        let places = added.map { _ in Int.random(in: 2...last, using: &self.random) }.sorted()
        for (event, place) in zip(added, places).reversed() { self.events.insert(event, at: place) }
    }

    private mutating func moveTextToClosing() {
        for place in self.places(Divergence.outputTypes) {
            let indices = self.events.indices.filter { DeltaPlace(self.events[$0]) == place }
            guard let last = indices.last, last + 1 < self.events.count,
                self.events[last + 1]["type"] as? String == String(place.type.dropLast(5)) + "done",
                Int.random(in: 0..<3, using: &self.random) > 0
            else { continue }
            let count = Int.random(in: 0...indices.count, using: &self.random)
            for index in indices.suffix(count).reversed() { self.events.remove(at: index) }
        }
    }

    private mutating func moveCallsToEnd() {
        let calls = self.items { ["function_call", "custom_tool_call"].contains($0["type"] as? String) }
        self.events.removeAll { event in (event["output_index"] as? Int).map { calls.contains($0) } ?? false }
    }
}
