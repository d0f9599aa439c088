// A C interface of a few functions over simdjson's On-Demand parser.
//
// A scanner is owned by one task at a time. No simdjson type leaves this target. Results point into the caller's bytes
// or into the scanner; they are valid until the scanner's next call and while the caller's bytes are.
//
// Every byte of an input is checked: accepted text is JSON as RFC 8259 defines it, in valid UTF-8, at most
// `CSJ_MAXIMUM_DEPTH` containers deep, members that the caller does not use included. Of members with the same name the
// last one is used. Half of a surrogate pair in an escape is legal JSON and becomes U+FFFD in unescaped text.
#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The number of bytes that must be readable after the end of every input. Their content does not matter.
#define CSJ_PADDING 64

/// The deepest nesting of arrays and objects, the outermost one included.
#define CSJ_MAXIMUM_DEPTH 512

/// The result of a call.
typedef enum csj_status {
    csj_ok = 0,
    csj_not_json,
    csj_invalid_utf8,
    /// JSON, but the outermost value is not an object.
    csj_not_object,
    /// An object without a `type` that is a string.
    csj_no_type,
    /// A member that the event's type needs is missing or has the wrong type; `csj_event.wrong_field` names it.
    csj_wrong_field,
    csj_too_deep,
    csj_no_memory,
    /// The caller promised fewer than `CSJ_PADDING` readable bytes after the end.
    csj_no_padding,
} csj_status;

/// The event types that a turn uses; all others are `known_other` or `unknown`.
typedef enum csj_event_type {
    csj_event_unknown = 0,
    csj_event_known_other,
    csj_event_created,
    csj_event_queued,
    csj_event_in_progress,
    csj_event_completed,
    csj_event_failed,
    csj_event_incomplete,
    csj_event_error,
    csj_event_item_added,
    csj_event_item_done,
    csj_event_part_added,
    csj_event_text_delta,
    csj_event_refusal_delta,
    csj_event_reasoning_summary_delta,
    csj_event_reasoning_text_delta,
    csj_event_function_arguments_delta,
    csj_event_custom_input_delta,
    csj_event_text_done,
    csj_event_refusal_done,
    csj_event_reasoning_summary_done,
    csj_event_reasoning_text_done,
    csj_event_function_arguments_done,
    csj_event_custom_input_done,
    csj_event_content_part_done,
    csj_event_summary_part_done,
    csj_event_rate_limits,
    csj_event_metadata,
    csj_event_codex_metadata,
    csj_event_websocket_timing,
    csj_event_keepalive,
} csj_event_type;

/// Members that a `csj_wrong_field` can name.
typedef enum csj_field {
    csj_field_none = 0,
    csj_field_delta,
    csj_field_item,
    csj_field_response,
} csj_field;

/// Some bytes; `bytes` is null when the member is absent or JSON's `null`.
typedef struct csj_text {
    const uint8_t *bytes;
    size_t count;
} csj_text;

/// The kind of text that a part holds.
typedef enum csj_part_kind {
    /// No known text.
    csj_part_none = 0,
    /// A text in a part without a type: in a summary that is the summary's text.
    csj_part_untyped,
    csj_part_text,
    csj_part_refusal,
    csj_part_reasoning_summary,
    csj_part_reasoning_text,
    csj_part_function_arguments,
    csj_part_custom_input,
} csj_part_kind;

/// The text of one part of an item.
typedef struct csj_part {
    /// The place of the part in its array.
    int64_t index;
    csj_part_kind kind;
    csj_text text;
} csj_part;

/// Some elements of a list.
typedef struct csj_range {
    size_t start, count;
} csj_range;

/// The members of an output item that a turn needs. Texts are unescaped, `json` is not.
typedef struct csj_item {
    csj_text json, type, id, status, call_id, name, namespace_name;
    /// `agent.agent_name`.
    csj_text agent_name;
    /// The role of a message; null when absent or not a text.
    csj_text role;
    /// The `arguments` or `input` of a call. A value that is not a string is given as JSON text.
    csj_text payload;
    /// The texts of `content` and of `summary`, in `csj_event.parts`, for any item that has such arrays. A text in the
    /// place of an array is its one part.
    csj_range content, summary;
    /// Indicates whether `payload` is the JSON text of a value that is not a string.
    bool has_json_payload;
    /// Indicates whether `payload` is the `input`.
    bool is_input;
    /// A bit for each text that has another type; the text is null then.
    uint8_t wrong_texts;
} csj_item;

/// The most elements of a response's `output` that are listed; later ones are only checked, and `is_output_cut` is set.
#define CSJ_MAXIMUM_OUTPUT_COUNT 16384

