// Walks a document with simdjson's On-Demand parser and checks every value on the way.
//
// On-Demand checks only the values that are read; here every value is visited, so that accepted text is JSON to the
// last byte. The scanner is owned by the caller.
#pragma once

#include "CSimdjson.h"
#include "EventPattern.hpp"

#define SIMDJSON_EXCEPTIONS 0
// An optimised build of a package does not define `NDEBUG`, which `assert` needs. The assertions stay in debug builds,
// which the tests run.
#if defined(__OPTIMIZE__) && !defined(NDEBUG)
#define NDEBUG 1
#endif
#if !__has_include(<simdjson.h>)
#error "simdjson is missing: Scripts/install.sh installs it"
#endif
#include <simdjson.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace csj {

namespace ondemand = simdjson::ondemand;

/// The capacities that a scanner keeps between calls; memory of a large input beyond them is freed.
constexpr size_t retained_byte_count = 256 << 10;

/// The most digits of an integer that is read, so that every sum of two is in range.
constexpr size_t longest_integer = 18;

/// The longest member name that a visitor can ask for.
constexpr size_t longest_key = 32;

/// A list that grows, in memory that is used again.
template <class Element>
class Growing {
public:
    csj_status append(const Element &element) noexcept {
        if (this->size == this->capacity && !this->grow()) { return csj_no_memory; }
        this->elements.get()[this->size++] = element;
        return csj_ok;
    }

    Element *data() const noexcept { return this->elements.get(); }
    size_t count() const noexcept { return this->size; }

    /// Removes the elements, and frees the memory of a large input.
    void clear() noexcept {
        this->size = 0;
        if (this->capacity * sizeof(Element) > retained_byte_count) {
            this->elements.reset();
            this->capacity = 0;
        }
    }

private:
    bool grow() noexcept {
        const size_t wanted = this->capacity == 0 ? 16 : this->capacity * 2;
        void *memory = std::realloc(static_cast<void *>(this->elements.get()), wanted * sizeof(Element));
        if (memory == nullptr) { return false; }
        static_cast<void>(this->elements.release());
        this->elements.reset(static_cast<Element *>(memory));
        this->capacity = wanted;
        return true;
    }

    std::unique_ptr<Element, Free> elements;
    size_t capacity = 0;
    size_t size = 0;
};

}  // namespace csj

struct csj_scanner {
    /// The parser for inputs larger than `retained_byte_count`; others use the thread's parser.
    std::unique_ptr<simdjson::ondemand::parser> large_parser;
    std::unique_ptr<uint8_t, csj::Free> text;
    size_t text_capacity = 0;
    size_t text_count = 0;
    csj::Growing<csj_node> nodes;
    csj::Growing<csj_part> parts;
    csj::Growing<csj_item> items;
    csj::EventPattern pattern;
};

