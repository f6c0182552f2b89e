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

/// How far a token is a number, however large or precise.
struct NumberPart {
    const uint8_t *end;
    /// Whether there should be a digit at the end.
    bool lacks_digit;
};

NumberPart number_part(Token token);

inline bool is_number(Token token) {
    const NumberPart part = number_part(token);
    return part.end == token.end && !part.lacks_digit;
}

/// Whether the token is `true`, `false` or `null`.
bool is_literal(Token token);

/// The first backslash in the inside of a string that begins no proper escape; null when there is none.
const uint8_t *improper_escape(Token contents);

/// White space as JSON has it.
inline bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

inline bool is_digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

}  // namespace headgate

#endif
