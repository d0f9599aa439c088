// Compares an event with the previous one, and reads the values in its gaps.
#include "EventPattern.hpp"
#include "Unescaper.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace csj {

// MARK: Slots

uintptr_t SlotMemory::number_of(const csj_event &event) noexcept {
    const csj_text identifier = event.item_id;
    const bool has_any = identifier.bytes != nullptr;
    const size_t count = identifier.count;
    if (this->number != 0 && this->type == event.type && this->output_index == event.output_index
        && this->content_index == event.content_index && this->summary_index == event.summary_index
        && this->has_any_identifier == has_any && this->identifier_count == count
        && (count == 0 || std::memcmp(this->identifier, identifier.bytes, count) == 0)) {
        return this->number;
    }
    this->number = 0;
    if (count > longest_identifier) { return 0; }
    if (count > 0) { std::memcpy(this->identifier, identifier.bytes, count); }
    this->type = event.type;
    this->output_index = event.output_index;
    this->content_index = event.content_index;
    this->summary_index = event.summary_index;
    this->has_any_identifier = has_any;
    this->identifier_count = count;
    this->number = ++this->last_number;
    return this->number;
}

// MARK: Learning

/// Returns whether a value differs from that of the stored event, or has differed before.
bool EventPattern::was_other(size_t index, const EventOutline &outline, bool is_item_id) const noexcept {
    const Candidate &candidate = this->candidates[index];
    const csj_text contents = outline.gaps[index].contents;
    if (candidate.is_gap) { return true; }
    if (is_item_id && this->has_fitted) { return false; }
    return candidate.range.count != contents.count
        || std::memcmp(this->text.get() + candidate.range.offset, contents.bytes, contents.count) != 0;
}

EventPattern::Place EventPattern::place_of(csj_text text, const uint8_t *bytes) const noexcept {
    if (text.bytes == nullptr) { return {0, false, {0, 0}}; }
    const size_t offset = static_cast<size_t>(text.bytes - bytes);
    uint8_t literal = 0;
    while (literal + 1 < this->literal_count && this->literals[literal + 1].offset <= offset) { ++literal; }
    const auto inside = static_cast<uint16_t>(offset - this->literals[literal].offset);
    return {literal, true, {inside, static_cast<uint16_t>(text.count)}};
}

bool EventPattern::make_room(size_t count) noexcept {
    if (count <= this->text_capacity) { return true; }
    // Deltas differ by a few bytes. An event that begins with a cache line touches the fewest of them.
    constexpr size_t line = 64;
    const size_t capacity = (count + 2 * line - 1) / line * line;
    auto *const larger = static_cast<uint8_t *>(std::aligned_alloc(line, capacity));
    if (larger == nullptr) { return false; }
    // The values of the event that is kept are compared before it is replaced.
    if (this->text_capacity > 0) { std::memcpy(larger, this->text.get(), this->text_capacity); }
    this->text.reset(larger);
    this->text_capacity = capacity;
    return true;
}

