// The parts of the walk that are common to all scans: strings, numbers, nesting, memory.
#include "Walk.hpp"

#include <new>

namespace csj {

csj_status status_of(simdjson::error_code error) noexcept {
    switch (error) {
    case simdjson::SUCCESS: return csj_ok;
    case simdjson::UTF8_ERROR: return csj_invalid_utf8;
    case simdjson::DEPTH_ERROR: return csj_too_deep;
    case simdjson::MEMALLOC:
    case simdjson::CAPACITY: return csj_no_memory;
    case simdjson::INSUFFICIENT_PADDING: return csj_no_padding;
    default: return csj_not_json;
    }
}

namespace {

/// Makes room, in powers of two, so that slowly growing events do not cause a reallocation each time.
csj_status make_room(ondemand::parser &parser, size_t count) noexcept {
    if (parser.capacity() >= count) { return csj_ok; }
    size_t wanted = 4096;
    while (wanted < count && wanted < retained_byte_count) { wanted *= 2; }
    if (wanted < count) { wanted = count; }
    return status_of(parser.allocate(wanted, CSJ_MAXIMUM_DEPTH + 2));
}

}  // namespace

csj_status prepare(csj_scanner &scanner, size_t count, ondemand::parser **parser) noexcept {
    thread_local ondemand::parser shared{simdjson::SIMDJSON_MAXSIZE_BYTES};
    scanner.nodes.clear();
    if (count <= retained_byte_count) {
        scanner.large_parser.reset();
        *parser = &shared;
        return make_room(shared, count);
    }
    if (!scanner.large_parser) {
        scanner.large_parser.reset(new (std::nothrow) ondemand::parser(simdjson::SIMDJSON_MAXSIZE_BYTES));
        if (!scanner.large_parser) { return csj_no_memory; }
    }
    *parser = scanner.large_parser.get();
    return make_room(**parser, count);
}

csj_text written(const uint8_t *start, ondemand::value &value) noexcept {
    const char *location = nullptr;
    // An enclosing object follows, so there is a next token.
    if (value.current_location().get(location)) { return {nullptr, 0}; }
    const auto *end = reinterpret_cast<const uint8_t *>(location);
    while (end > start && is_space(end[-1])) { --end; }
    return {start, static_cast<size_t>(end - start)};
}

// MARK: Nesting

csj_status Walk::check_contents(ondemand::value &value, csj_text token, size_t depth) const noexcept {
    if (depth >= CSJ_MAXIMUM_DEPTH) { return csj_too_deep; }
    if (token.bytes[0] == '{') {
        ondemand::object object;
        if (value.get_object().get(object)) { return csj_not_json; }
        return this->each_member(object, [&](csj_text, ondemand::value &member, csj_text inner) noexcept {
            return this->check(member, inner, depth + 1);
        });
    }
    ondemand::array array;
    if (value.get_array().get(array)) { return csj_not_json; }
    return this->each_element(array, [&](ondemand::value &element, csj_text inner) noexcept {
        return this->check(element, inner, depth + 1);
    });
}

csj_status Walk::check_other_root(csj_text whole) const noexcept {
    csj_text token = whole;
    while (token.count > 1 && is_space(token.bytes[token.count - 1])) { --token.count; }
    while (token.count > 1 && is_space(token.bytes[0])) { token = {token.bytes + 1, token.count - 1}; }
    if (token.bytes[0] != '[') {
        if (token.bytes[0] != '"') { return is_scalar(token) ? csj_not_object : csj_not_json; }
        // The first token ends where the next one begins: a string that is the whole text ends the document.
        std::string_view first;
        if (this->document.raw_json_token().get(first)) { return csj_not_json; }
        const bool is_whole = token.count >= 2 && reinterpret_cast<const uint8_t *>(first.data()) == token.bytes
            && first.size() >= token.count && has_valid_escapes({token.bytes + 1, token.count - 2});
        return is_whole ? csj_not_object : csj_not_json;
    }
    ondemand::array array;
    if (this->document.get_array().get(array)) { return csj_not_json; }
    csj_status status = this->each_element(array, [&](ondemand::value &element, csj_text inner) noexcept {
        return this->check(element, inner, 1);
    });
    if (status == csj_ok) { status = this->check_end(); }
    return status == csj_ok ? csj_not_object : status;
}

csj_text Walk::unescaped_key(csj_text key, uint8_t (&buffer)[longest_key]) noexcept {
    constexpr size_t longest_escape = 6;
    if (key.count > longest_key * longest_escape) { return key; }
    if (std::memchr(key.bytes, '\\', key.count) == nullptr) { return key; }
    uint8_t plain[longest_key * longest_escape];
    const size_t count = csj_unescape(key.bytes, key.count, plain);
    if (count > longest_key) { return key; }
    std::memcpy(buffer, plain, count);
    return {buffer, count};
}

// MARK: Scalars

static bool is_digit(uint8_t byte) noexcept { return byte >= '0' && byte <= '9'; }

/// Returns whether a token is a number (RFC 8259 section 6).
static bool is_number(csj_text token) noexcept {
    const uint8_t *byte = token.bytes;
    const uint8_t *const end = byte + token.count;
    if (byte < end && *byte == '-') { ++byte; }
    if (byte == end || !is_digit(*byte)) { return false; }
    if (*byte == '0') {
        ++byte;
    } else {
        while (byte < end && is_digit(*byte)) { ++byte; }
    }
    if (byte < end && *byte == '.') {
        ++byte;
        if (byte == end || !is_digit(*byte)) { return false; }
        while (byte < end && is_digit(*byte)) { ++byte; }
    }
    if (byte < end && (*byte == 'e' || *byte == 'E')) {
        ++byte;
        if (byte < end && (*byte == '+' || *byte == '-')) { ++byte; }
        if (byte == end || !is_digit(*byte)) { return false; }
        while (byte < end && is_digit(*byte)) { ++byte; }
    }
    return byte == end;
}

bool is_scalar(csj_text token) noexcept {
    switch (token.bytes[0]) {
    case 't': return equals(token, "true", 4);
    case 'f': return equals(token, "false", 5);
    case 'n': return equals(token, "null", 4);
    default: return is_number(token);
    }
}

// MARK: Escapes

/// Returns the value of four hexadecimal digits, or -1.
static int32_t hexadecimal(const uint8_t *digits) noexcept {
    int32_t value = 0;
    for (size_t index = 0; index < 4; ++index) {
        const uint8_t digit = digits[index];
        const uint8_t letter = digit | 0x20;
        if (is_digit(digit)) {
            value = value * 16 + (digit - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            value = value * 16 + (letter - 'a' + 10);
        } else {
            return -1;
        }
    }
    return value;
}

bool has_valid_escapes(csj_text contents) noexcept {
    const uint8_t *byte = contents.bytes;
    const uint8_t *const end = byte + contents.count;
    while (byte < end) {
        byte = static_cast<const uint8_t *>(std::memchr(byte, '\\', static_cast<size_t>(end - byte)));
        if (byte == nullptr) { return true; }
        if (end - byte < 2) { return false; }
        switch (byte[1]) {
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
            byte += 2;
            break;
        case 'u':
            if (end - byte < 6 || hexadecimal(byte + 2) < 0) { return false; }
            byte += 6;
            break;
        default:
            return false;
        }
    }
    return true;
}

}  // namespace csj
