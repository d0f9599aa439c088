// The shape of a delta event, by which the next one is read without a full scan. Owned by a scanner.
//
// The deltas of a response differ in a number and one or two texts; the two hundred bytes around these are equal. So
// the last delta event that was scanned is kept. An event that repeats its bytes, with another integer in the place of
// the event's number and other texts in the places of texts, is valid JSON as that one was, and differs only in those
// values. Any other event is scanned.
#pragma once

#include "CSimdjson.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace csj {

struct Free {
    void operator()(void *memory) const noexcept { std::free(memory); }
};

/// A value of an event's outermost object that may differ in the next event.
struct EventGap {
    /// The kind of the value.
    enum class Kind : uint8_t {
        /// The text of the delta.
        delta,
        /// A text that no turn needs.
        text,
        /// The event's number.
        number,
        /// The identifier of the item that the delta is about.
        item_id,
    };

    /// The value: for a text the characters between its quotes.
    csj_text contents;
    Kind kind;
};

/// The result of scanning an event that may be kept.
struct EventOutline {
    /// One bit for each member that a turn needs of a delta event.
    enum Name : uint8_t {
        type = 1,
        delta = 2,
        stream_id = 4,
        output_index = 8,
        content_index = 16,
        summary_index = 32,
        sequence_number = 64,
        item_id = 128,
    };

    static constexpr size_t capacity = 8;

    /// The values that may change, in the order of the document.
    EventGap gaps[capacity];
    size_t count = 0;
    /// Of members with the same name the last one is used: events with two of them are not kept.
    bool is_unusable = false;

    void note(Name name) noexcept {
        if ((this->names & name) != 0) { this->is_unusable = true; }
        this->names |= name;
    }

    void add(EventGap::Kind kind, csj_text contents) noexcept {
        if (this->count == capacity) {
            this->is_unusable = true;
        } else {
            this->gaps[this->count++] = {contents, kind};
        }
    }

private:
    uint8_t names = 0;
};

/// The slot of the previous delta, which has a number that no other slot of the scanner has.
///
/// A slot is the type, the indices and the item's identifier. Only the last one is known: a slot that returns later
/// gets another number.
class SlotMemory {
public:
    /// The number of the slot; 0 for an identifier that is too long.
    uintptr_t number_of(const csj_event &event) noexcept;

private:
    static constexpr size_t longest_identifier = 256;

    /// The number of the previous slot; 0 when there is none.
    uintptr_t number = 0;
    uintptr_t last_number = 0;
    csj_event_type type;
    int64_t output_index, content_index, summary_index;
    bool has_any_identifier;
    size_t identifier_count;
    uint8_t identifier[longest_identifier];
};

/// The members of `csj_event` before `delta`: one copy of all costs less than one for each.
struct DeltaFacts {
    csj_event_type type;
    csj_field wrong_field;
    csj_text type_name, stream_id, item_id;
    int64_t sequence_number, output_index, content_index, summary_index;
    uintptr_t shape;
};

static_assert(offsetof(DeltaFacts, item_id) == offsetof(csj_event, item_id));
static_assert(offsetof(DeltaFacts, summary_index) == offsetof(csj_event, summary_index));
static_assert(offsetof(DeltaFacts, shape) == offsetof(csj_event, shape));
static_assert(sizeof(DeltaFacts) == offsetof(csj_event, delta));

/// One delta event, and the places in which another may differ from it.
class EventPattern {
public:
    /// Keeps a delta event, if it is not too long and its gaps are known, and sets its shape.
    ///
    /// A text that no turn needs counts as a gap when it differed in the previous event: comparing it costs less than
    /// finding its end. An item's identifier counts as one only if no event has fitted since: this distinguishes a
    /// server that changes it with every event from one that begins another item.
    void learn(const uint8_t *bytes, size_t count, csj_event &event, const EventOutline &outline) noexcept;

    /// Reads an event that fits; returns false for any other, of which no value is known then.
    bool fits(csj_scanner &scanner, const uint8_t *bytes, size_t count, csj_event &event) noexcept;

private:
    static constexpr size_t longest_event = 1024;

    /// Some bytes of `text`.
    struct Range {
        uint16_t offset;
        uint16_t count;
    };

    /// A value that may change.
    struct Candidate {
        Range range;
        EventGap::Kind kind;
        bool is_gap;
    };

    /// The place of an event's text that does not change: its literal, and the offset in it.
    struct Place {
        uint8_t literal;
        /// Indicates whether the event has such a text.
        bool is_there;
        Range range;
    };

    static constexpr uint8_t no_gap = EventOutline::capacity;

    /// Makes room for an event of `count` bytes, with the bytes that are kept; returns false without memory.
    bool make_room(size_t count) noexcept;
    bool was_other(size_t index, const EventOutline &outline, bool is_item_id) const noexcept;
    Place place_of(csj_text text, const uint8_t *bytes) const noexcept;

    /// The number of gaps plus one; 0 before the first event is kept.
    uint8_t literal_count = 0;
    /// The index of the delta's gap.
    uint8_t delta_gap = 0;
    EventGap::Kind kinds[EventOutline::capacity];
    /// The bytes before a gap, or behind the last one.
    Range literals[EventOutline::capacity + 1];
    /// The index of the item identifier's gap; `no_gap` when the identifier is one of the texts that do not change.
    uint8_t item_id_gap = no_gap;
    Place type_name, stream_id, item_id;
    /// Indicates whether an event has fitted since one was kept.
    bool has_fitted = false;
    /// The facts of the event that is kept.
    DeltaFacts facts;
    SlotMemory slots;
    size_t candidate_count = 0;
    Candidate candidates[EventOutline::capacity];
    /// The event that is kept, in memory of about its size; null before the first.
    std::unique_ptr<uint8_t, Free> text;
    size_t text_capacity = 0;
};

}  // namespace csj
