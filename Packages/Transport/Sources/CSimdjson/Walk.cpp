#include "Walk.h"

#include <cstring>
#include <limits>

#include "Tokens.h"

namespace headgate {

namespace {

// All of it is forced into one function, so that its state lives in registers: a token then costs half as much.
class Walk {
public:
    Walk(Tokens tokens, hg_json_entry *entries, uint32_t max_depth)
        : tokens_(tokens), entries_(entries), max_depth_(max_depth),
          next_backslash_(backslash_from(tokens.text)) {}

    hg_json_fault run();

    /// Where it stands, and what it looks for there.
    Stop stop() const { return {at_, expected_, container_kind()}; }

private:
    hg_json_fault step();
    hg_json_fault value();
    hg_json_fault name();
    hg_json_fault comma_or_end();
    hg_json_fault scalar(hg_json_kind kind, bool is_proper);
    hg_json_fault string();
    hg_json_fault open(hg_json_kind kind, Expected inside);
    hg_json_fault close(hg_json_kind kind);

    Token token() const;
    uint8_t first() const { return tokens_.text[tokens_.starts[at_]]; }
    hg_json_entry &append(hg_json_kind kind, Token token);
    void count_in_container();
    hg_json_kind container_kind() const { return hg_json_kind(depth_ == 0 ? HG_JSON_NULL : entries_[container_].kind); }
    const uint8_t *backslash_from(const uint8_t *at) const;
    Expected behind_value() const { return depth_ == 0 ? Expected::nothing : Expected::comma; }

