// Finds the first error of a text that is not JSON, for people.

#ifndef HEADGATE_COMPLAINT_H
#define HEADGATE_COMPLAINT_H

#include "Tokens.h"
#include "Walk.h"

namespace headgate {

/// A string without a closing quote, or with a control character.
struct BrokenString {
    /// The opening quote; the end of the text if no string is broken.
    const uint8_t *begin;
    /// The position of the error.
    const uint8_t *at;
    hg_json_lack lack;
};

/// Returns the first broken string.
BrokenString broken_string(Token text);

/// Returns the error at which a walk over the tokens before the broken string stopped.
hg_json_problem complaint(Tokens tokens, Stop stop, BrokenString broken);

}  // namespace headgate

#endif
