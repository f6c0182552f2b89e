// Regular expressions, searched for by RE2 in time that grows with the text and never explodes.

#ifndef HEADGATE_CRE2_H
#define HEADGATE_CRE2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a search came to.
enum hg_pattern_answer {
    HG_PATTERN_ABSENT,
    HG_PATTERN_FOUND,
    /// The memory for the search did not suffice, or the pattern is none.
    HG_PATTERN_UNKNOWN,
};

/// A regular expression, or the reason why it is none. It may be searched for by several threads at once.
struct hg_pattern;

/// Compiles a pattern in UTF-8; NULL when there is no memory for it.
///
/// `max_memory` is roughly how many bytes the pattern, and what is remembered from its searches, may take; a pattern that
/// does not fit is refused.
struct hg_pattern *hg_pattern_create(const uint8_t *text, size_t length, bool ignore_case, int64_t max_memory);

/// Frees a pattern; NULL is ignored.
void hg_pattern_destroy(struct hg_pattern *pattern);

/// What is wrong with the pattern, for people, or NULL when it is fine. It stays as long as the pattern.
const char *hg_pattern_error(const struct hg_pattern *pattern);

/// The number of its instructions. A search takes at worst some nanoseconds for each of them and each byte of the text.
size_t hg_pattern_size(const struct hg_pattern *pattern);

/// Whether the pattern is found anywhere in a text in UTF-8.
enum hg_pattern_answer hg_pattern_search(const struct hg_pattern *pattern, const uint8_t *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
