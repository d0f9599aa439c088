// The same response in another form: the answer of a server to a repeated request.
//
// Owned by its caller; the same lines and the same numbers give the same result.
import Foundation

/// A response's events while they are rewritten.
struct ResponseRewriting {
    var events: [[String: Any]]
    var random: RandomNumbers

    /// Reads the events of a response.
    init(_ lines: [String], random: RandomNumbers) {
        self.events = lines.compactMap(JSONText.object)
        self.random = random
    }

    /// The events as JSON texts with other sequence numbers where they had any.
    func lines(escapesNonASCII: Bool = false) -> [String] {
        self.events.enumerated().map { index, event in
            var event = event
            if event["sequence_number"] != nil { event["sequence_number"] = index }
            let text = JSONText.text(event)
            return escapesNonASCII ? JSONText.escaped(text) : text
        }
    }

    // MARK: Deltas

    /// A stream of deltas: all with the same type and place.
    struct DeltaPlace: Hashable {
        var type: String
        var outputIndex: Int
        var partIndex: Int

        /// The place of a delta; nil for every other event.
        init?(_ event: [String: Any]) {
            guard let type = event["type"] as? String, event["delta"] is String else { return nil }
            self.type = type
            self.outputIndex = event["output_index"] as? Int ?? 0
            self.partIndex = (event["content_index"] ?? event["summary_index"]) as? Int ?? 0
        }
    }

    /// Divides the deltas in other places, and pads some streams with an empty one.
    mutating func rechunk() {
        var result: [[String: Any]] = []
        var index = 0
        while index < self.events.count {
            guard let place = DeltaPlace(self.events[index]) else {
                result.append(self.events[index])
                index += 1
                continue
            }
            let run = self.events[index...].prefix { DeltaPlace($0) == place }
            let text = run.map { $0["delta"] as? String ?? "" }.joined()
            for piece in self.pieces(of: text) { result.append(run[index].merging(["delta": piece]) { $1 }) }
            index += run.count
        }
        self.events = result
    }

    /// Pieces of one to twelve scalars, sometimes an empty one.
    private mutating func pieces(of text: String) -> [String] {
        var pieces: [String] = Int.random(in: 0..<3, using: &self.random) == 0 ? [""] : []
        var rest = text.unicodeScalars[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...12, using: &self.random)
            pieces.append(String(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    /// Gives every identifier another value.
    mutating func rename(_ suffix: String) {
        let names: Set = ["id", "item_id", "call_id", "response_id"]
        self.map { name, text in names.contains(name) ? text + suffix : text }
    }

    private mutating func map(_ change: (_ name: String, _ text: String) -> String) {
        self.events = self.events.map { JSONText.mapping($0, change) as? [String: Any] ?? $0 }
    }

    // MARK: Another response

    /// The streams of deltas of some types, in order.
    func places(_ types: Set<String>) -> [DeltaPlace] {
        var places: [DeltaPlace] = []
        for place in self.events.compactMap(DeltaPlace.init) where types.contains(place.type) {
            if !places.contains(place) { places.append(place) }
        }
        return places
    }

    /// Returns the text of a stream of deltas.
    func text(at place: DeltaPlace) -> String {
        self.events.filter { DeltaPlace($0) == place }.compactMap { $0["delta"] as? String }.joined()
    }

    /// Replaces the text of a stream of deltas, in the finished item as well.
    mutating func replace(_ place: DeltaPlace, with text: String) {
        let old = self.text(at: place)
        var rest = text.unicodeScalars[...]
        var lastIndex: Int?
        for index in self.events.indices where DeltaPlace(self.events[index]) == place {
            let count = (self.events[index]["delta"] as? String ?? "").unicodeScalars.count
            self.events[index]["delta"] = String(rest.prefix(count))
            rest = rest.dropFirst(count)
            lastIndex = index
        }
        if let lastIndex, !rest.isEmpty {
            self.events[lastIndex]["delta"] = (self.events[lastIndex]["delta"] as? String ?? "") + String(rest)
        }
        self.map { name, value in name != "delta" && value == old ? text : value }
    }

    /// The positions of the items that a predicate holds for.
    func items(where isWanted: (_ item: [String: Any]) -> Bool) -> [Int] {
        self.events.compactMap { event in
            guard event["type"] as? String == "response.output_item.done", let item = event["item"] as? [String: Any],
                isWanted(item)
            else { return nil }
            return event["output_index"] as? Int
        }
    }

    /// Changes the strings of an item wherever it is told of.
    mutating func changeItem(_ position: Int, _ change: (_ name: String, _ text: String) -> String) {
        for index in self.events.indices {
            if self.events[index]["output_index"] as? Int == position {
                self.events[index] = JSONText.mapping(self.events[index], change) as? [String: Any] ?? [:]
            }
            self.changeOutput(at: index) { output in
                if position < output.count { output[position] = JSONText.mapping(output[position], change) }
            }
        }
    }

    /// Leaves an item out; those behind it move up.
    mutating func remove(item position: Int) {
        self.events.removeAll { $0["output_index"] as? Int == position }
        for index in self.events.indices {
            if let other = self.events[index]["output_index"] as? Int, other > position {
                self.events[index]["output_index"] = other - 1
            }
            self.changeOutput(at: index) { if position < $0.count { $0.remove(at: position) } }
        }
    }

    private mutating func changeOutput(at index: Int, _ change: (inout [Any]) -> Void) {
        guard var response = self.events[index]["response"] as? [String: Any], var output = response["output"] as? [Any]
        else { return }
        change(&output)
        response["output"] = output
        self.events[index]["response"] = response
    }
}
