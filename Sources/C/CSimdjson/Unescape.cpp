// Converts the text between a JSON string's quotes to its characters. Pure; the string was checked before.
#include "CSimdjson.h"

#include <cstring>

namespace {

constexpr uint32_t replacement_character = 0xFFFD;

uint32_t hexadecimal(const uint8_t *digits) noexcept {
    uint32_t value = 0;
    for (size_t index = 0; index < 4; ++index) {
        const uint32_t digit = digits[index];
        value = value * 16 + (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return value;
}

/// Writes at most four bytes: never more than the escape that they replace.
uint8_t *append(uint32_t scalar, uint8_t *output) noexcept {
    if (scalar < 0x80) {
        *output++ = static_cast<uint8_t>(scalar);
        return output;
    }
    if (scalar < 0x800) {
        *output++ = static_cast<uint8_t>(0xC0 | (scalar >> 6));
    } else {
        if (scalar < 0x10000) {
            *output++ = static_cast<uint8_t>(0xE0 | (scalar >> 12));
        } else {
            *output++ = static_cast<uint8_t>(0xF0 | (scalar >> 18));
            *output++ = static_cast<uint8_t>(0x80 | ((scalar >> 12) & 0x3F));
        }
        *output++ = static_cast<uint8_t>(0x80 | ((scalar >> 6) & 0x3F));
    }
    *output++ = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
    return output;
}

/// Takes `\uXXXX`, with the second half if it is the first of a pair. Half of a pair alone has no scalar value.
uint32_t take_unicode(const uint8_t *&byte, const uint8_t *end) noexcept {
    const uint32_t first = hexadecimal(byte + 2);
    byte += 6;
    if (first < 0xD800 || first > 0xDFFF) { return first; }
    if (first > 0xDBFF || end - byte < 6 || byte[0] != '\\' || byte[1] != 'u') { return replacement_character; }
    const uint32_t second = hexadecimal(byte + 2);
    if (second < 0xDC00 || second > 0xDFFF) { return replacement_character; }
    byte += 6;
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
}

uint8_t plain(uint8_t escaped) noexcept {
    switch (escaped) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return escaped;
    }
}

}  // namespace

uint32_t csj_surrogate_halves(const uint8_t *bytes, size_t count) {
    if (count < 6) { return 0; }
    uint32_t halves = 0;
    if (bytes[0] == '\\' && bytes[1] == 'u') {
        const uint32_t first = hexadecimal(bytes + 2);
        if (first >= 0xDC00 && first <= 0xDFFF) { halves = first; }
    }
    const size_t start = count - 6;
    if (bytes[start] != '\\' || bytes[start + 1] != 'u') { return halves; }
    // A backslash behind an odd number of backslashes is a character, not an escape.
    size_t backslashes = 0;
    while (backslashes < start && bytes[start - 1 - backslashes] == '\\') { ++backslashes; }
    const uint32_t last = hexadecimal(bytes + start + 2);
    if (backslashes % 2 == 0 && last >= 0xD800 && last <= 0xDBFF) { halves |= last << 16; }
    return halves;
}

size_t csj_unescape(const uint8_t *bytes, size_t count, uint8_t *output) {
    const uint8_t *byte = bytes;
    const uint8_t *const end = bytes + count;
    uint8_t *const start = output;
    while (byte < end) {
        const auto *escape = static_cast<const uint8_t *>(std::memchr(byte, '\\', static_cast<size_t>(end - byte)));
        const size_t literal_count = static_cast<size_t>((escape == nullptr ? end : escape) - byte);
        std::memcpy(output, byte, literal_count);
        output += literal_count;
        byte += literal_count;
        if (escape == nullptr) { break; }
        if (byte[1] == 'u') {
            output = append(take_unicode(byte, end), output);
        } else {
            *output++ = plain(byte[1]);
            byte += 2;
        }
    }
    return static_cast<size_t>(output - start);
}