namespace csj {

csj_status status_of(simdjson::error_code error) noexcept;

/// Frees the memory of a large input, and finds a parser with room for `count` bytes.
///
/// A parser is in use during a call only, and takes 27 KiB. So a thread has one for all scanners, except for large
/// inputs, whose memory is freed with the scanner.
csj_status prepare(csj_scanner &scanner, size_t count, ondemand::parser **parser) noexcept;

/// Checks the escapes in the text between quotes.
bool has_valid_escapes(csj_text contents) noexcept;

/// Checks a number, `true`, `false` or `null` against the grammar of RFC 8259.
bool is_scalar(csj_text token) noexcept;

inline bool is_space(uint8_t byte) noexcept {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

inline bool equals(csj_text text, const char *literal, size_t count) noexcept {
    return text.count == count && std::memcmp(text.bytes, literal, count) == 0;
}

/// Returns a value's first token: a whole scalar, or the bracket that opens a container.
simdjson_inline csj_text token_of(ondemand::value &value) noexcept {
    const std::string_view token = value.raw_json_token();
    size_t count = token.size();
    while (count > 1 && is_space(static_cast<uint8_t>(token[count - 1]))) { --count; }
    return {reinterpret_cast<const uint8_t *>(token.data()), count};
}

/// A document that is being walked.
struct Walk {
    ondemand::document &document;
    /// The end of the document: On-Demand expects matching brackets; without them, it can take a byte of the padding
    /// for a value.
    const uint8_t *end;
    /// Most events contain no backslash: one search of the whole document replaces one for each string.
    bool has_backslash;

    /// Returns whether a value's first token lies in the document.
    simdjson_inline bool is_inside(ondemand::value &value) const noexcept {
        return reinterpret_cast<const uint8_t *>(value.raw_json_token().data()) < this->end;
    }

    /// Checks a value and all it contains; `depth` containers enclose it.
    simdjson_inline csj_status check(ondemand::value &value, csj_text token, size_t depth) const noexcept {
        if (token.bytes[0] == '"') {
            csj_text ignored;
            return this->take_string(value, token, &ignored);
        }
        if (token.bytes[0] == '{' || token.bytes[0] == '[') { return this->check_contents(value, token, depth); }
        // The iteration itself skips a scalar that is not a string.
        return is_scalar(token) ? csj_ok : csj_not_json;
    }

    /// Checks an object or an array and all it contains.
    csj_status check_contents(ondemand::value &value, csj_text token, size_t depth) const noexcept;

    /// Checks, after the outermost object, that no text follows it.
    csj_status check_end() const noexcept {
        return this->document.current_location().error() == simdjson::OUT_OF_BOUNDS ? csj_ok : csj_not_json;
    }

    /// Distinguishes a document whose outermost value is not an object from one that is not JSON.
    csj_status check_other_root(csj_text whole) const noexcept;

    /// Takes a string value; the result is the text between its quotes.
    simdjson_inline csj_status take_string(
        ondemand::value &value, csj_text token, csj_text *contents
    ) const noexcept {
        ondemand::raw_json_string ignored;
        if (token.count < 2 || value.get_raw_json_string().get(ignored)) { return csj_not_json; }
        *contents = {token.bytes + 1, token.count - 2};
        return !this->has_backslash || has_valid_escapes(*contents) ? csj_ok : csj_not_json;
    }

    /// Returns the name of a member as it is written. Only the colon and white space separate it from its value.
    simdjson_inline static csj_text key_of(ondemand::field &field, csj_text value_token) noexcept {
        const auto *start = reinterpret_cast<const uint8_t *>(field.key().raw());
        const uint8_t *end = value_token.bytes - 2;
        // Few servers write white space there.
        if (end[0] != '"' || end[1] != ':') {
            end = value_token.bytes - 1;
            while (*end != ':') { --end; }
            do { --end; } while (*end != '"');
        }
        return {start, static_cast<size_t>(end - start)};
    }

    /// Calls `visit(key, value, token)` for each member; it must take the value or return an error.
    template <class Visit>
    simdjson_inline csj_status each_member(ondemand::object &object, Visit &&visit) const noexcept {
        for (auto result : object) {
            if (result.error()) { return csj_not_json; }
            ondemand::field &&field = std::move(result).value_unsafe();
            ondemand::value &value = field.value();
            if (!this->is_inside(value)) { return csj_not_json; }
            const csj_text token = token_of(value);
            const csj_text key = key_of(field, token);
            if (this->has_backslash && !has_valid_escapes(key)) { return csj_not_json; }
            const csj_status status = visit(key, value, token);
            if (status != csj_ok) { return status; }
        }
        return csj_ok;
    }

    /// Calls `visit(value, token)` for each element; it must take the value or return an error.
    template <class Visit>
    csj_status each_element(ondemand::array &array, Visit &&visit) const noexcept {
        for (auto result : array) {
            if (result.error()) { return csj_not_json; }
            ondemand::value &&value = std::move(result).value_unsafe();
            if (!this->is_inside(value)) { return csj_not_json; }
            const csj_status status = visit(value, token_of(value));
            if (status != csj_ok) { return status; }
        }
        return csj_ok;
    }

    /// Replaces a name with escapes by its characters, if a visitor could ask for it.
    simdjson_inline csj_text plain_key(csj_text key, uint8_t (&buffer)[longest_key]) const noexcept {
        return this->has_backslash ? unescaped_key(key, buffer) : key;
    }

    static csj_text unescaped_key(csj_text key, uint8_t (&buffer)[longest_key]) noexcept;
};

/// Returns a container from `start` to its end, after it was walked to its end.
csj_text written(const uint8_t *start, ondemand::value &value) noexcept;

/// Returns whether a document begins with U+FEFF, which is not JSON (RFC 8259 section 2); simdjson 3.0 refuses it, 3.12
/// skips it.
inline bool begins_with_byte_order_mark(const uint8_t *bytes, size_t count) noexcept {
    return count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF;
}

/// Parses the document, whose outermost value must be an object, and calls `visit(walk, object)`.
///
/// The visitor visits every member and then calls `check_end()`.
template <class Visit>
csj_status walk_object(
    csj_scanner &scanner, const uint8_t *bytes, size_t count, size_t readable_count, Visit &&visit
) noexcept {
    if (readable_count < count || readable_count - count < CSJ_PADDING) { return csj_no_padding; }
    if (count == 0 || begins_with_byte_order_mark(bytes, count)) { return csj_not_json; }
    ondemand::parser *parser = nullptr;
    csj_status status = prepare(scanner, count, &parser);
    if (status != csj_ok) { return status; }
    ondemand::document document;
    simdjson::error_code error = parser->iterate(bytes, count, readable_count).get(document);
    if (error) { return status_of(error); }

    const Walk walk{document, bytes + count, std::memchr(bytes, '\\', count) != nullptr};
    ondemand::object object;
    error = document.get_object().get(object);
    if (error == simdjson::INCORRECT_TYPE) { return walk.check_other_root({bytes, count}); }
    if (error) { return status_of(error); }
    return visit(walk, object);
}

}  // namespace csj
