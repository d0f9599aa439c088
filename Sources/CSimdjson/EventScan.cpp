// One event: its members in whatever order they stand, taken in one pass, then judged by the event's type.
#include "EventPattern.hpp"
#include "EventTypes.hpp"
#include "Unescaper.hpp"
#include "Walk.hpp"

namespace csj {
namespace {

constexpr int64_t absent = -1;

/// A member whose value is text, or was of another type.
struct TextField {
    csj_text contents{nullptr, 0};
    bool has_wrong_type = false;
};

/// A non-negative integer that is not too long.
simdjson_inline int64_t integer_of(csj_text token) noexcept {
    if (token.count > longest_integer || (token.bytes[0] == '0' && token.count > 1)) { return absent; }
    int64_t value = 0;
    for (size_t index = 0; index < token.count; ++index) {
        const uint8_t digit = token.bytes[index] - '0';
        if (digit > 9) { return absent; }
        value = value * 10 + digit;
    }
    return value;
}

/// Collects what one event says.
class EventScan {
public:
    EventScan(const Walk &walk, csj_event &event) noexcept : walk(walk), event(event) {}

    csj_status scan(ondemand::object &object) noexcept {
        return this->walk.each_member(object, [&](csj_text key, ondemand::value &value, csj_text token) noexcept {
            uint8_t buffer[longest_key];
            return this->take(this->walk.plain_key(key, buffer), value, token);
        });
    }

    TextField type, delta, stream_id;
    EventOutline outline;
    bool has_item = false, has_response = false;
    /// A bit for each text that has the wrong type; of members with the same name the last one counts.
    uint8_t wrong_item_texts = 0, wrong_response_texts = 0;

private:
    csj_status take(csj_text key, ondemand::value &value, csj_text token) noexcept {
        csj_event &event = this->event;
        switch (key.count) {
        case 4:
            if (equals(key, "type", 4)) {
                this->outline.note(EventOutline::type);
                return this->take_text(value, token, this->type);
            }
            if (equals(key, "item", 4)) { return this->take_item(value, token); }
            break;
        case 5:
            if (equals(key, "delta", 5)) { return this->take_delta(value, token); }
            break;
        case 8:
            if (equals(key, "response", 8)) { return this->take_response(value, token); }
            break;
        case 9:
            if (equals(key, "stream_id", 9)) {
                this->outline.note(EventOutline::stream_id);
                return this->take_text(value, token, this->stream_id);
            }
            break;
        case 12:
            if (equals(key, "output_index", 12)) {
                this->outline.note(EventOutline::output_index);
                return this->take_index(value, token, event.output_index);
            }
            break;
        case 13:
            if (equals(key, "content_index", 13)) {
                this->outline.note(EventOutline::content_index);
                return this->take_index(value, token, event.content_index);
            }
            if (equals(key, "summary_index", 13)) {
                this->outline.note(EventOutline::summary_index);
                return this->take_index(value, token, event.summary_index);
            }
            break;
        case 15:
            if (equals(key, "sequence_number", 15)) { return this->take_number(value, token); }
            break;
        default:
            break;
        }
        if (token.bytes[0] == '"') {
            csj_text text;
            const csj_status status = this->walk.take_string(value, token, &text);
            if (status == csj_ok) { this->outline.add(EventGap::Kind::text, text); }
            return status;
        }
        return this->walk.check(value, token, 1);
    }

    csj_status take_delta(ondemand::value &value, csj_text token) noexcept {
        const csj_status status = this->take_text(value, token, this->delta);
        this->outline.note(EventOutline::delta);
        if (this->delta.contents.bytes != nullptr) { this->outline.add(EventGap::Kind::delta, this->delta.contents); }
        return status;
    }

    csj_status take_number(ondemand::value &value, csj_text token) noexcept {
        int64_t &number = this->event.sequence_number;
        const csj_status status = this->take_integer(value, token, number);
        this->outline.note(EventOutline::sequence_number);
        if (number != absent) { this->outline.add(EventGap::Kind::number, token); }
        return status;
    }

    csj_status take_text(ondemand::value &value, csj_text token, TextField &field, size_t depth = 1) noexcept {
        field = TextField{};
        if (token.bytes[0] == '"') { return this->walk.take_string(value, token, &field.contents); }
        field.has_wrong_type = token.bytes[0] != 'n';
        return this->walk.check(value, token, depth);
    }

