// The grammar of JSON's scalars (RFC 8259, sections 3, 6 and 7). Each function is given a whole token.

#ifndef HEADGATE_TOKENS_H
#define HEADGATE_TOKENS_H

#include <cstdint>

namespace headgate {

/// A piece of the text.
struct Token {
    const uint8_t *begin;
    const uint8_t *end;
};

/// Whether the token is a number, however large or precise.
bool is_number(Token token);

/// Whether the token is `true`, `false` or `null`.
bool is_literal(Token token);

/// Whether every backslash in the inside of a string begins a proper escape.
bool has_proper_escapes(Token contents);

/// White space as JSON has it.
inline bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

inline bool is_digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

}  // namespace headgate

#endif
