// The grammar of JSON's scalars (RFC 8259, sections 3, 6 and 7). Each function expects a whole token.

#ifndef HEADGATE_TOKENS_H
#define HEADGATE_TOKENS_H

#include <cstdint>

namespace headgate {

/// A range of the text.
struct Token {
    const uint8_t *begin;
    const uint8_t *end;
};

/// The longest beginning of a token that is a number, of any size and precision.
struct NumberPart {
    const uint8_t *end;
    /// True if a digit is missing at the end.
    bool lacks_digit;
};

NumberPart number_part(Token token);

inline bool is_number(Token token) {
    const NumberPart part = number_part(token);
    return part.end == token.end && !part.lacks_digit;
}

/// Returns true if the token is `true`, `false` or `null`.
bool is_literal(Token token);

/// Returns the first backslash in the contents of a string that begins no valid escape; null if there is none.
const uint8_t *improper_escape(Token contents);

/// Returns true for JSON's white space.
inline bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

inline bool is_digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

}  // namespace headgate

#endif
