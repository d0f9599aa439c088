// A call that is stated again under its own `call_id`, with another identifier or index of its item, is one call.

import StreamTransport
import Testing

@testable import ChappieTransport

/// A call that each of its places may state at another index, or under another identifier.
private struct RepeatedCall {
    enum Place: CaseIterable {
        case announcement, endOfArguments, endOfItem, again, endOfResponse
    }

    enum Variant: CaseIterable {
        case absent, null, empty, equal, longer, other

        func json(_ name: String, _ value: String) -> String {
            switch self {
            case .absent: ""
            case .null: #""\#(name)":null,"#
            case .empty: #""\#(name)":"","#
            case .equal: #""\#(name)":"\#(value)","#
            case .longer: #""\#(name)":"\#(value)1","#
            case .other: #""\#(name)":"other","#
            }
        }
    }

    /// The place whose identifier or arguments are another variant.
    let place: Place
    var identifier = Variant.equal
    var arguments = Variant.equal
    /// The index in that place.
    var index = 0
    /// The places that state the call.
    let stated: Set<Place>

    private func item(_ place: Place) -> String {
        let id = (place == self.place ? self.identifier : .equal).json("id", "fc")
        let hasArguments = place != .announcement
        var variant: Variant = hasArguments ? .equal : .empty
        if place == self.place { variant = self.arguments }
        return #"{\#(id)\#(variant.json("arguments", "{}"))"type":"function_call","call_id":"c","name":"f"}"#
    }

    private func event(_ place: Place) -> String {
        let index = #""output_index":\#(place == self.place ? self.index : 0),"#
        switch place {
        case .announcement:
            return #"{"type":"response.output_item.added",\#(index)"item":\#(self.item(place))}"#
        case .endOfArguments:
            let id = (place == self.place ? self.identifier : .equal).json("item_id", "fc")
            let arguments = (place == self.place ? self.arguments : .equal).json("arguments", "{}")
            return #"{\#(index)\#(id)\#(arguments)"type":"response.function_call_arguments.done"}"#
        case .endOfItem, .again:
            return #"{"type":"response.output_item.done",\#(index)"item":\#(self.item(place))}"#
        case .endOfResponse:
            return Event.completed("r", #","output":[\#(self.item(place))]"#)
        }
    }

    var events: [String] {
        let places = Place.allCases.filter { self.stated.contains($0) }
        return [Event.created("r")] + places.map { self.event($0) }
            + (self.stated.contains(.endOfResponse) ? [] : [Event.completed("r")])
    }

    /// The places that state the call: all, or some of them.
    private static let choices: [Set<Place>] = [
        Set(Place.allCases), [.announcement, .endOfItem, .endOfResponse], [.endOfItem, .again],
        [.endOfItem, .endOfResponse],
    ]

    static let all: [Self] = Self.choices.flatMap { stated in
        Place.allCases.filter(stated.contains).flatMap { place in
            Variant.allCases.flatMap { identifier in
                [Variant.equal, .absent, .empty, .null, .other].flatMap { arguments in
                    [0, 1].map {
                        Self(place: place, identifier: identifier, arguments: arguments, index: $0, stated: stated)
                    }
                }
            }
        }
    }

    /// Indicates whether nothing says that an announcement elsewhere is the call's, as only its `call_id` is the same.
    var mayBeIgnored: Bool { self.place == .announcement && self.index == 1 && self.identifier != .equal }
}

@Suite struct RepeatedCallTests {
    /// A statement of other arguments ends the turn, and no tool runs.
    @Test func callUnderOneCallIdentifierRunsOnce() async {
        for call in RepeatedCall.all {
            let (outcome, response) = await TurnFixture([.socket(call.events)])
                .complete(conversation([WireItem.question]) { $0.runsCalls = true })
            let calls = response?.calls.map { "\($0.callID) \($0.name) \($0.payload)" }
            if call.arguments == .other, !call.mayBeIgnored {
                #expect(outcome.error != nil && response == nil, "\(call.events)")
            } else {
                #expect(outcome.error == nil && calls == ["c f {}"], "\(calls ?? []): \(call.events)")
            }
        }
    }
}