/// The members of a response object that a turn needs. Texts are unescaped, `json` is not. Integers are -1 when absent.
typedef struct csj_response {
    csj_text json, id, status, model, service_tier, error_code, error_type, error_message, incomplete_reason;
    int64_t input_tokens, cached_tokens, output_tokens, reasoning_tokens, total_tokens;
    /// The elements of `output`, in `csj_event.items`; one that is not an object is an item without members.
    csj_range output;
    /// Indicates whether `output` has more elements than are listed.
    bool is_output_cut;
    /// `end_turn`: 1 or 0, -1 when absent.
    int32_t end_turn;
} csj_response;

/// An index that is a number but not a valid position: negative, fractional, or past 18 digits.
enum { csj_no_position = -2 };

/// One event. Integers are -1 when absent, negative, fractional, or past 18 digits; an index that is such a number is
/// `csj_no_position`.
typedef struct csj_event {
    // The members before `delta` are copied as a whole from one delta to the next (DeltaFacts).
    csj_event_type type;
    csj_field wrong_field;
    csj_text type_name, stream_id, item_id;
    int64_t sequence_number, output_index, content_index, summary_index;
    /// A number of a delta that other deltas of the same scanner share only if type, indices and `item_id` are the
    /// same; 0 when that is not known.
    uintptr_t shape;
    /// The text of the six kinds of delta, unescaped.
    csj_text delta;
    /// The halves of surrogate pairs that stand alone at the ends of `delta`, where they became U+FFFD: a second half at
    /// its beginning (the low 16 bits), a first half at its end (the high 16 bits); 0 for none.
    uint32_t delta_halves;
    /// The whole text of a slot in the event that closes it, unescaped; null where it has none.
    csj_text closing_text;
    /// The kind of `closing_text`, where there is one.
    csj_part_kind closing_kind;
    /// The `name` in the event that closes a function's arguments, unescaped; null where it has none.
    csj_text closing_name;
    /// Set for `item_added` and `item_done` only.
    csj_item item;
    /// Set for `created`, `completed`, `failed` and `incomplete`; for `queued` and `in_progress` only the identifier.
    csj_response response;
    /// The lists that the ranges of `item` and `response` refer to.
    const csj_part *parts;
    const csj_item *items;
} csj_event;

/// The type of a JSON value.
typedef enum csj_kind {
    csj_kind_object,
    csj_kind_array,
    csj_kind_string,
    csj_kind_number,
    csj_kind_true,
    csj_kind_false,
    csj_kind_null,
} csj_kind;

/// One value of a document, in document order: a container precedes its contents.
typedef struct csj_node {
    /// The member's name as written between its quotes; null in arrays and for the outermost value.
    csj_text key;
    /// The value as written; for a string the text between its quotes.
    csj_text json;
    /// The index of the first node after this value and all it contains.
    size_t next;
    csj_kind kind;
} csj_node;

typedef struct csj_scanner csj_scanner;

/// Creates a scanner; null when there is no memory.
csj_scanner *csj_scanner_create(void);

void csj_scanner_destroy(csj_scanner *scanner);

/// Checks one event and finds the members that a turn needs. `readable_count` counts from `bytes` and includes the
/// padding.
csj_status csj_scan_event(
    csj_scanner *scanner, const uint8_t *bytes, size_t count, size_t readable_count, csj_event *event
);

/// Checks an object and lists its values down to `depth` levels; 1 is the members of the object itself.
csj_status csj_read_tree(
    csj_scanner *scanner, const uint8_t *bytes, size_t count, size_t readable_count, size_t depth,
    const csj_node **nodes, size_t *node_count
);

/// Returns whether a text consists of these bytes.
static inline bool csj_is_text(csj_text text, const uint8_t *bytes, size_t count) {
    return text.count == count && (count == 0 || memcmp(text.bytes, bytes, count) == 0);
}

/// A checked event, and the contents of one or two of its strings, in their order, that may be others in the next event.
typedef struct csj_frame {
    const uint8_t *bytes;
    size_t count;
    size_t gap_starts[2], gap_ends[2];
    size_t gap_count;
} csj_frame;

/// Finds the content of a gap in an event that repeats all of a frame but its gaps; false for any other.
///
/// Such an event is JSON as the frame is: its gaps are checked. `has_escape` says that one of them has an escape. 15 bytes
/// past the event's end must be readable.
bool csj_find_in_frame(
    const csj_frame *frame, size_t gap, const uint8_t *bytes, size_t count, csj_text *found, bool *has_escape
);

/// Unescapes the content of a checked string. `output` holds at least `count` bytes.
size_t csj_unescape(const uint8_t *bytes, size_t count, uint8_t *output);

/// Returns the halves of surrogate pairs at the ends of a checked string's content, as `delta_halves`.
uint32_t csj_surrogate_halves(const uint8_t *bytes, size_t count);

bool csj_validate_utf8(const uint8_t *bytes, size_t count);

/// Returns simdjson's version, such as `3.0.1`.
const char *csj_version(void);

#ifdef __cplusplus
}
#endif

#endif
