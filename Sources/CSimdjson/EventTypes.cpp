// The table of event types, sorted by length so that a name is compared with a handful of others at most.
#include "EventTypes.hpp"

#include <array>
#include <cstring>
#include <string_view>

namespace {

struct Entry {
    std::string_view name;
    csj_event_type type;
};

/// Sorted by length; within a length the types that a turn needs come first.
constexpr Entry entries[] = {
    {"error", csj_event_error},
    {"keepalive", csj_event_keepalive},
    {"response.failed", csj_event_failed},
    {"response.queued", csj_event_queued},
    {"response.created", csj_event_created},
    {"codex.rate_limits", csj_event_rate_limits},
    {"response.metadata", csj_event_metadata},
    {"response.completed", csj_event_completed},
    {"response.incomplete", csj_event_incomplete},
    {"response.audio.done", csj_event_known_other},
    {"response.in_progress", csj_event_in_progress},
    {"response.audio.delta", csj_event_known_other},
    {"response.refusal.done", csj_event_known_other},
    {"response.steer.failed", csj_event_known_other},
    {"response.refusal.delta", csj_event_refusal_delta},
    {"response.steer.pending", csj_event_known_other},
    {"codex.response.metadata", csj_event_codex_metadata},
    {"response.steer.accepted", csj_event_known_other},
    {"response.mcp_call.failed", csj_event_known_other},
    {"response.output_item.done", csj_event_item_done},
    {"response.output_text.done", csj_event_known_other},
    {"response.output_item.added", csj_event_item_added},
    {"response.output_text.delta", csj_event_text_delta},
    {"response.content_part.done", csj_event_known_other},
    {"response.content_part.added", csj_event_part_added},
    {"response.mcp_call.completed", csj_event_known_other},
    {"response.reasoning_text.done", csj_event_known_other},
    {"response.reasoning_text.delta", csj_event_reasoning_text_delta},
    {"responsesapi.websocket_timing", csj_event_websocket_timing},
    {"response.mcp_call.in_progress", csj_event_known_other},
    {"response.audio.transcript.done", csj_event_known_other},
    {"response.compaction.compacting", csj_event_known_other},
    {"response.mcp_list_tools.failed", csj_event_known_other},
    {"response.audio.transcript.delta", csj_event_known_other},
    {"response.mcp_call_arguments.done", csj_event_known_other},
    {"response.shell_call_command.done", csj_event_known_other},
    {"response.mcp_call_arguments.delta", csj_event_known_other},
    {"response.mcp_list_tools.completed", csj_event_known_other},
    {"response.shell_call_command.added", csj_event_known_other},
    {"response.shell_call_command.delta", csj_event_known_other},
    {"response.web_search_call.completed", csj_event_known_other},
    {"response.web_search_call.searching", csj_event_known_other},
    {"response.file_search_call.completed", csj_event_known_other},
    {"response.file_search_call.searching", csj_event_known_other},
    {"response.mcp_list_tools.in_progress", csj_event_known_other},
    {"response.custom_tool_call_input.done", csj_event_known_other},
    {"response.reasoning_summary_part.done", csj_event_known_other},
    {"response.reasoning_summary_text.done", csj_event_known_other},
    {"response.web_search_call.in_progress", csj_event_known_other},
    {"response.custom_tool_call_input.delta", csj_event_custom_input_delta},
    {"response.reasoning_summary_part.added", csj_event_part_added},
    {"response.reasoning_summary_text.delta", csj_event_reasoning_summary_delta},
    {"response.file_search_call.in_progress", csj_event_known_other},
    {"response.function_call_arguments.done", csj_event_known_other},
    {"response.output_text.annotation.added", csj_event_known_other},
    {"response.function_call_arguments.delta", csj_event_function_arguments_delta},
    {"response.shell_call_output_content.done", csj_event_known_other},
    {"response.code_interpreter_call.completed", csj_event_known_other},
    {"response.code_interpreter_call_code.done", csj_event_known_other},
    {"response.image_generation_call.completed", csj_event_known_other},
    {"response.shell_call_output_content.delta", csj_event_known_other},
    {"response.code_interpreter_call_code.delta", csj_event_known_other},
    {"response.image_generation_call.generating", csj_event_known_other},
    {"response.code_interpreter_call.in_progress", csj_event_known_other},
    {"response.image_generation_call.in_progress", csj_event_known_other},
    {"response.code_interpreter_call.interpreting", csj_event_known_other},
    {"response.image_generation_call.partial_image", csj_event_known_other},
    {"response.apply_patch_call_operation_diff.done", csj_event_known_other},
    {"response.apply_patch_call_operation_diff.delta", csj_event_known_other},
};

constexpr size_t entry_count = sizeof entries / sizeof entries[0];
constexpr size_t longest_name = entries[entry_count - 1].name.size();

/// At `n`, the index of the first entry that is at least `n` bytes long.
constexpr std::array<uint8_t, longest_name + 2> make_starts() {
    std::array<uint8_t, longest_name + 2> starts{};
    size_t entry = 0;
    for (size_t length = 0; length < starts.size(); ++length) {
        while (entry < entry_count && entries[entry].name.size() < length) { ++entry; }
        starts[length] = static_cast<uint8_t>(entry);
    }
    return starts;
}

constexpr bool is_sorted_by_length() {
    for (size_t index = 1; index < entry_count; ++index) {
        if (entries[index - 1].name.size() > entries[index].name.size()) { return false; }
    }
    return true;
}

static_assert(entry_count < 256 && is_sorted_by_length());
constexpr auto starts = make_starts();

}  // namespace

namespace csj {

csj_event_type event_type(const uint8_t *name, size_t count) noexcept {
    if (count > longest_name) { return csj_event_unknown; }
    for (size_t index = starts[count]; index < starts[count + 1]; ++index) {
        if (std::memcmp(entries[index].name.data(), name, count) == 0) { return entries[index].type; }
    }
    return csj_event_unknown;
}

}  // namespace csj