    csj_status take_integer(ondemand::value &value, csj_text token, int64_t &field, size_t depth = 1) noexcept {
        field = integer_of(token);
        // What is such an integer needs no other check.
        return field == absent ? this->walk.check(value, token, depth) : csj_ok;
    }

    /// A position, where a number that is none must not be taken for a missing one.
    csj_status take_index(ondemand::value &value, csj_text token, int64_t &field) noexcept {
        const csj_status status = this->take_integer(value, token, field);
        const bool is_number = token.bytes[0] == '-' || (token.bytes[0] >= '0' && token.bytes[0] <= '9');
        if (field == absent && is_number) { field = csj_no_position; }
        return status;
    }

    /// A text of an item or a response, where another type makes the whole object useless; `number` is the text's own.
    csj_status take_needed(
        ondemand::value &value, csj_text token, csj_text &text, uint8_t &wrong_texts, unsigned number
    ) noexcept {
        TextField field;
        const csj_status status = this->take_text(value, token, field, 2);
        text = field.contents;
        const uint8_t bit = static_cast<uint8_t>(1U << number);
        wrong_texts = static_cast<uint8_t>(field.has_wrong_type ? wrong_texts | bit : wrong_texts & ~bit);
        return status;
    }

    /// A text that is good to know; a number or a Boolean in its place is given as it is written.
    csj_status take_fact(ondemand::value &value, csj_text token, csj_text &text, size_t depth) noexcept {
        TextField field;
        const csj_status status = this->take_text(value, token, field, depth);
        const bool is_container = token.bytes[0] == '{' || token.bytes[0] == '[';
        text = field.has_wrong_type && !is_container ? token : field.contents;
        return status;
    }

    // MARK: Items

    csj_status take_item(ondemand::value &value, csj_text token) noexcept {
        this->event.item = csj_item{};
        this->has_item = token.bytes[0] == '{';
        this->wrong_item_texts = 0;
        if (!this->has_item) { return this->walk.check(value, token, 1); }
        ondemand::object object;
        if (value.get_object().get(object)) { return csj_not_json; }
        const csj_status status = this->walk.each_member(
            object, [&](csj_text key, ondemand::value &member, csj_text member_token) noexcept {
                uint8_t buffer[longest_key];
                return this->take_item_member(this->walk.plain_key(key, buffer), member, member_token);
            }
        );
        this->event.item.json = written(token.bytes, value);
        return status;
    }

    csj_status take_item_member(csj_text key, ondemand::value &value, csj_text token) noexcept {
        csj_item &item = this->event.item;
        uint8_t &wrong = this->wrong_item_texts;
        if (equals(key, "type", 4)) { return this->take_needed(value, token, item.type, wrong, 0); }
        if (equals(key, "id", 2)) { return this->take_needed(value, token, item.id, wrong, 1); }
        if (equals(key, "status", 6)) { return this->take_needed(value, token, item.status, wrong, 2); }
        if (equals(key, "call_id", 7)) { return this->take_needed(value, token, item.call_id, wrong, 3); }
        if (equals(key, "name", 4)) { return this->take_needed(value, token, item.name, wrong, 4); }
        if (equals(key, "namespace", 9)) { return this->take_needed(value, token, item.namespace_name, wrong, 5); }
        if (equals(key, "arguments", 9) || equals(key, "input", 5)) { return this->take_payload(value, token); }
        return this->walk.check(value, token, 2);
    }

    /// Some servers send a call's arguments as an object and not as text: its JSON is that text.
    csj_status take_payload(ondemand::value &value, csj_text token) noexcept {
        csj_text &payload = this->event.item.payload;
        if (token.bytes[0] == '"') {
            this->is_payload_json = false;
            return this->walk.take_string(value, token, &payload);
        }
        const csj_status status = this->walk.check(value, token, 2);
        const bool is_container = token.bytes[0] == '{' || token.bytes[0] == '[';
        payload = token.bytes[0] == 'n' ? csj_text{nullptr, 0} : token;
        if (status == csj_ok && is_container) { payload = written(token.bytes, value); }
        this->is_payload_json = true;
        return status;
    }

    // MARK: Responses

