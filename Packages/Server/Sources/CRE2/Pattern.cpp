#include "CRE2.h"

#include <exception>
#include <string>

#include <re2/re2.h>
#include <re2/set.h>

// Searches use a set of one pattern, because a set has only RE2's automaton. When the automaton runs out of memory, a
// plain RE2 goes on without it, which takes many times as long. A set starts the automaton again, or fails.

namespace {

re2::StringPiece piece(const uint8_t *text, size_t length) {
    return length == 0 ? re2::StringPiece("") : re2::StringPiece(reinterpret_cast<const char *>(text), length);
}

RE2::Options options(bool ignore_case, int64_t max_memory) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_case_sensitive(!ignore_case);
    options.set_never_capture(true);
    options.set_max_mem(max_memory);
    return options;
}

}  // namespace

struct hg_pattern {
    hg_pattern(re2::StringPiece text, const RE2::Options &options) : set_(options, RE2::UNANCHORED) {
        // Only this object reports the fault of a pattern and its size.
        const RE2 expression(text, options);
        error_ = expression.error();
        if (!expression.ok()) return;
        size_ = size_t(expression.ProgramSize());
        if (set_.Add(text, nullptr) < 0 || !set_.Compile()) error_ = "pattern too large";
    }

    bool is_fine() const { return error_.empty(); }
    const char *error() const { return error_.c_str(); }
    size_t size() const { return size_; }

    hg_pattern_answer search(re2::StringPiece text) const {
        RE2::Set::ErrorInfo fault = {RE2::Set::kNoError};
        if (set_.Match(text, nullptr, &fault)) return HG_PATTERN_FOUND;
        return fault.kind == RE2::Set::kNoError ? HG_PATTERN_ABSENT : HG_PATTERN_UNKNOWN;
    }

private:
    RE2::Set set_;
    std::string error_;
    size_t size_ = 0;
};

// No exception may leave these functions, because their callers are not C++.

hg_pattern *hg_pattern_create(const uint8_t *text, size_t length, bool ignore_case, int64_t max_memory) {
    try {
        return new hg_pattern(piece(text, length), options(ignore_case, max_memory));
    } catch (const std::exception &) {
        return nullptr;
    }
}

void hg_pattern_destroy(hg_pattern *pattern) {
    delete pattern;
}

const char *hg_pattern_error(const hg_pattern *pattern) {
    return pattern->is_fine() ? nullptr : pattern->error();
}

size_t hg_pattern_size(const hg_pattern *pattern) {
    return pattern->size();
}

hg_pattern_answer hg_pattern_search(const hg_pattern *pattern, const uint8_t *text, size_t length) {
    if (!pattern->is_fine()) return HG_PATTERN_UNKNOWN;
    try {
        return pattern->search(piece(text, length));
    } catch (const std::exception &) {
        return HG_PATTERN_UNKNOWN;
    }
}