    const Tokens tokens_;
    hg_json_entry *const entries_;
    const uint32_t max_depth_;
    /// Known ahead, so that strings without escapes, which most are, need not be searched one by one.
    const uint8_t *next_backslash_;
    uint32_t at_ = 0;
    uint32_t size_ = 0;
    uint32_t depth_ = 0;
    /// The innermost open container. The `next` of an open one is the container around it.
    uint32_t container_ = 0;
    Expected expected_ = Expected::value;
};

[[gnu::always_inline]] inline hg_json_fault Walk::run() {
    for (; at_ < tokens_.count; ++at_) {
        const hg_json_fault fault = step();
        if (fault != HG_JSON_FINE) return fault;
    }
    return expected_ == Expected::nothing ? HG_JSON_FINE : HG_JSON_NOT_JSON;
}

[[gnu::always_inline]] inline hg_json_fault Walk::step() {
    switch (expected_) {
    case Expected::comma: return comma_or_end();
    case Expected::first_name: return first() == '}' ? close(HG_JSON_OBJECT) : name();
    case Expected::name: return name();
    case Expected::first_element: return first() == ']' ? close(HG_JSON_ARRAY) : value();
    case Expected::value: return value();
    case Expected::colon:
    case Expected::nothing: return HG_JSON_NOT_JSON;
    }
    return HG_JSON_NOT_JSON;
}

[[gnu::always_inline]] inline hg_json_fault Walk::value() {
    count_in_container();
    switch (first()) {
    case '"': return string();
    case '{': return open(HG_JSON_OBJECT, Expected::first_name);
    case '[': return open(HG_JSON_ARRAY, Expected::first_element);
    case 't':
    case 'f': return scalar(HG_JSON_BOOL, is_literal(token()));
    case 'n': return scalar(HG_JSON_NULL, is_literal(token()));
    default: return scalar(HG_JSON_NUMBER, is_number(token()));
    }
}

/// A name and the colon behind it.
[[gnu::always_inline]] inline hg_json_fault Walk::name() {
    if (first() != '"') return HG_JSON_NOT_JSON;
    const hg_json_fault fault = string();
    if (fault != HG_JSON_FINE) return fault;
    ++at_;
    expected_ = Expected::colon;
    if (at_ == tokens_.count || first() != ':') return HG_JSON_NOT_JSON;
    expected_ = Expected::value;
    return HG_JSON_FINE;
}

[[gnu::always_inline]] inline hg_json_fault Walk::comma_or_end() {
    switch (first()) {
    case ',':
        expected_ = entries_[container_].kind == HG_JSON_OBJECT ? Expected::name : Expected::value;
        return HG_JSON_FINE;
    case '}': return close(HG_JSON_OBJECT);
    case ']': return close(HG_JSON_ARRAY);
    default: return HG_JSON_NOT_JSON;
    }
}

[[gnu::always_inline]] inline hg_json_fault Walk::scalar(hg_json_kind kind, bool is_proper) {
    if (!is_proper) return HG_JSON_NOT_JSON;
    append(kind, token());
    expected_ = behind_value();
    return HG_JSON_FINE;
}

/// The first stage has closed every string, and whatever but white space follows one begins a token of its own. So the
/// token ends with the closing quote; checked all the same, since all else is built on it.
[[gnu::always_inline]] inline hg_json_fault Walk::string() {
    const Token whole = token();
    if (whole.end - whole.begin < 2 || whole.end[-1] != '"') return HG_JSON_NOT_JSON;
    hg_json_entry &entry = append(HG_JSON_STRING, whole);
    // Outside of strings there are none: a backslash there is part of a token that has been refused.
    if (next_backslash_ < whole.end) {
        entry.has_escapes = true;
        next_backslash_ = backslash_from(whole.end);
        if (improper_escape({whole.begin + 1, whole.end - 1}) != nullptr) return HG_JSON_NOT_JSON;
    }
    expected_ = behind_value();
    return HG_JSON_FINE;
}

[[gnu::always_inline]] inline hg_json_fault Walk::open(hg_json_kind kind, Expected inside) {
    if (depth_ == max_depth_) return HG_JSON_TOO_DEEP;
    const uint8_t *begin = tokens_.text + tokens_.starts[at_];
    hg_json_entry &entry = append(kind, {begin, begin + 1});
    entry.next = container_;
    container_ = size_ - 1;
    ++depth_;
    expected_ = inside;
    return HG_JSON_FINE;
}

[[gnu::always_inline]] inline hg_json_fault Walk::close(hg_json_kind kind) {
    hg_json_entry &entry = entries_[container_];
    if (entry.kind != kind) return HG_JSON_NOT_JSON;
    container_ = entry.next;
    entry.next = size_;
    entry.end = tokens_.starts[at_] + 1;
    --depth_;
    expected_ = behind_value();
    return HG_JSON_FINE;
}

[[gnu::always_inline]] inline Token Walk::token() const {
    const uint32_t behind = at_ + 1 < tokens_.count ? tokens_.starts[at_ + 1] : tokens_.length;
    const uint8_t *begin = tokens_.text + tokens_.starts[at_];
    const uint8_t *end = tokens_.text + behind;
    while (end > begin && is_space(end[-1])) --end;
    return {begin, end};
}

[[gnu::always_inline]] inline hg_json_entry &Walk::append(hg_json_kind kind, Token token) {
    hg_json_entry &entry = entries_[size_++];
    entry.start = uint32_t(token.begin - tokens_.text);
    entry.end = uint32_t(token.end - tokens_.text);
    entry.next = size_;
    entry.count = 0;
    entry.kind = uint8_t(kind);
    entry.has_escapes = false;
    return entry;
}

[[gnu::always_inline]] inline void Walk::count_in_container() {
    if (depth_ > 0) ++entries_[container_].count;
}

/// The next backslash, or the end of the text.
const uint8_t *Walk::backslash_from(const uint8_t *at) const {
    const uint8_t *end = tokens_.text + tokens_.length;
    const void *found = std::memchr(at, '\\', size_t(end - at));
    return found == nullptr ? end : static_cast<const uint8_t *>(found);
}

}  // namespace

hg_json_fault walk(Tokens tokens, hg_json_entry *entries, uint32_t max_depth) {
    return Walk(tokens, entries, max_depth).run();
}

Stop walk_to_fault(Tokens tokens, hg_json_entry *entries) {
    Walk walk(tokens, entries, std::numeric_limits<uint32_t>::max());
    walk.run();
    return walk.stop();
}

}  // namespace headgate
