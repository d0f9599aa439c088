// The table of event types: a perfect hash, made by the compiler, and one comparison that verifies the name.
#include "EventTypes.hpp"

#include <array>
#include <cstring>
#include <string_view>

namespace {

struct Entry {
    std::string_view name;
    csj_event_type type;
};

/// Sorted by length for readability; the order has no effect.
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
    {"response.refusal.done", csj_event_refusal_done},
    {"response.steer.failed", csj_event_known_other},
    {"response.refusal.delta", csj_event_refusal_delta},
    {"response.steer.pending", csj_event_known_other},
    {"codex.response.metadata", csj_event_codex_metadata},
    {"response.steer.accepted", csj_event_known_other},
    {"response.mcp_call.failed", csj_event_known_other},
    {"response.output_item.done", csj_event_item_done},
    {"response.output_text.done", csj_event_text_done},
    {"response.output_item.added", csj_event_item_added},
    {"response.output_text.delta", csj_event_text_delta},
    {"response.content_part.done", csj_event_content_part_done},
    {"response.content_part.added", csj_event_part_added},
    {"response.mcp_call.completed", csj_event_known_other},
    {"response.reasoning_text.done", csj_event_reasoning_text_done},
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
    {"response.cancelled", csj_event_failed},
    {"response.file_search_call.searching", csj_event_known_other},
    {"response.mcp_list_tools.in_progress", csj_event_known_other},
    {"response.custom_tool_call_input.done", csj_event_custom_input_done},
    {"response.reasoning_summary_part.done", csj_event_summary_part_done},
    {"response.reasoning_summary_text.done", csj_event_reasoning_summary_done},
    {"response.web_search_call.in_progress", csj_event_known_other},
    {"response.custom_tool_call_input.delta", csj_event_custom_input_delta},
    {"response.reasoning_summary_part.added", csj_event_part_added},
    {"response.reasoning_summary_text.delta", csj_event_reasoning_summary_delta},
    {"response.file_search_call.in_progress", csj_event_known_other},
    {"response.function_call_arguments.done", csj_event_function_arguments_done},
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

constexpr size_t length_of_longest() {
    size_t longest = 0;
    for (const Entry &entry : entries) { longest = entry.name.size() > longest ? entry.name.size() : longest; }
    return longest;
}

constexpr size_t longest_name = length_of_longest();

/// Seven times as many slots as names, so that a multiplier is found after some dozens of attempts.
constexpr unsigned slot_bits = 9;
constexpr size_t slot_count = size_t{1} << slot_bits;

/// Returns the bytes that distinguish the names of the table: the length, the last byte, and one from the middle of
/// each half.
template <class Byte>
constexpr uint32_t digest(const Byte *name, size_t count) {
    const auto byte = [name](size_t index) { return static_cast<uint32_t>(static_cast<uint8_t>(name[index])); };
    return static_cast<uint32_t>(count) | byte(count / 2) << 8 | byte(count * 3 / 4) << 16 | byte(count - 1) << 24;
}

constexpr size_t slot_of(uint32_t digest, uint32_t multiplier) {
    return static_cast<size_t>((digest * multiplier) >> (32 - slot_bits));
}

struct Table {
    /// 0 when none was found.
    uint32_t multiplier = 0;
    /// At a name's slot, its place in `entries` plus one; 0 for an empty slot.
    std::array<uint8_t, slot_count> slots{};
};

constexpr bool fill(Table &table, uint32_t multiplier) {
    std::array<uint8_t, slot_count> slots{};
    for (size_t index = 0; index < entry_count; ++index) {
        uint8_t &slot = slots[slot_of(digest(entries[index].name.data(), entries[index].name.size()), multiplier)];
        if (slot != 0) { return false; }
        slot = static_cast<uint8_t>(index + 1);
    }
    table.multiplier = multiplier;
    table.slots = slots;
    return true;
}

constexpr Table make_table() {
    Table table;
    // An odd number without a pattern; each step leads to another one.
    uint32_t multiplier = 0x9E3779B1;
    for (size_t attempt = 0; attempt < 500; ++attempt) {
        if (fill(table, multiplier)) { break; }
        multiplier = multiplier * 0x2545F491 | 1;
    }
    return table;
}

constexpr Table table = make_table();

constexpr bool finds_every_name() {
    for (size_t index = 0; index < entry_count; ++index) {
        const std::string_view name = entries[index].name;
        if (table.slots[slot_of(digest(name.data(), name.size()), table.multiplier)] != index + 1) { return false; }
    }
    return true;
}

static_assert(entry_count < 256 && longest_name < 256);
static_assert(table.multiplier != 0, "two names have the same digest, or no multiplier keeps all names apart");
static_assert(finds_every_name());

}  // namespace

namespace csj {

csj_event_type event_type(const uint8_t *name, size_t count) noexcept {
    if (count == 0 || count > longest_name) { return csj_event_unknown; }
    const uint8_t place = table.slots[slot_of(digest(name, count), table.multiplier)];
    if (place == 0) { return csj_event_unknown; }
    const Entry &entry = entries[place - 1];
    const bool is_it = entry.name.size() == count && std::memcmp(entry.name.data(), name, count) == 0;
    return is_it ? entry.type : csj_event_unknown;
}

}  // namespace csj
