// The members of a response object that a turn needs.
#pragma once

#include "ItemScan.hpp"

namespace csj {

/// Scans one response. Of several the last one is used.
class ResponseScan : private MemberScan {
public:
    ResponseScan(const Walk &walk, csj_scanner &scanner, csj_response &response) noexcept
        : MemberScan(walk), scanner(scanner), response(response) {}

    /// Takes the response in an event.
    csj_status take(ondemand::value &value, csj_text token) noexcept;

    /// Indicates whether the last value was an object; only then `response` has been written.
    bool is_there = false;
    /// A bit for each text that has the wrong type; of members with the same name the last one is used.
    uint8_t wrong_texts = 0;

private:
    csj_status take_member(csj_text key, ondemand::value &value, csj_text token) noexcept;
    csj_status take_error(ondemand::value &value, csj_text token) noexcept;
    csj_status take_incomplete_details(ondemand::value &value, csj_text token) noexcept;
    csj_status take_usage(ondemand::value &value, csj_text token) noexcept;
    csj_status take_one_integer(ondemand::value &value, csj_text token, const char *name, int64_t &field) noexcept;
    void forget_usage() noexcept;

    csj_scanner &scanner;
    csj_response &response;
};

/// Replaces the escapes in the texts of a response, its output included.
void unescape(csj_response &response, csj_item *items, csj_part *parts, Unescaper &unescaper) noexcept;

}  // namespace csj
