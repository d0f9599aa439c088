// `chappie sse` without a process: bytes in, lines out.
import Foundation
import ServerSentEvents
import Testing

@testable import ChappieCommand

/// A vector of the shared file, with the members that the command prints.
private struct SharedVector: Decodable {
    struct Event: Decodable {
        let event: String
        let data: String
        let id: String
    }

    let name: String
    let input: Data
    let events: [Event]
    let retry: [Int]?

    private enum CodingKeys: String, CodingKey {
        case name, events, retry
        case input = "input_b64"
    }
}

/// One printed line.
private struct PrintedLine: Decodable {
    let event: String?
    let data: String?
    let id: String?
    let retry: Int?
}

private let sharedFile = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../../../shared/sse-vectors.jsonl")

private func sharedVectors() throws -> [SharedVector] {
    guard let text = try? String(contentsOf: sharedFile, encoding: .utf8) else {
        print("The shared vectors are not there; the tests' own streams are enough.")
        return []
    }
    return try text.split(separator: "\n").map { try JSONDecoder().decode(SharedVector.self, from: Data($0.utf8)) }
}

private func printed(_ bytes: [UInt8], chunk: Int?) -> EventStreamPrinter.Printed {
    var printer = EventStreamPrinter(chunkByteCount: chunk)
    return printer.lines(for: bytes)
}

@Suite struct EventStreamPrinterTests {
    @Test(arguments: [
        ("", false), ("data: a\n\n", false), ("data: a\n", true), ("data: a", true), (": comment\n", false),
    ])
    func endInsideAnEventIsNoticed(text: String, isInside: Bool) {
        var printer = EventStreamPrinter()
        _ = printer.lines(for: Array(text.utf8))
        #expect(printer.endsInsideEvent() == isInside)
    }

    @Test(arguments: [nil, 1, 2, 7] as [Int?]) func everySharedVectorIsPrinted(chunk: Int?) throws {
        for vector in try sharedVectors() {
            let output = printed([UInt8](vector.input), chunk: chunk)
            #expect(output.failure == nil)
            let lines = try output.text.split(separator: "\n").map {
                try JSONDecoder().decode(PrintedLine.self, from: Data($0.utf8))
            }
            let events = lines.filter { $0.retry == nil }
            let name = Comment(rawValue: vector.name)
            // As UTF-8: Swift's `==` takes canonically equivalent strings for equal.
            let bytes = { (text: String?) in Array((text ?? "").utf8) }
            #expect(events.map { bytes($0.event) } == vector.events.map { bytes($0.event) }, name)
            #expect(events.map { bytes($0.data) } == vector.events.map { bytes($0.data) }, name)
            #expect(events.map { bytes($0.id) } == vector.events.map { bytes($0.id) }, name)
            if let retry = vector.retry { #expect(lines.compactMap(\.retry) == retry, name) }
        }
    }

    @Test(arguments: [nil, 1, 3] as [Int?]) func eventsAndReconnectionTimesArePrintedInOrder(chunk: Int?) {
        let stream =
            "data: a\n\nretry: 3000\nevent: e\nid: 7\ndata: b\ndata: \"c\"\n\n: comment\ndata: d\n\ndata: lost\n"
        let output = printed(Array(stream.utf8), chunk: chunk)
        let expected = [
            #"{"event":"message","data":"a"}"#, #"{"retry":3000}"#, #"{"event":"e","data":"b\n\"c\"","id":"7"}"#,
            #"{"event":"message","data":"d","id":"7"}"#,
        ]
        #expect(output == .init(text: expected.map { $0 + "\n" }.joined()))
    }

    @Test func invalidUTF8IsReplaced() {
        let output = printed(Array("data: ".utf8) + [0xFF] + Array("\n\n".utf8), chunk: nil)
        #expect(output.text == "{\"event\":\"message\",\"data\":\"\u{FFFD}\"}\n")
    }

    @Test(arguments: [nil, 1] as [Int?]) func eventsBeforeATooLargeEventArePrinted(chunk: Int?) {
        var printer = EventStreamPrinter(maximumEventByteCount: 4, chunkByteCount: chunk)
        let output = printer.lines(for: Array("data: 1234\n\ndata: 12345\n\ndata: 1\n\n".utf8))
        #expect(output.text == "{\"event\":\"message\",\"data\":\"1234\"}\n")
        #expect(output.failure == .eventTooLarge(maximumByteCount: 4, byteOffset: 22))
    }
}
