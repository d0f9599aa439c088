// Every name of an event that is known, and everything that is one byte away from one.

import Testing

@testable import ResponseEvents

@Suite struct EventTypeTests {
    /// The result of an event that has only its type: a delta without text is refused, and so on.
    private enum Meaning: Equatable {
        case refused(ResponseEventError.Field)
        case other, contentFree, keepalive, error, rateLimits, metadata
        case unknown
    }

    private static let meanings: [(String, Meaning)] =
        [
            "response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta",
            "response.reasoning_text.delta", "response.function_call_arguments.delta",
            "response.custom_tool_call_input.delta",
        ].map { ($0, .refused(.delta)) }
        + ["response.output_item.added", "response.output_item.done"].map { ($0, .refused(.item)) }
        + ["response.created", "response.completed", "response.failed", "response.incomplete"].map {
            ($0, .refused(.response))
        }
        + [
            "response.queued", "response.in_progress", "response.content_part.added",
            "response.reasoning_summary_part.added", "responsesapi.websocket_timing",
            "response.content_part.done", "response.custom_tool_call_input.done",
            "response.function_call_arguments.done", "response.output_text.done",
            "response.reasoning_summary_part.done", "response.reasoning_summary_text.done",
            "response.reasoning_text.done", "response.refusal.done",
        ].map { ($0, .contentFree) }
        + [
            ("error", .error), ("keepalive", .keepalive), ("codex.rate_limits", .rateLimits),
            ("response.metadata", .metadata), ("codex.response.metadata", .metadata),
        ] + Self.others.map { ($0, .other) }

    private static let others = [
        "response.apply_patch_call_operation_diff.delta", "response.apply_patch_call_operation_diff.done",
        "response.audio.delta", "response.audio.done", "response.audio.transcript.delta",
        "response.audio.transcript.done", "response.code_interpreter_call.completed",
        "response.code_interpreter_call.in_progress", "response.code_interpreter_call.interpreting",
        "response.code_interpreter_call_code.delta", "response.code_interpreter_call_code.done",
        "response.compaction.compacting", "response.file_search_call.completed",
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.image_generation_call.completed", "response.image_generation_call.generating",
        "response.image_generation_call.in_progress", "response.image_generation_call.partial_image",
        "response.mcp_call.completed", "response.mcp_call.failed", "response.mcp_call.in_progress",
        "response.mcp_call_arguments.delta", "response.mcp_call_arguments.done", "response.mcp_list_tools.completed",
        "response.mcp_list_tools.failed", "response.mcp_list_tools.in_progress",
        "response.output_text.annotation.added", "response.shell_call_command.added",
        "response.shell_call_command.delta", "response.shell_call_command.done",
        "response.shell_call_output_content.delta", "response.shell_call_output_content.done",
        "response.steer.accepted",
        "response.steer.failed", "response.steer.pending", "response.web_search_call.completed",
        "response.web_search_call.in_progress", "response.web_search_call.searching",
    ]

    private static func meaning(of name: [UInt8], with decoder: inout ResponseEventDecoder) -> Meaning? {
        withPadded(Array(#"{"type":""#.utf8) + name + Array(#""}"#.utf8)) { bytes in
            do throws(ResponseEventError) {
                return switch try decoder.decode(bytes).kind {
                case .other: .other
                case .contentFree: .contentFree
                case .keepalive: .keepalive
                case .error: .error
                case .rateLimits: .rateLimits
                case .metadata: .metadata
                case .unknown: .unknown
                case .delta, .partDone, .created, .outputItemAdded, .outputItemDone, .completed, .failed, .incomplete:
                    nil
                }
            } catch .invalidField(let field) {
                return .refused(field)
            } catch {
                return nil
            }
        }
    }

    @Test func everyKnownNameIsKnown() {
        #expect(Self.meanings.count == 69)
        var decoder = ResponseEventDecoder()
        for (name, meaning) in Self.meanings {
            #expect(Self.meaning(of: Array(name.utf8), with: &decoder) == meaning, "\(name)")
        }
    }

    @Test func nameWithOneChangedByteIsUnknown() {
        let known = Dictionary(uniqueKeysWithValues: Self.meanings.map { (Array($0.0.utf8), $0.1) })
        let bytes = Array("abcdefghijklmnopqrstuvwxyz._ AZ09".utf8)
        var decoder = ResponseEventDecoder()
        func check(_ name: [UInt8]) {
            let expected = known[name] ?? .unknown
            let found = Self.meaning(of: name, with: &decoder)
            if found != expected {
                Issue.record("\(String(decoding: name, as: UTF8.self)): \(String(describing: found))")
            }
        }
        for name in known.keys {
            for index in name.indices {
                for byte in bytes {
                    var changed = name
                    changed[index] = byte
                    check(changed)
                }
                check(Array(name[..<index] + name[(index + 1)...]))
                check(Array(name[..<index]))
                check(Array(name[index...]))
            }
            for index in 0...name.count {
                for byte in Array(".ae".utf8) { check(Array(name[..<index]) + [byte] + Array(name[index...])) }
            }
        }
    }

    @Test func aNameOfAnyLengthHasAnAnswer() {
        var decoder = ResponseEventDecoder()
        for count in 0...300 {
            let name = [UInt8](repeating: UInt8(ascii: "x"), count: count)
            #expect(Self.meaning(of: name, with: &decoder) == .unknown, "\(count)")
        }
    }
}