void EventPattern::learn(
    const uint8_t *bytes, size_t count, csj_event &event, const EventOutline &outline
) noexcept {
    event.shape = this->slots.number_of(event);
    if (outline.is_unusable || count > longest_event || !this->make_room(count)) { return; }
    const bool is_same_shape = outline.count == this->candidate_count;
    size_t start = 0;
    uint8_t gap_count = 0;
    this->item_id_gap = no_gap;
    for (size_t index = 0; index < outline.count; ++index) {
        const EventGap &gap = outline.gaps[index];
        const size_t offset = static_cast<size_t>(gap.contents.bytes - bytes);
        const bool is_item_id = gap.kind == EventGap::Kind::item_id;
        const bool may_stay = gap.kind == EventGap::Kind::text || is_item_id;
        const bool is_gap = !may_stay || (is_same_shape && this->was_other(index, outline, is_item_id));
        this->candidates[index] = {
            {static_cast<uint16_t>(offset), static_cast<uint16_t>(gap.contents.count)}, gap.kind, is_gap};
        if (!is_gap) { continue; }
        if (gap.kind == EventGap::Kind::delta) { this->delta_gap = gap_count; }
        if (is_item_id) { this->item_id_gap = gap_count; }
        this->kinds[gap_count] = gap.kind;
        this->literals[gap_count++] = {static_cast<uint16_t>(start), static_cast<uint16_t>(offset - start)};
        start = offset + gap.contents.count;
    }
    this->candidate_count = outline.count;
    this->has_fitted = false;
    this->literals[gap_count] = {static_cast<uint16_t>(start), static_cast<uint16_t>(count - start)};
    std::memcpy(this->text.get(), bytes, count);
    // Escaped names would have other offsets than in the event.
    this->literal_count = 0;
    for (uint8_t index = 0; index <= gap_count; ++index) {
        const Range literal = this->literals[index];
        if (std::memchr(bytes + literal.offset, '\\', literal.count) != nullptr) { return; }
    }
    this->literal_count = static_cast<uint8_t>(gap_count + 1);
    this->type_name = this->place_of(event.type_name, bytes);
    this->stream_id = this->place_of(event.stream_id, bytes);
    this->item_id = this->place_of(this->item_id_gap == no_gap ? event.item_id : csj_text{nullptr, 0}, bytes);
    std::memcpy(&this->facts, &event, sizeof this->facts);
}

// MARK: Reading

namespace {

/// The number of bytes in which the end of a text is searched for at once.
constexpr size_t step = 16;

/// Marks the bytes of a step that are special: quotes, backslashes, control characters, and all but ASCII.
///
/// Returns the offset of the first of them, or `step`.
inline size_t first_special(const uint8_t *bytes) noexcept {
#if defined(__SSE2__)
    const __m128i contents = _mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes));
    // As a signed number every byte outside ASCII is negative.
    const __m128i special = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(contents, _mm_set1_epi8('"')), _mm_cmpeq_epi8(contents, _mm_set1_epi8('\\'))),
        _mm_cmpgt_epi8(_mm_set1_epi8(0x20), contents));
    return static_cast<size_t>(__builtin_ctz(static_cast<unsigned>(_mm_movemask_epi8(special)) | 1u << step));
#else
    size_t offset = 0;
    while (offset < step && bytes[offset] != '"' && bytes[offset] != '\\' && bytes[offset] >= 0x20
           && bytes[offset] < 0x80) {
        ++offset;
    }
    return offset;
#endif
}

/// Returns the end of a text with special bytes, from one of them on; null when it has none, or is not JSON.
const uint8_t *end_byte_by_byte(
    const uint8_t *start, const uint8_t *byte, const uint8_t *end, bool &has_any_escape
) noexcept {
    bool is_ascii = true;
    bool has_escape = false;
    for (; byte < end && *byte != '"'; byte += *byte == '\\' ? 2 : 1) {
        if (*byte < 0x20) { return nullptr; }
        is_ascii = is_ascii && *byte < 0x80;
        has_escape = has_escape || *byte == '\\';
    }
    if (byte >= end) { return nullptr; }
    const csj_text contents{start, static_cast<size_t>(byte - start)};
    if (!is_ascii && !csj_validate_utf8(contents.bytes, contents.count)) { return nullptr; }
    if (has_escape && !has_valid_escapes(contents)) { return nullptr; }
    has_any_escape = has_any_escape || has_escape;
    return byte;
}

/// Returns the quote that ends the text; null when it has none, or is not JSON. Up to 15 bytes past the end are read.
inline const uint8_t *end_of_text(const uint8_t *start, const uint8_t *end, bool &has_any_escape) noexcept {
    for (const uint8_t *byte = start; byte < end; byte += step) {
        const size_t offset = first_special(byte);
        if (offset == step) { continue; }
        byte += offset;
        if (byte < end && *byte == '"') { return byte; }
        return byte < end ? end_byte_by_byte(start, byte, end, has_any_escape) : nullptr;
    }
    return nullptr;
}

