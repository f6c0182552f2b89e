// Strict, zero-copy scanning of JSON text. simdjson finds the tokens; code of this module checks the grammar and
// records the position of each value. Nothing is converted, so numbers keep all their digits and strings their escapes.

#ifndef HEADGATE_CSIMDJSON_H
#define HEADGATE_CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The type of a value.
enum hg_json_kind {
    HG_JSON_NULL,
    HG_JSON_BOOL,
    HG_JSON_NUMBER,
    HG_JSON_STRING,
    /// A string with escapes.
    HG_JSON_ESCAPED_STRING,
    HG_JSON_ARRAY,
    HG_JSON_OBJECT,
};

/// The reason why a text was refused.
enum hg_json_fault {
    HG_JSON_FINE,
    HG_JSON_NOT_JSON,
    HG_JSON_NOT_UTF8,
    HG_JSON_TOO_DEEP,
    HG_JSON_TOO_LARGE,
};

/// The kind of the first error in a text: the part that is missing there.
enum hg_json_lack {
    HG_JSON_LACKS_VALUE,
    HG_JSON_LACKS_NAME,
    HG_JSON_LACKS_COLON,
    /// A comma, or the end of the array.
    HG_JSON_LACKS_COMMA_IN_ARRAY,
    /// A comma, or the end of the object.
    HG_JSON_LACKS_COMMA_IN_OBJECT,
    /// The end of the text: a complete value is followed by more.
    HG_JSON_LACKS_END,
    /// The rest of the text: it ends too early.
    HG_JSON_LACKS_REST,
    HG_JSON_LACKS_DIGIT,
    /// A letter that forms an escape with the backslash before it.
    HG_JSON_LACKS_ESCAPE,
    HG_JSON_LACKS_HEX_DIGITS,
    /// An escape for a control character, or a closing quote before it.
    HG_JSON_LACKS_ESCAPED_CONTROL,
    HG_JSON_LACKS_CLOSING_QUOTE,
};

/// The position and the kind of the first error in a text.
struct hg_json_problem {
    uint32_t offset;
    /// An `hg_json_lack`.
    uint8_t lack;
};

/// A value, or the name of a member, which comes right before the member's value. Entries are in the order of the text;
/// a container comes before its contents.
struct hg_json_entry {
    /// The offset at which the value begins, with its quote or bracket.
    uint32_t start;
    /// The offset after the value.
    uint32_t end;
    /// The number of entries of the value with its contents. The entry at this distance is the next one after it.
    uint32_t span;
    /// An `hg_json_kind`.
    uint32_t kind : 3;
    /// The number of elements or members, which is less than half the number of bytes.
    uint32_t count : 29;
};

/// A scanner. It keeps its memory from one text to the next, so that it allocates nothing once the memory has grown.
struct hg_json_scanner;

/// The longest text that a scanner accepts, in bytes.
static const size_t hg_json_longest_text = (size_t)1 << 30;

/// Creates a scanner. Returns NULL if there is no memory.
struct hg_json_scanner *hg_json_scanner_create(uint32_t max_depth);

/// Sets the nesting limit from the next text on. Does nothing for NULL.
void hg_json_scanner_set_max_depth(struct hg_json_scanner *scanner, uint32_t max_depth);

/// Frees a scanner. Does nothing for NULL.
void hg_json_scanner_destroy(struct hg_json_scanner *scanner);

/// Scans a text, which must be exactly one JSON value with optional white space around it.
///
/// On success, `entries` is set to the entries, which are valid until the next scan. The first entry is the whole
/// value. No byte outside of the text is read.
enum hg_json_fault hg_json_scanner_scan(
    struct hg_json_scanner *scanner, const uint8_t *text, size_t length, const struct hg_json_entry **entries);

/// Finds the first error of a text that was refused as `HG_JSON_NOT_JSON`. The text is scanned again without regard to
/// speed, so this is meant for texts that people write. It invalidates the entries of the last scan.
struct hg_json_problem hg_json_scanner_complain(
    struct hg_json_scanner *scanner, const uint8_t *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
