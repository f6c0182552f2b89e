#include "Tokens.h"

#include <cstring>

namespace headgate {

namespace {

bool equals(Token token, const char *word, size_t length) {
    return size_t(token.end - token.begin) == length && std::memcmp(token.begin, word, length) == 0;
}

/// Returns true if eight bytes are digits, in a few instructions: the upper half of each byte is 3, also after adding
/// six.
bool are_digits(const uint8_t *at) {
    constexpr uint64_t upper_halves = 0xF0F0'F0F0'F0F0'F0F0, of_digits = 0x3030'3030'3030'3030;
    uint64_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return (bytes & upper_halves) == of_digits && ((bytes + 0x0606'0606'0606'0606) & upper_halves) == of_digits;
}

const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end) {
    while (end - at >= 8 && are_digits(at)) at += 8;
    while (at < end && is_digit(*at)) ++at;
    return at;
}

bool is_hex_digit(uint8_t byte) {
    const uint8_t lower = byte | 0x20;
    return is_digit(byte) || (lower >= 'a' && lower <= 'f');
}

/// Returns the length of the escape that begins with the backslash at `at`; 0 if it is not valid.
size_t escape_length(const uint8_t *at, const uint8_t *end) {
    if (end - at < 2) return 0;
    if (at[1] != 'u') return std::memchr("\"\\/bfnrt", at[1], 8) == nullptr ? 0 : 2;
    if (end - at < 6) return 0;
    return is_hex_digit(at[2]) && is_hex_digit(at[3]) && is_hex_digit(at[4]) && is_hex_digit(at[5]) ? 6 : 0;
}

}  // namespace

NumberPart number_part(Token token) {
    const uint8_t *at = token.begin;
    if (at < token.end && *at == '-') ++at;
    const uint8_t *whole = at;
    at = at < token.end && *at == '0' ? at + 1 : skip_digits(at, token.end);
    if (at == whole) return {at, true};
    if (at < token.end && *at == '.') {
        const uint8_t *fraction = at + 1;
        at = skip_digits(fraction, token.end);
        if (at == fraction) return {at, true};
    }
    if (at < token.end && (*at | 0x20) == 'e') {
        ++at;
        if (at < token.end && (*at == '+' || *at == '-')) ++at;
        const uint8_t *exponent = at;
        at = skip_digits(exponent, token.end);
        if (at == exponent) return {at, true};
    }
    return {at, false};
}

bool is_literal(Token token) {
    switch (*token.begin) {
    case 't': return equals(token, "true", 4);
    case 'f': return equals(token, "false", 5);
    case 'n': return equals(token, "null", 4);
    default: return false;
    }
}

const uint8_t *improper_escape(Token contents) {
    const uint8_t *at = contents.begin;
    while (at < contents.end) {
        at = static_cast<const uint8_t *>(std::memchr(at, '\\', size_t(contents.end - at)));
        if (at == nullptr) return nullptr;
        const size_t length = escape_length(at, contents.end);
        if (length == 0) return at;
        at += length;
    }
    return nullptr;
}

}  // namespace headgate
