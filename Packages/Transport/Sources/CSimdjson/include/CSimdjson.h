// Strict, zero-copy scanning of JSON text: simdjson finds the tokens, a walk of our own checks the grammar and
// writes down where everything is. Nothing is converted, so numbers keep all their digits and strings their escapes.

#ifndef HEADGATE_CSIMDJSON_H
#define HEADGATE_CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a value is.
enum hg_json_kind {
    HG_JSON_NULL,
    HG_JSON_BOOL,
    HG_JSON_NUMBER,
    HG_JSON_STRING,
    /// A string with escapes in it.
    HG_JSON_ESCAPED_STRING,
    HG_JSON_ARRAY,
    HG_JSON_OBJECT,
};

/// Why a text was refused.
enum hg_json_fault {
    HG_JSON_FINE,
    HG_JSON_NOT_JSON,
    HG_JSON_NOT_UTF8,
    HG_JSON_TOO_DEEP,
    HG_JSON_TOO_LARGE,
};

/// What a text lacks where it stops being JSON.
enum hg_json_lack {
    HG_JSON_LACKS_VALUE,
    HG_JSON_LACKS_NAME,
    HG_JSON_LACKS_COLON,
    /// A comma, or the end of the array.
    HG_JSON_LACKS_COMMA_IN_ARRAY,
    /// A comma, or the end of the object.
    HG_JSON_LACKS_COMMA_IN_OBJECT,
    /// The end of the text: more follows a whole value.
    HG_JSON_LACKS_END,
    /// The rest of the text: it ends too early.
    HG_JSON_LACKS_REST,
    HG_JSON_LACKS_DIGIT,
    /// A letter that makes an escape of the backslash before it.
    HG_JSON_LACKS_ESCAPE,
    HG_JSON_LACKS_HEX_DIGITS,
    /// An escape for a control character, or the closing quote before it.
    HG_JSON_LACKS_ESCAPED_CONTROL,
    HG_JSON_LACKS_CLOSING_QUOTE,
};

/// Where a text stops being JSON, and what it lacks there.
struct hg_json_complaint {
    uint32_t offset;
    /// An `hg_json_lack`.
    uint8_t lack;
};

/// One value, or the name of a member; a name stands right before its value. Values are in the order of the text, a
/// container before what it contains.
struct hg_json_entry {
    /// Where the value begins in the text, with its quote or bracket.
    uint32_t start;
    /// Where it ends: the offset of the byte behind it.
    uint32_t end;
    /// How many entries this one and all that it contains take: by so many on is what comes behind it.
    uint32_t span;
    /// An `hg_json_kind`.
    uint32_t kind : 3;
    /// How many elements or members it has: fewer than half as many as there are bytes.
    uint32_t count : 29;
};

/// A scanner keeps its memory from one text to the next, so that a warm one allocates nothing.
struct hg_json_scanner;

/// The longest text a scanner takes, in bytes.
static const size_t hg_json_longest_text = (size_t)1 << 30;

/// A new scanner, or NULL when there is no memory for one.
struct hg_json_scanner *hg_json_scanner_create(uint32_t max_depth);

/// How deep texts may be nested from the next one on; NULL is ignored.
void hg_json_scanner_set_max_depth(struct hg_json_scanner *scanner, uint32_t max_depth);

/// Frees a scanner; NULL is ignored.
void hg_json_scanner_destroy(struct hg_json_scanner *scanner);

/// Scans one text, which must be exactly one JSON value with nothing but white space around it.
///
/// When all is fine, `entries` is set to the entries, which stay until the next scan; the first is the whole value.
/// No byte outside of the text is read.
enum hg_json_fault hg_json_scanner_scan(
    struct hg_json_scanner *scanner, const uint8_t *text, size_t length, const struct hg_json_entry **entries);

/// What is wrong with a text that was refused as `HG_JSON_NOT_JSON`. It is scanned once more, at leisure: this is for texts
/// that people write. The entries of the last scan are gone.
struct hg_json_complaint hg_json_scanner_complain(
    struct hg_json_scanner *scanner, const uint8_t *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
