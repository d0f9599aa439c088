// Scans items: their texts, and the texts of their parts, with members in any order.
#include "ItemScan.hpp"

namespace csj {
namespace {

/// The members of a part that determine its text.
struct PartMembers {
    TextField type, text, refusal;
};

/// Returns the kind of a part by its type, whose name may be written with escapes.
csj_part_kind kind_of(const Walk &walk, const TextField &type) noexcept {
    if (type.has_wrong_type) { return csj_part_none; }
    if (type.contents.bytes == nullptr || type.contents.count == 0) { return csj_part_untyped; }
    uint8_t buffer[longest_key];
    const csj_text name = walk.plain_key(type.contents, buffer);
    if (equals(name, "output_text", 11) || equals(name, "text", 4)) { return csj_part_text; }
    if (equals(name, "refusal", 7)) { return csj_part_refusal; }
    if (equals(name, "summary_text", 12)) { return csj_part_reasoning_summary; }
    if (equals(name, "reasoning_text", 14)) { return csj_part_reasoning_text; }
    return csj_part_none;
}

}  // namespace

// MARK: Items

csj_status ItemScan::take(ondemand::value &value, csj_text token, size_t depth, csj_item &item) noexcept {
    item = csj_item{};
    if (token.bytes[0] != '{') { return this->walk.check(value, token, depth); }
    const csj_status status = this->take_members(
        value, token, depth, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
            return this->take_member(key, member, inner, depth + 1, item);
        }
    );
    item.json = written(token.bytes, value);
    return status;
}

csj_status ItemScan::take_list(
    ondemand::value &value, csj_text token, size_t depth, csj_range &items, bool &is_cut
) noexcept {
    this->scanner.items.clear();
    is_cut = false;
    const csj_status status = this->take_elements(
        value, token, depth, [&](ondemand::value &element, csj_text inner) noexcept {
            // An element of one or two bytes takes two hundred in the list.
            if (this->scanner.items.count() == CSJ_MAXIMUM_OUTPUT_COUNT) {
                is_cut = true;
                return this->walk.check(element, inner, depth + 1);
            }
            csj_item item;
            const csj_status result = this->take(element, inner, depth + 1, item);
            return result == csj_ok ? this->scanner.items.append(item) : result;
        }
    );
    items = {0, this->scanner.items.count()};
    return status;
}

csj_status ItemScan::take_member(
    csj_text key, ondemand::value &value, csj_text token, size_t depth, csj_item &item
) noexcept {
    uint8_t &wrong = item.wrong_texts;
    if (equals(key, "type", 4)) { return this->take_needed(value, token, item.type, depth, wrong, 0); }
    if (equals(key, "id", 2)) { return this->take_needed(value, token, item.id, depth, wrong, 1); }
    if (equals(key, "status", 6)) { return this->take_needed(value, token, item.status, depth, wrong, 2); }
    if (equals(key, "call_id", 7)) { return this->take_needed(value, token, item.call_id, depth, wrong, 3); }
    if (equals(key, "name", 4)) { return this->take_needed(value, token, item.name, depth, wrong, 4); }
    if (equals(key, "namespace", 9)) {
        return this->take_needed(value, token, item.namespace_name, depth, wrong, 5);
    }
    if (equals(key, "arguments", 9) || equals(key, "input", 5)) {
        item.is_input = equals(key, "input", 5);
        return this->take_payload(value, token, depth, item);
    }
    if (equals(key, "content", 7)) { return this->take_parts(value, token, depth, item.content); }
    if (equals(key, "summary", 7)) { return this->take_parts(value, token, depth, item.summary); }
    if (equals(key, "role", 4)) { return this->take_role(value, token, depth, item.role); }
    if (equals(key, "agent", 5)) { return this->take_agent(value, token, depth, item.agent_name); }
    return this->walk.check(value, token, depth);
}

