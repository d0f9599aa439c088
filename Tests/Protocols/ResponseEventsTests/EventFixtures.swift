// Decodes events in memory of exactly the promised size, so that the address sanitizer sees every byte too far.

import Foundation
import Testing

@testable import ResponseEvents

/// Decodes one event with `padding` behind it, and hands it over while it is valid.
func withEvent<Result>(
    _ json: [UInt8], padding: UInt8 = 0, maximumByteCount: Int = 64 << 20,
    _ body: (ResponseEvent) throws -> Result
) throws -> Result {
    var decoder = ResponseEventDecoder(maximumByteCount: maximumByteCount)
    return try withPadded(json, padding: padding) { try body(decoder.decode($0)) }
}

/// Puts bytes into memory that ends 64 bytes after them.
func withPadded<Result>(
    _ json: [UInt8], padding: UInt8 = 0, _ body: (UnsafeRawBufferPointer) throws -> Result
) rethrows -> Result {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: json.count + 64, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: json)
    for index in json.count..<memory.count { memory[index] = padding }
    return try body(UnsafeRawBufferPointer(rebasing: memory[..<json.count]))
}

/// Returns the error of decoding; nil when it succeeds.
func decodingError(
    _ json: [UInt8], padding: UInt8 = 0, decoder: inout ResponseEventDecoder
) -> ResponseEventError? {
    withPadded(json, padding: padding) { bytes in
        do throws(ResponseEventError) {
            _ = try decoder.decode(bytes)
            return nil
        } catch {
            return error
        }
    }
}

func decodingError(_ json: [UInt8], padding: UInt8 = 0) -> ResponseEventError? {
    var decoder = ResponseEventDecoder()
    return decodingError(json, padding: padding, decoder: &decoder)
}

func decodingError(_ json: String, padding: UInt8 = 0) -> ResponseEventError? {
    decodingError(Array(json.utf8), padding: padding)
}

/// The text of a delta event.
func deltaText(_ json: String) throws -> String {
    try withEvent(Array(json.utf8)) { event in
        guard case .delta(_, _, _, let text) = event.kind else {
            Issue.record("not a delta")
            return ""
        }
        return String(text)
    }
}

/// Files that stand beside the checkout on some machines; the tests have data of their own for the others.
enum SharedData {
    static let directory = URL(fileURLWithPath: #filePath)
        .appendingPathComponent("../../../../../shared").standardizedFileURL.resolvingSymlinksInPath()

    /// The recorded streams, one event a line.
    static let recordings: [URL] = {
        let folder = Self.directory.appendingPathComponent("recordings")
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let recordings = (files ?? []).filter { $0.pathExtension == "jsonl" }.sorted { $0.path < $1.path }
        if recordings.isEmpty { print("No recordings beside the checkout: the tests use their own events only.") }
        return recordings
    }()

    /// The example events in a description of the protocol: lines of JSON in a Markdown file.
    static let examples: [String] = {
        let files = try? FileManager.default.contentsOfDirectory(at: Self.directory, includingPropertiesForKeys: nil)
        let texts = (files ?? []).filter { $0.pathExtension == "md" }
            .compactMap { try? String(contentsOf: $0, encoding: .utf8) }
        let sections = texts.compactMap { text -> Substring? in
            guard let start = text.range(of: "\n# Appendix C"),
                let end = text.range(of: "\n# Appendix D", range: start.upperBound..<text.endIndex)
            else { return nil }
            return text[start.upperBound..<end.lowerBound]
        }
        let examples = sections.flatMap { $0.split(separator: "\n") }.map(String.init).filter { $0.hasPrefix("{") }
        if examples.isEmpty { print("No example events beside the checkout: the tests use their own events only.") }
        return examples
    }()

    static func lines(of file: URL) throws -> [[UInt8]] {
        try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).map(Array.init)
    }
}

/// One event of each type that matters, by hand.
let handMadeEvents = [
    #"{"type":"response.queued","response":{"id":"resp_1","status":"queued"},"sequence_number":0}"#,
    #"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","error":null},"sequence_number":0}"#,
    #"{"type":"response.in_progress","response":{"id":"resp_1"},"sequence_number":1}"#,
    #"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}"#,
    #"{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text"}}"#,
    #"{"type":"response.output_text.delta","output_index":1,"content_index":2,"delta":"Grüße ","logprobs":[]}"#,
    #"{"sequence_number":7,"delta":"a\nb","type":"response.refusal.delta","output_index":0,"content_index":0}"#,
    #"{"type":"response.reasoning_summary_text.delta","output_index":3,"summary_index":4,"delta":"**Why**"}"#,
    #"{"type":"response.reasoning_text.delta","output_index":0,"content_index":1,"delta":"\ud83d\ude00"}"#,
    #"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"city\":","obfuscation":"x"}"#,
    #"{"type":"response.custom_tool_call_input.delta","output_index":1,"delta":"select "}"#,
    #"""
    {"type":"response.output_item.done","output_index":1,"item":{"id":"fc_1","type":"function_call",
    "status":"completed","call_id":"call_1","name":"get_weather","namespace":"n","arguments":"{\"city\":\"Oslo\"}"}}
    """#,
    #"""
    {"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[{"a":[1,-2.5e3,true]}],
    "usage":{"input_tokens":8,"input_tokens_details":{"cached_tokens":6},"output_tokens":5,
    "output_tokens_details":{"reasoning_tokens":3},"total_tokens":13},"end_turn":false},"sequence_number":12}
    """#,
    #"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"m"}}}"#,
    #"{"type":"response.incomplete","response":{"id":"r","incomplete_details":{"reason":"max_output_tokens"}}}"#,
    #"{"type":"error","code":"server_error","message":"An error","param":null,"sequence_number":3}"#,
    #"{"type":"error","status_code":429,"error":{"type":"usage_limit_reached","message":"m","plan_type":"plus"}}"#,
    #"{"type":"codex.rate_limits","plan_type":"pro","rate_limits":{"primary":{"used_percent":3.5}},"credits":null}"#,
    #"{"type":"response.metadata","headers":{"X-Codex-Turn-State":["ts-1"],"OpenAI-Model":"m-1"}}"#,
    #"{"type":"keepalive","sequence_number":7}"#,
    #"{"type":"responsesapi.websocket_timing","timing":{"queue_ms":12}}"#,
    #"{"type":"response.web_search_call.searching","item_id":"ws_1","output_index":0,"sequence_number":4}"#,
    #"{"type":"response.shell_call_output_content.delta","delta":{"stdout":"total 0\n"},"output_index":1}"#,
]
