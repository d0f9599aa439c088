// One event: its members in any order, taken in one pass, then checked by the event's type.
#include "EventPattern.hpp"
#include "EventTypes.hpp"
#include "ItemScan.hpp"
#include "ResponseScan.hpp"

namespace csj {
namespace {

/// Collects the members of one event.
class EventScan : private MemberScan {
public:
    EventScan(const Walk &walk, csj_scanner &scanner, csj_event &event) noexcept
        : MemberScan(walk), response(walk, scanner, event.response), event(event), items(walk, scanner) {}

    csj_status scan(ondemand::object &object) noexcept {
        return this->walk.each_member(object, [&](csj_text key, ondemand::value &value, csj_text token) noexcept {
            uint8_t buffer[longest_key];
            return this->take(this->walk.plain_key(key, buffer), value, token);
        });
    }

    TextField type, delta, stream_id, item_id;
    /// The members of an event that closes a slot: one of the texts, or a part.
    TextField text, refusal, arguments, input, name;
    csj_part part{0, csj_part_none, {nullptr, 0}};
    EventOutline outline;
    bool has_item = false;
    ResponseScan response;

private:
    csj_status take(csj_text key, ondemand::value &value, csj_text token) noexcept {
        csj_event &event = this->event;
        switch (key.count) {
        case 4:
            if (equals(key, "type", 4)) {
                this->outline.note(EventOutline::type);
                return this->take_text(value, token, this->type, 1);
            }
            if (equals(key, "item", 4)) {
                this->has_item = token.bytes[0] == '{';
                return this->items.take(value, token, 1, event.item);
            }
            if (equals(key, "text", 4)) { return this->take_closing_text(value, token, this->text); }
            if (equals(key, "name", 4)) { return this->take_closing_text(value, token, this->name); }
            if (equals(key, "part", 4)) { return this->take_part(value, token); }
            break;
        case 5:
            if (equals(key, "delta", 5)) { return this->take_delta(value, token); }
            if (equals(key, "input", 5)) { return this->take_closing_text(value, token, this->input); }
            break;
        case 7:
            if (equals(key, "item_id", 7)) { return this->take_item_id(value, token); }
            if (equals(key, "refusal", 7)) { return this->take_closing_text(value, token, this->refusal); }
            break;
        case 8:
            if (equals(key, "response", 8)) { return this->response.take(value, token); }
            break;
        case 9:
            if (equals(key, "stream_id", 9)) {
                this->outline.note(EventOutline::stream_id);
                return this->take_text(value, token, this->stream_id, 1);
            }
            if (equals(key, "arguments", 9)) { return this->take_closing_text(value, token, this->arguments); }
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
        return this->take_other(value, token);
    }

    /// Takes a value that no turn needs. A text may change from one delta to the next.
    csj_status take_other(ondemand::value &value, csj_text token) noexcept {
        if (token.bytes[0] == '"') {
            csj_text text;
            const csj_status status = this->walk.take_string(value, token, &text);
            if (status == csj_ok) { this->outline.add(EventGap::Kind::text, text); }
            return status;
        }
        return this->walk.check(value, token, 1);
    }

    /// Takes a text that a delta does not need: there it is one like any other.
    csj_status take_closing_text(ondemand::value &value, csj_text token, TextField &field) noexcept {
        const csj_status status = this->take_text(value, token, field, 1);
        if (field.contents.bytes != nullptr) { this->outline.add(EventGap::Kind::text, field.contents); }
        return status;
    }

    csj_status take_item_id(ondemand::value &value, csj_text token) noexcept {
        const csj_status status = this->take_text(value, token, this->item_id, 1);
        this->outline.note(EventOutline::item_id);
        if (this->item_id.contents.bytes != nullptr) {
            this->outline.add(EventGap::Kind::item_id, this->item_id.contents);
        }
        return status;
    }

    csj_status take_part(ondemand::value &value, csj_text token) noexcept {
        this->part = csj_part{0, csj_part_none, {nullptr, 0}};
        if (token.bytes[0] != '{') { return this->take_other(value, token); }
        return this->items.take_part(value, token, 1, this->part);
    }

    csj_status take_delta(ondemand::value &value, csj_text token) noexcept {
        const csj_status status = this->take_text(value, token, this->delta, 1);
        this->outline.note(EventOutline::delta);
        if (token.bytes[0] == 'n') {
            // It says nothing, as an empty text does, and leaves no gap to learn.
            this->delta.contents = csj_text{token.bytes, 0};
            this->outline.is_unusable = true;
        } else if (this->delta.contents.bytes != nullptr) {
            this->outline.add(EventGap::Kind::delta, this->delta.contents);
        }
        return status;
    }

    csj_status take_number(ondemand::value &value, csj_text token) noexcept {
        int64_t &number = this->event.sequence_number;
        const csj_status status = this->take_integer(value, token, number, 1);
        this->outline.note(EventOutline::sequence_number);
        if (number != absent) { this->outline.add(EventGap::Kind::number, token); }
        return status;
    }

    /// Takes a position; an invalid number is distinguished from a missing one.
    csj_status take_index(ondemand::value &value, csj_text token, int64_t &field) noexcept {
        const csj_status status = this->take_integer(value, token, field, 1);
        const bool is_number = token.bytes[0] == '-' || (token.bytes[0] >= '0' && token.bytes[0] <= '9');
        if (field == absent && is_number) { field = csj_no_position; }
        return status;
    }

    csj_event &event;
    ItemScan items;
};

// MARK: Judging

bool is_delta(csj_event_type type) noexcept {
    return type >= csj_event_text_delta && type <= csj_event_custom_input_delta;
}

/// Takes the text of an event that closes a slot. Servers may leave it out, which is not an error.
void take_closing_text(const EventScan &scan, csj_event &event, Unescaper &unescaper) noexcept {
    const csj_part &part = scan.part;
    const auto close = [&](csj_part_kind kind, csj_text text) noexcept {
        event.closing_kind = kind;
        event.closing_text = text;
        unescaper.unescape(event.closing_text);
    };
    switch (event.type) {
    case csj_event_text_done: return close(csj_part_text, scan.text.contents);
    case csj_event_refusal_done: return close(csj_part_refusal, scan.refusal.contents);
    case csj_event_reasoning_summary_done: return close(csj_part_reasoning_summary, scan.text.contents);
    case csj_event_reasoning_text_done: return close(csj_part_reasoning_text, scan.text.contents);
    case csj_event_function_arguments_done:
        event.closing_name = scan.name.contents;
        unescaper.unescape(event.closing_name);
        return close(csj_part_function_arguments, scan.arguments.contents);
    case csj_event_custom_input_done: return close(csj_part_custom_input, scan.input.contents);
    case csj_event_content_part_done:
        if (part.kind == csj_part_text || part.kind == csj_part_refusal || part.kind == csj_part_reasoning_text) {
            close(part.kind, part.text);
        }
        return;
    case csj_event_summary_part_done:
        if (part.kind == csj_part_reasoning_summary || part.kind == csj_part_untyped) {
            close(csj_part_reasoning_summary, part.text);
        }
        return;
    default: return;
    }
}

/// Keeps the members that the event's type needs, and reports a missing one.
csj_status finish(EventScan &scan, csj_scanner &scanner, csj_event &event, Unescaper &unescaper) noexcept {
    event.type_name = scan.type.contents;
    if (event.type_name.bytes == nullptr) { return csj_no_type; }
    unescaper.unescape(event.type_name);
    event.stream_id = scan.stream_id.contents;
    unescaper.unescape(event.stream_id);
    event.item_id = scan.item_id.contents;
    unescaper.unescape(event.item_id);
    event.type = event_type(event.type_name.bytes, event.type_name.count);
    if (is_delta(event.type)) {
        event.delta = scan.delta.contents;
        unescaper.unescape_delta(event);
        event.wrong_field = event.delta.bytes == nullptr ? csj_field_delta : csj_field_none;
        return event.wrong_field == csj_field_none ? csj_ok : csj_wrong_field;
    }

    event.parts = scanner.parts.data();
    event.items = scanner.items.data();
    switch (event.type) {
    case csj_event_item_added:
    case csj_event_item_done:
        // An absent item was not cleared: it is still that of an earlier event.
        event.wrong_field = scan.has_item && event.item.wrong_texts == 0 ? csj_field_none : csj_field_item;
        if (event.wrong_field == csj_field_none) { unescape(event.item, scanner.parts.data(), unescaper); }
        break;
    case csj_event_created:
    case csj_event_completed:
    case csj_event_failed:
    case csj_event_incomplete:
        event.wrong_field =
            scan.response.is_there && scan.response.wrong_texts == 0 ? csj_field_none : csj_field_response;
        if (event.wrong_field == csj_field_none) {
            unescape(event.response, scanner.items.data(), scanner.parts.data(), unescaper);
        }
        break;
    case csj_event_queued:
    case csj_event_in_progress:
        if (!scan.response.is_there) { event.response.id = csj_text{nullptr, 0}; }
        unescaper.unescape(event.response.id);
        break;
    default:
        take_closing_text(scan, event, unescaper);
        break;
    }
    return event.wrong_field == csj_field_none ? csj_ok : csj_wrong_field;
}

/// Scans an event of any type. Inlined, it would cost a delta that fits the pattern some instructions.
simdjson_never_inline csj_status scan_whole(
    csj_scanner &scanner, const uint8_t *bytes, size_t count, size_t readable_count, csj_event &event
) noexcept {
    // The item and the response are large and rare: they are cleared where they are found.
    event.type = csj_event_unknown;
    event.wrong_field = csj_field_none;
    event.type_name = event.stream_id = event.item_id = event.delta = event.closing_text = csj_text{nullptr, 0};
    event.closing_kind = csj_part_none;
    event.closing_name = csj_text{nullptr, 0};
    event.delta_halves = 0;
    event.shape = 0;
    event.sequence_number = event.output_index = event.content_index = event.summary_index = absent;
    scanner.parts.clear();
    scanner.items.clear();
    return walk_object(
        scanner, bytes, count, readable_count,
        [&](const Walk &walk, ondemand::object &object) noexcept {
            EventScan scan(walk, scanner, event);
            csj_status status = scan.scan(object);
            if (status == csj_ok) { status = walk.check_end(); }
            if (status != csj_ok) { return status; }
            Unescaper unescaper(scanner, count, walk.has_backslash);
            const csj_status judgement = finish(scan, scanner, event, unescaper);
            if (unescaper.status != csj_ok) { return unescaper.status; }
            // Only a delta may be learned, because the pattern accepts any text in the delta's place.
            if (judgement == csj_ok && is_delta(event.type)) {
                scanner.pattern.learn(bytes, count, event, scan.outline);
            }
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
    // The text of the previous event: reading a tree in between does not change it.
    scanner->text_count = 0;
    if (scanner->text_capacity > csj::retained_byte_count) {
        scanner->text.reset();
        scanner->text_capacity = 0;
    }
    if (scanner->pattern.fits(*scanner, bytes, count, *event)) { return csj_ok; }
    return csj::scan_whole(*scanner, bytes, count, readable_count, *event);
}