/// Takes a call's arguments; some servers send an object instead of a text, whose JSON is then the text.
csj_status ItemScan::take_payload(ondemand::value &value, csj_text token, size_t depth, csj_item &item) noexcept {
    if (token.bytes[0] == '"') {
        item.has_json_payload = false;
        return this->walk.take_string(value, token, &item.payload);
    }
    const csj_status status = this->walk.check(value, token, depth);
    const bool is_container = token.bytes[0] == '{' || token.bytes[0] == '[';
    item.payload = token.bytes[0] == 'n' ? csj_text{nullptr, 0} : token;
    if (status == csj_ok && is_container) { item.payload = written(token.bytes, value); }
    item.has_json_payload = true;
    return status;
}

csj_status ItemScan::take_role(ondemand::value &value, csj_text token, size_t depth, csj_text &role) noexcept {
    TextField field;
    const csj_status status = this->take_text(value, token, field, depth);
    role = field.contents;
    return status;
}

csj_status ItemScan::take_agent(ondemand::value &value, csj_text token, size_t depth, csj_text &name) noexcept {
    name = csj_text{nullptr, 0};
    return this->take_members(value, token, depth, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
        if (!equals(key, "agent_name", 10)) { return this->walk.check(member, inner, depth + 1); }
        TextField field;
        const csj_status status = this->take_text(member, inner, field, depth + 1);
        name = field.contents;
        return status;
    });
}

// MARK: Parts

csj_status ItemScan::take_parts(ondemand::value &value, csj_text token, size_t depth, csj_range &parts) noexcept {
    // Of two lists with the same name the last one is used; the parts of the first stay unused.
    const size_t start = this->scanner.parts.count();
    int64_t index = 0;
    if (token.bytes[0] == '"') {
        csj_part part{0, csj_part_text, {nullptr, 0}};
        csj_status status = this->walk.take_string(value, token, &part.text);
        if (status == csj_ok) { status = this->scanner.parts.append(part); }
        parts = {start, this->scanner.parts.count() - start};
        return status;
    }
    const csj_status status = this->take_elements(
        value, token, depth, [&](ondemand::value &element, csj_text inner) noexcept {
            csj_part part;
            const csj_status result = this->take_part(element, inner, depth + 1, part);
            part.index = index++;
            return result == csj_ok && part.kind != csj_part_none ? this->scanner.parts.append(part) : result;
        }
    );
    parts = {start, this->scanner.parts.count() - start};
    return status;
}

csj_status ItemScan::take_part(ondemand::value &value, csj_text token, size_t depth, csj_part &part) noexcept {
    PartMembers members;
    part = csj_part{0, csj_part_none, {nullptr, 0}};
    const csj_status status = this->take_members(
        value, token, depth, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
            if (equals(key, "type", 4)) { return this->take_text(member, inner, members.type, depth + 1); }
            if (equals(key, "text", 4)) { return this->take_text(member, inner, members.text, depth + 1); }
            if (equals(key, "refusal", 7)) { return this->take_text(member, inner, members.refusal, depth + 1); }
            return this->walk.check(member, inner, depth + 1);
        }
    );
    if (status != csj_ok) { return status; }
    const csj_part_kind kind = kind_of(this->walk, members.type);
    part.text = kind == csj_part_refusal ? members.refusal.contents : members.text.contents;
    if (part.text.bytes != nullptr) { part.kind = kind; }
    return csj_ok;
}

// MARK: Unescaping

void unescape(csj_item &item, csj_part *parts, Unescaper &unescaper) noexcept {
    for (csj_text *text : {
             &item.type, &item.id, &item.status, &item.call_id, &item.name, &item.namespace_name, &item.agent_name,
             &item.role,
         }) {
        unescaper.unescape(*text);
    }
    if (!item.has_json_payload) { unescaper.unescape(item.payload); }
    for (const csj_range range : {item.content, item.summary}) {
        for (size_t index = 0; index < range.count; ++index) { unescaper.unescape(parts[range.start + index].text); }
    }
}

}  // namespace csj
