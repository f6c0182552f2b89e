// What is wrong with a text that is no JSON, for people.

#ifndef HEADGATE_COMPLAINT_H
#define HEADGATE_COMPLAINT_H

#include "Tokens.h"
#include "Walk.h"

namespace headgate {

/// A string in which the text breaks off, or that has a control character in it.
struct BrokenString {
    /// Its opening quote; the end of the text when no string is broken.
    const uint8_t *begin;
    /// Where it is broken.
    const uint8_t *at;
    hg_json_lack lack;
};

/// The first string that is broken.
BrokenString broken_string(Token text);

/// What is wrong where a walk over the tokens before the broken string stopped.
hg_json_complaint complaint(Tokens tokens, Stop stop, BrokenString broken);

}  // namespace headgate

#endif
