#include "Walk.h"

#include <cstring>
#include <limits>

#include "Tokens.h"

namespace headgate {

namespace {

/// The next backslash, or the end.
const uint8_t *backslash(Token text) {
    const void *found = std::memchr(text.begin, '\\', size_t(text.end - text.begin));
    return found == nullptr ? text.end : static_cast<const uint8_t *>(found);
}

/// Apart from the walk, which has no registers to spare.
[[gnu::noinline]] bool has_improper_escape(Token string) {
    return improper_escape({string.begin + 1, string.end - 1}) != nullptr;
}

// All of it is forced into one function, so that its state lives in registers: a token then costs half as much.
class Walk {
public:
    Walk(Tokens tokens, hg_json_entry *entries, uint32_t max_depth)
        : tokens_(tokens), entries_(entries), max_depth_(max_depth),
          next_backslash_(backslash({tokens.text, tokens.text + tokens.length})) {}

    hg_json_fault run();

    /// Where it stands, and what it looks for there.
    Stop stop() const { return {at_, expected_, hg_json_kind(depth_ == 0 ? HG_JSON_NULL : entries_[container_].kind)}; }

private:
    hg_json_fault step();
    hg_json_fault value(Expected expected);
    hg_json_fault name(Expected expected);
    hg_json_fault scalar(hg_json_kind kind, bool is_proper, Expected expected);
    hg_json_fault string(Expected expected);
    hg_json_fault open(hg_json_kind kind);
    void close();

    bool at_end() const { return at_ == tokens_.count; }
    uint8_t first() const { return tokens_.text[tokens_.starts[at_]]; }
    Token token() const;
    hg_json_entry &append(hg_json_kind kind, Token token);
    /// The text is no JSON: at this token something else should be.
    hg_json_fault stops(Expected expected) {
        expected_ = expected;
        return HG_JSON_NOT_JSON;
    }

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
    /// How many elements or members it has so far. Its own `count` is that only while another is open inside.
    uint32_t count_ = 0;
    bool is_object_ = false;
    Expected expected_ = Expected::nothing;
};

[[gnu::always_inline]] inline hg_json_fault Walk::run() {
    hg_json_fault fault = value(Expected::value);
    while (fault == HG_JSON_FINE && depth_ > 0) fault = step();
    if (fault != HG_JSON_FINE) return fault;
    return at_end() ? HG_JSON_FINE : stops(Expected::nothing);
}

/// One element or member of the innermost container, or its end.
[[gnu::always_inline]] inline hg_json_fault Walk::step() {
    const bool is_first = count_ == 0;
    const Expected inside = is_object_ ? Expected::first_name : Expected::first_element;
    if (at_end()) return stops(is_first ? inside : Expected::comma);
    if (first() == (is_object_ ? '}' : ']')) {
        close();
        return HG_JSON_FINE;
    }
    if (!is_first) {
        if (first() != ',') return stops(Expected::comma);
        ++at_;
    }
    ++count_;
    if (!is_object_) return value(is_first ? Expected::first_element : Expected::value);
    const hg_json_fault fault = name(is_first ? Expected::first_name : Expected::name);
    return fault == HG_JSON_FINE ? value(Expected::value) : fault;
}

[[gnu::always_inline]] inline hg_json_fault Walk::value(Expected expected) {
    if (at_end()) return stops(expected);
    switch (first()) {
    case '"': return string(expected);
    case '{': return open(HG_JSON_OBJECT);
    case '[': return open(HG_JSON_ARRAY);
    case 't':
    case 'f': return scalar(HG_JSON_BOOL, is_literal(token()), expected);
    case 'n': return scalar(HG_JSON_NULL, is_literal(token()), expected);
    default: return scalar(HG_JSON_NUMBER, is_number(token()), expected);
    }
}

/// A name and the colon behind it.
[[gnu::always_inline]] inline hg_json_fault Walk::name(Expected expected) {
    if (at_end() || first() != '"') return stops(expected);
    const hg_json_fault fault = string(expected);
    if (fault != HG_JSON_FINE) return fault;
    if (at_end() || first() != ':') return stops(Expected::colon);
    ++at_;
    return HG_JSON_FINE;
}

[[gnu::always_inline]] inline hg_json_fault Walk::scalar(hg_json_kind kind, bool is_proper, Expected expected) {
    if (!is_proper) return stops(expected);
    append(kind, token());
    ++at_;
    return HG_JSON_FINE;
}

/// The first stage has closed every string, and whatever but white space follows one begins a token of its own. So the
/// token ends with the closing quote; checked all the same, since all else is built on it.
[[gnu::always_inline]] inline hg_json_fault Walk::string(Expected expected) {
    const Token whole = token();
    if (whole.end - whole.begin < 2 || whole.end[-1] != '"') return stops(expected);
    hg_json_entry &entry = append(HG_JSON_STRING, whole);
    // Outside of strings there are none: a backslash there is part of a token that has been refused.
    if (next_backslash_ < whole.end) [[unlikely]] {
        entry.has_escapes = true;
        next_backslash_ = backslash({whole.end, tokens_.text + tokens_.length});
        if (has_improper_escape(whole)) return stops(expected);
    }
    ++at_;
    return HG_JSON_FINE;
}

[[gnu::always_inline]] inline hg_json_fault Walk::open(hg_json_kind kind) {
    if (depth_ == max_depth_) return HG_JSON_TOO_DEEP;
    const uint8_t *begin = tokens_.text + tokens_.starts[at_];
    entries_[container_].count = count_;
    hg_json_entry &entry = append(kind, {begin, begin + 1});
    entry.next = container_;
    container_ = size_ - 1;
    count_ = 0;
    is_object_ = kind == HG_JSON_OBJECT;
    ++depth_;
    ++at_;
    return HG_JSON_FINE;
}

[[gnu::always_inline]] inline void Walk::close() {
    hg_json_entry &entry = entries_[container_];
    container_ = entry.next;
    entry.next = size_;
    entry.count = count_;
    entry.end = tokens_.starts[at_] + 1;
    count_ = entries_[container_].count;
    is_object_ = entries_[container_].kind == HG_JSON_OBJECT;
    --depth_;
    ++at_;
}

/// What of the text belongs to the token. Its first byte is no white space, so the loop ends there at the latest.
[[gnu::always_inline]] inline Token Walk::token() const {
    const uint8_t *end = tokens_.text + tokens_.starts[at_ + 1];
    while (is_space(end[-1])) --end;
    return {tokens_.text + tokens_.starts[at_], end};
}

[[gnu::always_inline]] inline hg_json_entry &Walk::append(hg_json_kind kind, Token token) {
    hg_json_entry &entry = entries_[size_++];
    entry = {uint32_t(token.begin - tokens_.text), uint32_t(token.end - tokens_.text), size_, 0, uint8_t(kind), false};
    return entry;
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
