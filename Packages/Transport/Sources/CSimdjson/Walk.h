// The walk over the tokens that simdjson's first stage has found.

#ifndef HEADGATE_WALK_H
#define HEADGATE_WALK_H

#include "CSimdjson.h"

namespace headgate {

/// Where the tokens of a text begin: every bracket, colon and comma, and the first byte of every string, number and
/// word. What is between two of them belongs to the first, but for white space at its end. Behind the last stands the text's length.
struct Tokens {
    const uint8_t *text;
    uint32_t length;
    const uint32_t *starts;
    uint32_t count;
};

/// Checks the grammar and writes down the entries, in one pass and without recursion. There must be room for one entry
/// a token.
hg_json_fault walk(Tokens tokens, hg_json_entry *entries, uint32_t max_depth);

/// What may stand at the next token.
enum class Expected { value, name, colon, comma, nothing };

/// How far a walk came.
struct Stop {
    /// The number of the token at which it ended: their count, when it took them all.
    uint32_t token;
    Expected expected;
    /// What the place is in: an array, an object, or null outside of both.
    hg_json_kind container;
};

/// Walks once more over tokens that are no JSON, however deep, to see where they stop being it.
Stop walk_to_fault(Tokens tokens, hg_json_entry *entries);

}  // namespace headgate

#endif