    csj_status take_response(ondemand::value &value, csj_text token) noexcept {
        csj_response &response = this->event.response;
        response = csj_response{};
        response.input_tokens = response.cached_tokens = response.output_tokens = absent;
        response.reasoning_tokens = response.total_tokens = absent;
        response.end_turn = -1;
        this->has_response = token.bytes[0] == '{';
        this->wrong_response_texts = 0;
        if (!this->has_response) { return this->walk.check(value, token, 1); }
        const csj_status status = this->take_members(
            value, token, 1, [&](csj_text key, ondemand::value &member, csj_text member_token) noexcept {
                return this->take_response_member(key, member, member_token);
            }
        );
        response.json = written(token.bytes, value);
        return status;
    }

    csj_status take_response_member(csj_text key, ondemand::value &value, csj_text token) noexcept {
        csj_response &response = this->event.response;
        uint8_t &wrong = this->wrong_response_texts;
        if (equals(key, "id", 2)) { return this->take_needed(value, token, response.id, wrong, 0); }
        if (equals(key, "status", 6)) { return this->take_needed(value, token, response.status, wrong, 1); }
        if (equals(key, "model", 5)) { return this->take_fact(value, token, response.model, 2); }
        if (equals(key, "end_turn", 8)) {
            response.end_turn = token.bytes[0] == 't' ? 1 : token.bytes[0] == 'f' ? 0 : -1;
            return this->walk.check(value, token, 2);
        }
        if (equals(key, "error", 5)) { return this->take_response_error(value, token); }
        if (equals(key, "incomplete_details", 18)) { return this->take_incomplete_details(value, token); }
        if (equals(key, "usage", 5)) { return this->take_usage(value, token); }
        return this->walk.check(value, token, 2);
    }

    csj_status take_response_error(ondemand::value &value, csj_text token) noexcept {
        csj_response &response = this->event.response;
        response.error_code = response.error_type = response.error_message = csj_text{nullptr, 0};
        return this->take_members(value, token, 2, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
            if (equals(key, "code", 4)) { return this->take_fact(member, inner, response.error_code, 3); }
            if (equals(key, "type", 4)) { return this->take_fact(member, inner, response.error_type, 3); }
            if (equals(key, "message", 7)) { return this->take_fact(member, inner, response.error_message, 3); }
            return this->walk.check(member, inner, 3);
        });
    }

    csj_status take_incomplete_details(ondemand::value &value, csj_text token) noexcept {
        csj_text &reason = this->event.response.incomplete_reason;
        reason = csj_text{nullptr, 0};
        return this->take_members(value, token, 2, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
            if (equals(key, "reason", 6)) { return this->take_fact(member, inner, reason, 3); }
            return this->walk.check(member, inner, 3);
        });
    }

    csj_status take_usage(ondemand::value &value, csj_text token) noexcept {
        csj_response &response = this->event.response;
        response.input_tokens = response.cached_tokens = response.output_tokens = absent;
        response.reasoning_tokens = response.total_tokens = absent;
        return this->take_members(value, token, 2, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
            if (equals(key, "input_tokens", 12)) { return this->take_integer(member, inner, response.input_tokens, 3); }
            if (equals(key, "output_tokens", 13)) {
                return this->take_integer(member, inner, response.output_tokens, 3);
            }
            if (equals(key, "total_tokens", 12)) { return this->take_integer(member, inner, response.total_tokens, 3); }
            if (equals(key, "input_tokens_details", 20)) {
                return this->take_one_integer(member, inner, "cached_tokens", response.cached_tokens);
            }
            if (equals(key, "output_tokens_details", 21)) {
                return this->take_one_integer(member, inner, "reasoning_tokens", response.reasoning_tokens);
            }
            return this->walk.check(member, inner, 3);
        });
    }

    csj_status take_one_integer(ondemand::value &value, csj_text token, const char *name, int64_t &field) noexcept {
        field = absent;
        return this->take_members(value, token, 3, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
            if (equals(key, name, std::strlen(name))) { return this->take_integer(member, inner, field, 4); }
            return this->walk.check(member, inner, 4);
        });
    }

    /// Visits the members of a value that should be an object; any other value is checked and passed over.
    template <class Visit>
    csj_status take_members(ondemand::value &value, csj_text token, size_t depth, Visit &&visit) noexcept {
        if (token.bytes[0] != '{') { return this->walk.check(value, token, depth); }
        ondemand::object object;
        if (value.get_object().get(object)) { return csj_not_json; }
        return this->walk.each_member(object, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
            uint8_t buffer[longest_key];
            return visit(this->walk.plain_key(key, buffer), member, inner);
        });
    }

    const Walk &walk;
    csj_event &event;

