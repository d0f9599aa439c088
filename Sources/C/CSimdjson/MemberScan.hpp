// Takes the values of members that a turn needs: texts, integers, objects. A scan lives during one call.
#pragma once

#include "Walk.hpp"

namespace csj {

constexpr int64_t absent = -1;

/// A member whose value is text, or was of another type.
struct TextField {
    csj_text contents{nullptr, 0};
    bool has_wrong_type = false;
};

/// Returns a non-negative integer that is not too long.
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

/// The state that the scans of all objects share. `depth` containers enclose the value.
class MemberScan {
protected:
    explicit MemberScan(const Walk &walk) noexcept : walk(walk) {}

    csj_status take_text(ondemand::value &value, csj_text token, TextField &field, size_t depth) const noexcept {
        field = TextField{};
        if (token.bytes[0] == '"') { return this->walk.take_string(value, token, &field.contents); }
        field.has_wrong_type = token.bytes[0] != 'n';
        return this->walk.check(value, token, depth);
    }

    csj_status take_integer(ondemand::value &value, csj_text token, int64_t &field, size_t depth) const noexcept {
        field = integer_of(token);
        // Such an integer needs no other check.
        return field == absent ? this->walk.check(value, token, depth) : csj_ok;
    }

    /// Takes a text of an item or a response, where another type makes the whole object useless; `number` is the text's
    /// own.
    csj_status take_needed(
        ondemand::value &value, csj_text token, csj_text &text, size_t depth, uint8_t &wrong_texts, unsigned number
    ) const noexcept {
        TextField field;
        const csj_status status = this->take_text(value, token, field, depth);
        text = field.contents;
        const uint8_t bit = static_cast<uint8_t>(1U << number);
        wrong_texts = static_cast<uint8_t>(field.has_wrong_type ? wrong_texts | bit : wrong_texts & ~bit);
        return status;
    }

    /// Takes an optional text; a number or a Boolean in its place is given as it is written.
    csj_status take_fact(ondemand::value &value, csj_text token, csj_text &text, size_t depth) const noexcept {
        TextField field;
        const csj_status status = this->take_text(value, token, field, depth);
        const bool is_container = token.bytes[0] == '{' || token.bytes[0] == '[';
        text = field.has_wrong_type && !is_container ? token : field.contents;
        return status;
    }

    /// Visits the members of a value that should be an object; any other value is checked and skipped.
    template <class Visit>
    csj_status take_members(ondemand::value &value, csj_text token, size_t depth, Visit &&visit) const noexcept {
        if (token.bytes[0] != '{') { return this->walk.check(value, token, depth); }
        ondemand::object object;
        if (value.get_object().get(object)) { return csj_not_json; }
        return this->walk.each_member(object, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
            uint8_t buffer[longest_key];
            return visit(this->walk.plain_key(key, buffer), member, inner);
        });
    }

    /// Visits the elements of a value that should be an array; any other value is checked and skipped.
    template <class Visit>
    csj_status take_elements(ondemand::value &value, csj_text token, size_t depth, Visit &&visit) const noexcept {
        if (token.bytes[0] != '[') { return this->walk.check(value, token, depth); }
        ondemand::array array;
        if (value.get_array().get(array)) { return csj_not_json; }
        return this->walk.each_element(array, visit);
    }

    const Walk &walk;
};

}  // namespace csj
