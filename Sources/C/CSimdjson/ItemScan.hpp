// An output item and the texts in its parts. The results lie in the scanner's lists until its next event.
#pragma once

#include "MemberScan.hpp"
#include "Unescaper.hpp"

namespace csj {

/// Scans items and parts of items. `depth` containers enclose them.
class ItemScan : private MemberScan {
public:
    ItemScan(const Walk &walk, csj_scanner &scanner) noexcept : MemberScan(walk), scanner(scanner) {}

    /// Takes an item; it has no members when the value is not an object.
    csj_status take(ondemand::value &value, csj_text token, size_t depth, csj_item &item) noexcept;

    /// Takes a list of items. The last list is used: the scanner drops the items of an earlier one.
    csj_status take_list(
        ondemand::value &value, csj_text token, size_t depth, csj_range &items, bool &is_cut
    ) noexcept;

    /// Takes one part; its kind is none when it has no known text.
    csj_status take_part(ondemand::value &value, csj_text token, size_t depth, csj_part &part) noexcept;

private:
    csj_status take_member(
        csj_text key, ondemand::value &value, csj_text token, size_t depth, csj_item &item
    ) noexcept;
    csj_status take_payload(ondemand::value &value, csj_text token, size_t depth, csj_item &item) noexcept;
    csj_status take_role(ondemand::value &value, csj_text token, size_t depth, csj_text &role) noexcept;
    csj_status take_agent(ondemand::value &value, csj_text token, size_t depth, csj_text &name) noexcept;
    csj_status take_parts(ondemand::value &value, csj_text token, size_t depth, csj_range &parts) noexcept;

    csj_scanner &scanner;
};

/// Replaces the escapes in the texts of an item, its parts included.
void unescape(csj_item &item, csj_part *parts, Unescaper &unescaper) noexcept;

}  // namespace csj