/// Returns the end of a non-negative integer that is not too long; null when there is none.
inline const uint8_t *read_integer(const uint8_t *start, const uint8_t *end, int64_t &number) noexcept {
    const uint8_t *byte = start;
    const uint8_t *const limit = static_cast<size_t>(end - start) < longest_integer ? end : start + longest_integer;
    int64_t value = 0;
    for (; byte < limit; ++byte) {
        const unsigned digit = *byte - unsigned{'0'};
        if (digit > 9) { break; }
        value = value * 10 + digit;
    }
    number = value;
    return byte == start || (*start == '0' && byte - start > 1) ? nullptr : byte;
}

}  // namespace

bool EventPattern::fits(
    csj_scanner &scanner, const uint8_t *bytes, size_t count, csj_event &event
) noexcept {
    const size_t last = static_cast<size_t>(this->literal_count) - 1;
    if (this->literal_count == 0) { return false; }
    const uint8_t *byte = bytes;
    const uint8_t *const end = bytes + count;
    const uint8_t *const text = this->text.get();
    const uint8_t *literal_starts[EventOutline::capacity + 1];
    bool has_any_escape = false;
    int64_t number = this->facts.sequence_number;

    for (size_t index = 0;; ++index) {
        const Range literal = this->literals[index];
        if (static_cast<size_t>(end - byte) < literal.count) { return false; }
        if (std::memcmp(byte, text + literal.offset, literal.count) != 0) { return false; }
        literal_starts[index] = byte;
        byte += literal.count;
        if (index == last) { break; }
        byte = this->kinds[index] == EventGap::Kind::number ? read_integer(byte, end, number)
                                                            : end_of_text(byte, end, has_any_escape);
        if (byte == nullptr) { return false; }
    }
    if (byte != end) { return false; }

    const auto start_of = [&literal_starts](const Place &place) noexcept {
        return literal_starts[place.literal] + place.range.offset;
    };
    const auto gap_at = [&](uint8_t gap) noexcept {
        const uint8_t *const start = literal_starts[gap] + this->literals[gap].count;
        return csj_text{start, static_cast<size_t>(literal_starts[gap + 1] - start)};
    };
    std::memcpy(&event, &this->facts, sizeof this->facts);
    event.sequence_number = number;
    event.type_name.bytes = start_of(this->type_name);
    event.delta = gap_at(this->delta_gap);
    event.delta_halves = 0;
    if (this->stream_id.is_there) { event.stream_id.bytes = start_of(this->stream_id); }
    if (this->item_id.is_there) { event.item_id.bytes = start_of(this->item_id); }
    this->has_fitted = true;
    const bool has_item_id_gap = this->item_id_gap != no_gap;
    if (!has_any_escape && !has_item_id_gap) { return true; }
    if (has_item_id_gap) { event.item_id = gap_at(this->item_id_gap); }
    Unescaper unescaper(scanner, count, has_any_escape);
    unescaper.unescape_delta(event);
    if (has_item_id_gap) {
        unescaper.unescape(event.item_id);
        event.shape = this->slots.number_of(event);
    }
    if (unescaper.status == csj_ok) { return true; }
    scanner.text_count = 0;
    return false;
}

}  // namespace csj

bool csj_find_in_frame(
    const csj_frame *frame, size_t gap, const uint8_t *bytes, size_t count, csj_text *found, bool *has_escape
) {
    const uint8_t *byte = bytes;
    const uint8_t *const end = bytes + count;
    size_t start = 0;
    *has_escape = false;
    for (size_t index = 0;; ++index) {
        const bool is_last = index == frame->gap_count;
        const size_t literal = (is_last ? frame->count : frame->gap_starts[index]) - start;
        if (static_cast<size_t>(end - byte) < literal) { return false; }
        if (std::memcmp(byte, frame->bytes + start, literal) != 0) { return false; }
        byte += literal;
        if (is_last) { return byte == end; }
        const uint8_t *const contents = byte;
        byte = csj::end_of_text(byte, end, *has_escape);
        if (byte == nullptr) { return false; }
        if (index == gap) { *found = {contents, static_cast<size_t>(byte - contents)}; }
        start = frame->gap_ends[index];
    }
}
