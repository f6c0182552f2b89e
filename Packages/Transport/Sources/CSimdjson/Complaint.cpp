#include "Complaint.h"

namespace headgate {

namespace {

struct Complaint {
    const uint8_t *at;
    hg_json_lack lack;
};

hg_json_lack behind_value(hg_json_kind container) {
    switch (container) {
    case HG_JSON_ARRAY: return HG_JSON_LACKS_COMMA_IN_ARRAY;
    case HG_JSON_OBJECT: return HG_JSON_LACKS_COMMA_IN_OBJECT;
    default: return HG_JSON_LACKS_END;
    }
}

hg_json_lack lack_of(Stop stop) {
    switch (stop.expected) {
    case Expected::value: return HG_JSON_LACKS_VALUE;
    case Expected::name: return HG_JSON_LACKS_NAME;
    case Expected::colon: return HG_JSON_LACKS_COLON;
    case Expected::comma:
    case Expected::nothing: break;
    }
    return behind_value(stop.container);
}

bool takes_string(Stop stop) {
    const hg_json_lack lack = lack_of(stop);
    return lack == HG_JSON_LACKS_VALUE || lack == HG_JSON_LACKS_NAME;
}

/// Returns the error if the walk took all tokens before the end or before the broken string.
Complaint at_end(Stop stop, BrokenString broken) {
    if (broken.begin == broken.at) return {broken.at, HG_JSON_LACKS_REST};
    if (takes_string(stop)) return {broken.at, broken.lack};
    return {broken.begin, lack_of(stop)};
}

/// Returns the error if the walk stopped at a token, whose beginning may be valid.
Complaint at_token(Stop stop, Token token) {
    if (*token.begin == '"' && takes_string(stop)) {
        const uint8_t *escape = improper_escape({token.begin + 1, token.end});
        if (escape == nullptr) return {token.begin, lack_of(stop)};
        if (escape[1] == 'u') return {escape + 2, HG_JSON_LACKS_HEX_DIGITS};
        return {escape + 1, HG_JSON_LACKS_ESCAPE};
    }
    const bool is_number = *token.begin == '-' || is_digit(*token.begin);
    if (!is_number || lack_of(stop) != HG_JSON_LACKS_VALUE) return {token.begin, lack_of(stop)};
    const NumberPart number = number_part(token);
    return {number.end, number.lacks_digit ? HG_JSON_LACKS_DIGIT : behind_value(stop.container)};
}

/// Returns a token with the white space after it, up to the next token or the end of the text.
Token token_at(Tokens tokens, uint32_t place) {
    const uint32_t end = place + 1 < tokens.count ? tokens.starts[place + 1] : tokens.length;
    return {tokens.text + tokens.starts[place], tokens.text + end};
}

}  // namespace

// simdjson treats any byte after a backslash as escaped, also outside of strings. This function does so as well, to
// find the same strings.
BrokenString broken_string(Token text) {
    const uint8_t *begin = nullptr;
    bool is_escaped = false;
    for (const uint8_t *at = text.begin; at < text.end; ++at) {
        if (begin != nullptr && *at < 0x20) return {begin, at, HG_JSON_LACKS_ESCAPED_CONTROL};
        if (*at == '"' && !is_escaped) begin = begin == nullptr ? at : nullptr;
        is_escaped = *at == '\\' && !is_escaped;
    }
    return {begin == nullptr ? text.end : begin, text.end, HG_JSON_LACKS_CLOSING_QUOTE};
}

hg_json_problem complaint(Tokens tokens, Stop stop, BrokenString broken) {
    const Complaint found = stop.token == tokens.count ? at_end(stop, broken) : at_token(stop, token_at(tokens, stop.token));
    return {uint32_t(found.at - tokens.text), uint8_t(found.lack)};
}

}  // namespace headgate
