// Recorded streams and example events, decoded here and by Foundation.

import Foundation
import Testing

@testable import ResponseEvents

@Suite struct RecordingTests {
    @Test(arguments: handMadeEvents + SharedData.examples)
    func everyExampleDecodes(event: String) throws {
        let expected = try #require(JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any])
        try withEvent(Array(event.utf8)) { decoded in
            try compare(decoded, expected)
            if case .unknown = decoded.kind { Issue.record("\(String(decoded.typeName)) should be known") }
        }
    }

    @Test func thereAreExamplesOfEveryKindOfShape() {
        #expect(SharedData.examples.isEmpty || SharedData.examples.count >= 67)
    }

    @Test(arguments: SharedData.recordings)
    func decodedRecordingMatchesJSONSerialization(file: URL) throws {
        var decoder = ResponseEventDecoder()
        var ours: [String: String] = [:]
        var theirs: [String: String] = [:]
        var ending: String?
        for line in try SharedData.lines(of: file) {
            let expected = try #require(JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
            try withPadded(line) { bytes in
                let event = try decoder.decode(bytes)
                try compare(event, expected)
                if case .delta(let kind, let output, let part, let text) = event.kind {
                    ours["\(kind) \(output) \(part)", default: ""] += String(text)
                    let index = expected["summary_index"] ?? expected["content_index"] ?? 0
                    let slot = "\(kind) \(expected["output_index"] as? Int ?? 0) \(index)"
                    theirs[slot, default: ""] += try #require(expected["delta"] as? String)
                }
                if event.kind.isTerminal { ending = String(event.typeName) }
            }
        }
        #expect(ours == theirs)
        #expect(!ours.isEmpty || ending != nil)
        #expect(ending != nil)
    }
}

/// Compares what the decoder took out of an event with the same members as Foundation reads them.
private func compare(_ event: ResponseEvent, _ expected: [String: Any]) throws {
    #expect(String(event.typeName) == expected["type"] as? String)
    #expect(event.sequenceNumber == expected["sequence_number"] as? Int)
    #expect(event.itemID.map { String($0) } == expected["item_id"] as? String)
    switch event.kind {
    case .delta(_, let outputIndex, _, let text):
        #expect(outputIndex == expected["output_index"] as? Int ?? 0)
        #expect(String(text) == expected["delta"] as? String)
    case .outputItemAdded(let outputIndex, let item), .outputItemDone(let outputIndex, let item):
        let members = try #require(expected["item"] as? [String: Any])
        #expect(outputIndex == expected["output_index"] as? Int ?? 0)
        #expect(item.typeName == members["type"] as? String)
        #expect(item.id == members["id"] as? String)
        #expect(item.callID == members["call_id"] as? String)
        #expect(item.name == members["name"] as? String)
        #expect(item.status == members["status"] as? String)
        if let arguments = members["arguments"] as? String ?? members["input"] as? String {
            #expect(item.payload == arguments)
        }
        #expect(isEqual(item.json, members))
    case .completed(let response), .failed(let response), .incomplete(let response):
        let members = try #require(expected["response"] as? [String: Any])
        #expect(response.id == members["id"] as? String)
        #expect(response.status == members["status"] as? String)
        #expect(response.model == members["model"] as? String)
        #expect(response.serviceTier == members["service_tier"] as? String)
        #expect(response.errorCode == (members["error"] as? [String: Any])?["code"] as? String)
        #expect(response.errorMessage == (members["error"] as? [String: Any])?["message"] as? String)
        let output = members["output"] as? [[String: Any]] ?? []
        #expect(response.output.map(\.typeName) == output.map { $0["type"] as? String ?? "" })
        #expect(response.output.map(\.id) == output.map { $0["id"] as? String })
        #expect(response.usage?.totalTokens == (members["usage"] as? [String: Any])?["total_tokens"] as? Int)
        #expect(isEqual(response.json, members))
    case .created(let responseID):
        #expect(responseID == (expected["response"] as? [String: Any])?["id"] as? String)
    case .error(let error):
        let members = expected["error"] as? [String: Any] ?? expected
        #expect(error.facts.code == members["code"] as? String)
        #expect(error.facts.message == members["message"] as? String)
        #expect(error.statusCode == expected["status"] as? Int ?? expected["status_code"] as? Int)
    case .partDone(_, let outputIndex, _, let text):
        let part = expected["part"] as? [String: Any] ?? expected
        #expect(outputIndex == expected["output_index"] as? Int ?? 0)
        let texts = ["text", "refusal", "arguments", "input"].compactMap { part[$0] as? String }
        #expect([String(text)] == texts)
    case .contentFree(let responseID):
        #expect(responseID == (expected["response"] as? [String: Any])?["id"] as? String)
    case .rateLimits, .metadata, .keepalive, .other, .unknown:
        break
    }
}

private func isEqual(_ json: BorrowedText, _ members: [String: Any]) -> Bool {
    let value = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary
    return value == members as NSDictionary
}
