// Regular expressions with RE2, whose searches take time in proportion to the text.

#ifndef HEADGATE_CRE2_H
#define HEADGATE_CRE2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The result of a search.
enum hg_pattern_answer {
    HG_PATTERN_ABSENT,
    HG_PATTERN_FOUND,
    /// The search needed too much memory, or the pattern is malformed.
    HG_PATTERN_UNKNOWN,
};

/// A compiled regular expression, or the reason why it is malformed. Several threads may search for it at once.
struct hg_pattern;

/// Compiles a pattern in UTF-8. Returns NULL if not enough memory to compile the expression.
///
/// `max_memory` is the most bytes, roughly, for the pattern and the cache of its searches. A pattern that needs more is
/// refused.
struct hg_pattern *hg_pattern_create(const uint8_t *text, size_t length, bool ignore_case, int64_t max_memory);

/// Frees a pattern. NULL is ignored.
void hg_pattern_destroy(struct hg_pattern *pattern);

/// Returns the fault of the pattern as a text for people, or NULL if there is none. The text lives as long as the
/// pattern.
const char *hg_pattern_error(const struct hg_pattern *pattern);

/// Returns the number of the pattern's instructions. A search takes at most some nanoseconds for each instruction and
/// each byte of the text.
size_t hg_pattern_size(const struct hg_pattern *pattern);

/// Searches for the pattern anywhere in a text in UTF-8.
enum hg_pattern_answer hg_pattern_search(const struct hg_pattern *pattern, const uint8_t *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
