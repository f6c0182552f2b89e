// The walk over the tokens that simdjson's first stage has found.

#ifndef HEADGATE_WALK_H
#define HEADGATE_WALK_H

#include "CSimdjson.h"

namespace headgate {

/// The offsets of a text's tokens: of every bracket, colon and comma, and of the first byte of every string, number and
/// word. A token extends to the next one, except for white space at its end. The last offset is followed by the text's
/// length.
struct Tokens {
    const uint8_t *text;
    uint32_t length;
    const uint32_t *starts;
    uint32_t count;
};

/// Checks the grammar and writes the entries, in one pass and without recursion. There must be room for one entry per
/// token.
hg_json_fault walk(Tokens tokens, hg_json_entry *entries, uint32_t max_depth);

/// The grammar's expectation for the next token.
enum class Expected { value, name, colon, comma, nothing };

/// The position at which a walk stopped.
struct Stop {
    /// The index of the token; the number of tokens if all were taken.
    uint32_t token;
    Expected expected;
    /// The container at that position: an array, an object, or null outside of both.
    hg_json_kind container;
};

/// Walks over tokens that are not valid JSON, at any depth, and returns the position of the first error.
Stop walk_to_fault(Tokens tokens, hg_json_entry *entries);

}  // namespace headgate

#endif
