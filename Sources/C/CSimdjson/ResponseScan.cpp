// Scans a response: identity, outcome, usage, output.
#include "ResponseScan.hpp"

namespace csj {

csj_status ResponseScan::take(ondemand::value &value, csj_text token) noexcept {
    csj_response &response = this->response;
    response = csj_response{};
    response.end_turn = -1;
    this->forget_usage();
    this->is_there = token.bytes[0] == '{';
    this->wrong_texts = 0;
    if (!this->is_there) { return this->walk.check(value, token, 1); }
    const csj_status status = this->take_members(
        value, token, 1, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
            return this->take_member(key, member, inner);
        }
    );
    response.json = written(token.bytes, value);
    return status;
}

csj_status ResponseScan::take_member(csj_text key, ondemand::value &value, csj_text token) noexcept {
    csj_response &response = this->response;
    uint8_t &wrong = this->wrong_texts;
    if (equals(key, "id", 2)) { return this->take_needed(value, token, response.id, 2, wrong, 0); }
    if (equals(key, "status", 6)) { return this->take_needed(value, token, response.status, 2, wrong, 1); }
    if (equals(key, "model", 5)) { return this->take_fact(value, token, response.model, 2); }
    if (equals(key, "service_tier", 12)) { return this->take_fact(value, token, response.service_tier, 2); }
    if (equals(key, "output", 6)) {
        return ItemScan(this->walk, this->scanner).take_list(value, token, 2, response.output, response.is_output_cut);
    }
    if (equals(key, "end_turn", 8)) {
        response.end_turn = token.bytes[0] == 't' ? 1 : token.bytes[0] == 'f' ? 0 : -1;
        return this->walk.check(value, token, 2);
    }
    if (equals(key, "error", 5)) { return this->take_error(value, token); }
    if (equals(key, "incomplete_details", 18)) { return this->take_incomplete_details(value, token); }
    if (equals(key, "usage", 5)) { return this->take_usage(value, token); }
    return this->walk.check(value, token, 2);
}

csj_status ResponseScan::take_error(ondemand::value &value, csj_text token) noexcept {
    csj_response &response = this->response;
    response.error_code = response.error_type = response.error_message = csj_text{nullptr, 0};
    return this->take_members(value, token, 2, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
        if (equals(key, "code", 4)) { return this->take_fact(member, inner, response.error_code, 3); }
        if (equals(key, "type", 4)) { return this->take_fact(member, inner, response.error_type, 3); }
        if (equals(key, "message", 7)) { return this->take_fact(member, inner, response.error_message, 3); }
        return this->walk.check(member, inner, 3);
    });
}

csj_status ResponseScan::take_incomplete_details(ondemand::value &value, csj_text token) noexcept {
    csj_text &reason = this->response.incomplete_reason;
    reason = csj_text{nullptr, 0};
    return this->take_members(value, token, 2, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
        if (equals(key, "reason", 6)) { return this->take_fact(member, inner, reason, 3); }
        return this->walk.check(member, inner, 3);
    });
}

csj_status ResponseScan::take_usage(ondemand::value &value, csj_text token) noexcept {
    csj_response &response = this->response;
    this->forget_usage();
    return this->take_members(value, token, 2, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
        if (equals(key, "input_tokens", 12)) { return this->take_integer(member, inner, response.input_tokens, 3); }
        if (equals(key, "output_tokens", 13)) { return this->take_integer(member, inner, response.output_tokens, 3); }
        if (equals(key, "total_tokens", 12)) { return this->take_integer(member, inner, response.total_tokens, 3); }
        if (equals(key, "input_tokens_details", 20)) {
            return this->take_one_integer(member, inner, "cached_tokens", response.cached_tokens);
        }
        if (equals(key, "output_tokens_details", 21)) {
            return this->take_one_integer(member, inner, "reasoning_tokens", response.reasoning_tokens);
        }
        return this->walk.check(member, inner, 3);
    });
}

csj_status ResponseScan::take_one_integer(
    ondemand::value &value, csj_text token, const char *name, int64_t &field
) noexcept {
    field = absent;
    return this->take_members(value, token, 3, [&](csj_text key, ondemand::value &member, csj_text inner) noexcept {
        if (equals(key, name, std::strlen(name))) { return this->take_integer(member, inner, field, 4); }
        return this->walk.check(member, inner, 4);
    });
}

void ResponseScan::forget_usage() noexcept {
    csj_response &response = this->response;
    response.input_tokens = response.cached_tokens = response.output_tokens = absent;
    response.reasoning_tokens = response.total_tokens = absent;
}

// MARK: Unescaping

void unescape(csj_response &response, csj_item *items, csj_part *parts, Unescaper &unescaper) noexcept {
    for (csj_text *text : {
             &response.id, &response.status, &response.model, &response.service_tier, &response.error_code,
             &response.error_type, &response.error_message, &response.incomplete_reason,
         }) {
        unescaper.unescape(*text);
    }
    for (size_t index = 0; index < response.output.count; ++index) {
        unescape(items[response.output.start + index], parts, unescaper);
    }
}

}  // namespace csj
