// Events that are repeated, left out, exchanged, changed or numbered anew.
//
// Pure: events and actions in, events out. Positions refer to the original events.

/// The events at the place of each original event of a script.
struct EventEdits {
    /// The events at each place, in order.
    private(set) var events: [[ScriptEvent]]

    /// Creates an edit in which every event is at its own place.
    init(_ events: [ScriptEvent]) { self.events = events.map { [$0] } }

    /// Applies an action; one that edits no event, or a missing one, has no effect.
    mutating func apply(_ action: ChappieTestServer.Fault.Action) {
        switch action {
        case .repeatEvent(let event):
            self.edit(event) { $0 + $0 }
        case .dropEvent(let event):
            self.edit(event) { _ in [] }
        case .swapEvents(let event):
            guard event > 0, event < self.events.count else { return }
            self.events.swapAt(event - 1, event)
        case .changeMember(let event, let last, let member, let text):
            guard let value = JSONValue(Array(text.utf8)) else { return }
            let path = member.split(separator: ".").map(String.init)
            for place in 1..<self.events.count + 1 where place >= event && place <= last ?? event {
                self.edit(place) { $0.map { $0.replacing(path[...], with: value) } }
            }
        case .renumber(let event, let first):
            var number = first
            for place in 1..<self.events.count + 1 where place >= event {
                self.edit(place) { events in
                    events.map { event in
                        guard event.isNumbered, let value = JSONValue(Array("\(number)".utf8)) else { return event }
                        number &+= 1
                        return event.replacing(["sequence_number"], with: value)
                    }
                }
            }
        default: break
        }
    }

    private mutating func edit(_ event: Int, _ change: ([ScriptEvent]) -> [ScriptEvent]) {
        guard event > 0, event <= self.events.count else { return }
        self.events[event - 1] = change(self.events[event - 1])
    }
}

extension ScriptEvent {
    /// Returns the event with a member replaced, or added when it is missing.
    fileprivate func replacing(_ path: ArraySlice<String>, with value: JSONValue) -> Self {
        guard let object = JSONValue(Array(self.text.utf8)) else { return self }
        var changed = Self(type: self.type, text: object.replacing(path, with: value).text)
        changed.isNumbered = self.isNumbered
        return changed
    }
}

extension JSONValue {
    /// Returns the value with the member at a path replaced, or added when it is missing.
    fileprivate func replacing(_ path: ArraySlice<String>, with value: JSONValue) -> JSONValue {
        guard let name = path.first else { return value }
        guard case .object(var members) = self else { return self }
        if let index = members.lastIndex(where: { $0.name == name }) {
            members[index].value = members[index].value.replacing(path.dropFirst(), with: value)
        } else {
            members.append(Member(name: name, value: JSONValue.object([]).replacing(path.dropFirst(), with: value)))
        }
        return .object(members)
    }
}
