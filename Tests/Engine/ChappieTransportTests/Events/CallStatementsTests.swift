// Every statement about a call, compared with the earlier ones. `CallStatementTests` has whole responses.

import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

/// The statements of a response, read from its events.
private struct Response {
    enum Verdict: Equatable {
        case same, repeated, differs, tooMuch
        case completes(call: Int)
    }

    private(set) var calls: CallStatements

    init(byteCountLimit: Int = 1_000) { self.calls = CallStatements(byteCountLimit: byteCountLimit) }

    /// Creates the statements behind some events that agree.
    init(_ events: String...) throws {
        self.init()
        for event in events { #expect(try self.read(event) != .differs) }
    }

    mutating func read(_ json: String) throws -> Verdict {
        let verdict: CallStatements.Verdict = try Self.decode(json) { event in
            switch event.kind {
            case .outputItemAdded(let index, let item):
                self.calls.announced(item, at: index)
            case .delta(_, let index, _, let text):
                self.calls.wrote(text, at: index, itemName: event.itemName, hasHalves: false, isPlaceShared: false)
            case .partDone(let kind, let index, _, let text):
                self.calls.closed(
                    text, kind == .customInput ? .custom : .function, at: index, itemName: event.itemName, name: nil,
                    isPlaceShared: false)
            case .outputItemDone(let index, let item):
                self.calls.finished(item, at: index, isPlaceShared: false)
            case .completed(let summary):
                self.calls.contradiction(in: summary.output, isPlaceShared: false) == nil ? .same : .differs
            default:
                throw ResponseEventError.missingType
            }
        }
        return switch verdict {
        case .same: .same
        case .completes(let call, _): .completes(call: call)
        case .repeated: .repeated
        case .differs: .differs
        case .tooMuch: .tooMuch
        }
    }

    /// Returns the position of a call that only deltas have, beside the list of an end.
    func placeOfCallByDeltas(beside end: String) throws -> Int? {
        try Self.decode(end) { event in
            guard case .completed(let summary) = event.kind else { return nil }
            return self.calls.placeOfCallByDeltas(beside: summary.output)
        }
    }

    private static func decode<Result>(
        _ json: String, _ body: (ResponseEvent) throws -> Result
    ) throws -> Result {
        var decoder = ResponseEventDecoder()
        // The decoder reads up to 64 bytes behind the event.
        let bytes = Array(json.utf8) + [UInt8](repeating: 0, count: 64)
        return try bytes.withUnsafeBytes { bytes in
            try body(decoder.decode(UnsafeRawBufferPointer(rebasing: bytes.dropLast(64))))
        }
    }
}

private func item(
    _ arguments: String? = nil, name: String? = "f", namespace: String? = nil, callID: String? = "c",
    id: String? = "fc", status: String? = nil, isCustom: Bool = false
) -> String {
    let members: [(String, String?)] = [
        ("type", isCustom ? "custom_tool_call" : "function_call"), ("id", id), ("call_id", callID), ("name", name),
        ("namespace", namespace), (isCustom ? "input" : "arguments", arguments), ("status", status),
    ]
    let texts = members.compactMap { name, text in
        text.map { #""\#(name)":"\#($0.replacing("\"", with: "\\\""))""# }
    }
    return "{\(texts.joined(separator: ","))}"
}

private func added(_ item: String, at index: Int = 0) -> String {
    #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(item)}"#
}

private func done(_ item: String, at index: Int = 0) -> String {
    #"{"type":"response.output_item.done","output_index":\#(index),"item":\#(item)}"#
}

private func delta(_ text: String) -> String {
    let text = text.replacing("\"", with: "\\\"")
    return
        #"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc","delta":"\#(text)"}"#
}

private func closed(_ text: String) -> String {
    let text = text.replacing("\"", with: "\\\"")
    return
        #"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc","arguments":"\#(text)"}"#
}

private func end(_ items: String...) -> String {
    Event.completed("r", #","output":[\#(items.joined(separator: ","))]"#)
}

@Suite struct CallStatementsTests {
    private static let one = #"{"a":1}"#
    private static let two = #"{"a":2}"#

    // MARK: Agreement

    @Test(arguments: [
        item(two), item(one, name: "g"), item(one, namespace: "n"), item(one, isCustom: true),
    ])
    func everyStatementHasTheSameMembers(other: String) throws {
        let whole = item(Self.one, namespace: "m")
        var announced = try Response(added(whole))
        #expect(try announced.read(done(other)) == .differs)
        var finished = try Response(done(whole))
        #expect(try finished.read(end(other)) == .differs)
    }

    @Test func argumentsOfTheDeltasAndOfTheirEndAreThoseOfTheItem() throws {
        var response = try Response(added(item()), delta(Self.one))
        #expect(try response.read(closed(Self.two)) == .differs)
        response = try Response(added(item()), delta(Self.one), closed(Self.one))
        #expect(try response.read(done(item(Self.two))) == .differs)
    }

    @Test func argumentsOfTheAnnouncementAndOfTheDeltasAreTheSame() throws {
        var response = try Response(added(item(Self.one)), delta(Self.two))
        #expect(try response.read(done(item(""))) == .differs)
        response = try Response(added(item(Self.one)), delta(Self.two))
        #expect(try response.read(closed("")) == .differs)
        response = try Response(added(item(Self.one)), delta(Self.one))
        #expect(try response.read(done(item(""))) != .differs)
    }

    @Test(arguments: [#"{ "a" : 1.0 }"#, #"{"\u0061":1}"#])
    func spellingOfArgumentsDoesNotCount(other: String) throws {
        let other = other.replacing("\\", with: "\\\\")
        var response = try Response(added(item()), delta(Self.one), done(item(other)))
        #expect(try response.read(end(item(Self.one))) == .same)
    }

    @Test func statementThatLeavesMembersOutIsCompletedByTheOthers() throws {
        var response = try Response(added(item(namespace: "n")), delta(Self.one))
        #expect(try response.read(done(item(name: nil))) == .completes(call: 0))
        let call = response.calls.finishedCall(0)
        #expect(call == FinishedCall(callID: "c", name: "f", namespace: "n", payload: Self.one))
        #expect(try response.read(end(item(Self.one, name: "f", namespace: "n"))) == .same)
    }

    @Test func laterStatementCompletesAFinishedCall() throws {
        var response = try Response(done(item()))
        #expect(try response.read(closed(Self.one)) == .completes(call: 0))
        #expect(response.calls.finishedCall(0).payload == Self.one)
        #expect(try response.read(closed(Self.one)) == .same)
        #expect(try response.read(closed(Self.two)) == .differs)
    }

    @Test func argumentsThatStopEarlyAreCompletedUntilTheItemEndsWithThem() throws {
        var response = try Response(added(item()), delta(#"{"a""#), closed(#"{"a":1"#))
        #expect(try response.read(done(item(Self.one))) == .same)
        response = try Response(done(item(#"{"a""#)))
        #expect(try response.read(end(item(Self.one))) == .differs)
    }

    // MARK: Finished again

    @Test(arguments: [0, 1])
    func callFinishedAgainUnderItsCallIDIsRepeated(place: Int) throws {
        var response = try Response(done(item(Self.one)))
        #expect(try response.read(done(item(#"{ "a":1}"#, id: "other"), at: place)) == .repeated)
        #expect(response.calls.finishedCount == 1)
        #expect(try response.read(done(item(Self.one, callID: "d"), at: place)) == .same)
        #expect(response.calls.finishedCount == 2)
    }

    @Test(arguments: [item(two), item(one, name: "g"), item(one, status: "incomplete")])
    func callWithOtherContentUnderACallIDDiffersAtItsPlaceOnly(other: String) throws {
        var response = try Response(done(item(Self.one)))
        #expect(try response.read(done(other)) == .differs)
        #expect(try response.read(done(other, at: 1)) == .same)
        #expect(try response.read(done(other, at: 2)) == .repeated)
        #expect(try response.read(done(item(Self.one), at: 2)) == .repeated)
        #expect(response.calls.finishedCount == 2)
    }

    @Test func callFinishedAgainWithMoreCompletesTheFirst() throws {
        var response = try Response(done(item(Self.one)))
        #expect(try response.read(done(item(Self.one, namespace: "n"))) == .completes(call: 0))
        #expect(response.calls.finishedCall(0).namespace == "n")
        #expect(try response.read(done(item(Self.one, namespace: "n"), at: 1)) == .repeated)
    }

    @Test func callWithoutACallIDIsRecognisedByItsItem() throws {
        var response = try Response(done(item(Self.one, callID: nil)))
        #expect(try response.read(done(item(Self.one, callID: nil))) == .repeated)
        #expect(try response.read(done(item(Self.two, callID: nil))) == .differs)
        #expect(try response.read(done(item(Self.two, callID: nil), at: 1)) == .same)
        #expect(try response.read(done(item(Self.two, callID: nil, id: "fd"))) == .same)
        // A new announcement makes it another call.
        #expect(try response.read(added(item(callID: nil))) == .same)
        #expect(try response.read(done(item(Self.two, callID: nil))) == .same)
        #expect(response.calls.finishedCount == 4)
    }

    // MARK: Calls without the end of their items

    @Test func closedCallIsUnfinished() throws {
        let response = try Response(added(item(status: "in_progress")), delta(Self.one), closed(Self.one))
        let unfinished = response.calls.unfinished()
        #expect(unfinished.map(\.call) == [FinishedCall(callID: "c", name: "f", payload: Self.one)])
        #expect(unfinished.map { String(decoding: $0.json, as: UTF8.self) } == [item(Self.one)])
        #expect(response.calls.placeOfCutCall == nil)
    }

    @Test func callByDeltasAloneIsCut() throws {
        var response = try Response(added(item()), delta(Self.one))
        #expect(response.calls.unfinished().isEmpty)
        #expect(response.calls.placeOfCutCall == 0)
        // An end that has its arguments shows that nothing was lost.
        #expect(try response.placeOfCallByDeltas(beside: end()) == 0)
        #expect(try response.placeOfCallByDeltas(beside: end(item())) == 0)
        #expect(try response.placeOfCallByDeltas(beside: end(item(Self.one))) == nil)
        #expect(try response.read(done(item())) == .completes(call: 0))
        #expect(try response.placeOfCallByDeltas(beside: end()) == 0)
    }

    // MARK: Limits

    @Test(arguments: [0, 1])
    func callsAreKeptUpToALimit(excess: Int) throws {
        var response = Response(byteCountLimit: Self.one.utf8.count * 2 - excess)
        #expect(try response.read(done(item(Self.one))) == .same)
        #expect(try response.read(done(item(Self.one, callID: "d"))) == (excess == 0 ? .same : .tooMuch))
    }
}