public:
    bool is_payload_json = false;
};

// MARK: Unescaping

void unescape(csj_item &item, bool is_payload_json, Unescaper &unescaper) noexcept {
    for (csj_text *text : {&item.type, &item.id, &item.status, &item.call_id, &item.name, &item.namespace_name}) {
        unescaper.unescape(*text);
    }
    if (!is_payload_json) { unescaper.unescape(item.payload); }
}

void unescape(csj_response &response, Unescaper &unescaper) noexcept {
    for (csj_text *text : {
             &response.id, &response.status, &response.model, &response.error_code, &response.error_type,
             &response.error_message, &response.incomplete_reason,
         }) {
        unescaper.unescape(*text);
    }
}

// MARK: Judging

/// Keeps what the event's type needs, and says what of it is missing.
csj_status finish(EventScan &scan, csj_event &event, Unescaper &unescaper) noexcept {
    event.type_name = scan.type.contents;
    if (event.type_name.bytes == nullptr) { return csj_no_type; }
    unescaper.unescape(event.type_name);
    event.stream_id = scan.stream_id.contents;
    unescaper.unescape(event.stream_id);
    event.type = event_type(event.type_name.bytes, event.type_name.count);

    switch (event.type) {
    case csj_event_text_delta:
    case csj_event_refusal_delta:
    case csj_event_reasoning_summary_delta:
    case csj_event_reasoning_text_delta:
    case csj_event_function_arguments_delta:
    case csj_event_custom_input_delta:
        event.delta = scan.delta.contents;
        unescaper.unescape(event.delta);
        event.wrong_field = event.delta.bytes == nullptr ? csj_field_delta : csj_field_none;
        break;
    case csj_event_item_added:
    case csj_event_item_done:
        // An absent item was not cleared: it still is the one of an event before.
        event.wrong_field = scan.has_item && scan.wrong_item_texts == 0 ? csj_field_none : csj_field_item;
        if (event.wrong_field == csj_field_none) { unescape(event.item, scan.is_payload_json, unescaper); }
        break;
    case csj_event_created:
    case csj_event_completed:
    case csj_event_failed:
    case csj_event_incomplete:
        event.wrong_field = scan.has_response && scan.wrong_response_texts == 0 ? csj_field_none : csj_field_response;
        if (event.wrong_field == csj_field_none) { unescape(event.response, unescaper); }
        break;
    default:
        break;
    }
    return event.wrong_field == csj_field_none ? csj_ok : csj_wrong_field;
}

/// Takes an event apart, whatever it is.
csj_status scan_whole(
    csj_scanner &scanner, const uint8_t *bytes, size_t count, size_t readable_count, csj_event &event
) noexcept {
    // The item and the response are large and rare: they are cleared where they are found.
    event.type = csj_event_unknown;
    event.wrong_field = csj_field_none;
    event.type_name = event.stream_id = event.delta = csj_text{nullptr, 0};
    event.sequence_number = event.output_index = event.content_index = event.summary_index = absent;
    return walk_object(
        scanner, bytes, count, readable_count,
        [&](const Walk &walk, ondemand::object &object) noexcept {
            EventScan scan(walk, event);
            csj_status status = scan.scan(object);
            if (status == csj_ok) { status = walk.check_end(); }
            if (status != csj_ok) { return status; }
            Unescaper unescaper(scanner, count, walk.has_backslash);
            const csj_status judgement = finish(scan, event, unescaper);
            if (unescaper.status != csj_ok) { return unescaper.status; }
            if (judgement == csj_ok) { scanner.pattern.learn(bytes, count, event, scan.outline); }
            return judgement;
        }
    );
}

}  // namespace
}  // namespace csj

csj_status csj_scan_event(
    csj_scanner *scanner, const uint8_t *bytes, size_t count, size_t readable_count, csj_event *event
) {
    if (readable_count < count || readable_count - count < CSJ_PADDING) { return csj_no_padding; }
    // The text of the event before: reading a tree in between leaves it alone.
    scanner->text_count = 0;
    if (scanner->text_capacity > csj::retained_byte_count) {
        scanner->text.reset();
        scanner->text_capacity = 0;
    }
    if (scanner->pattern.fits(*scanner, bytes, count, *event)) { return csj_ok; }
    return csj::scan_whole(*scanner, bytes, count, readable_count, *event);
}
