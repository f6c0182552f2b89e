#include "Walk.h"

#include <cstring>
#include <limits>

#include "Tokens.h"

namespace headgate {

namespace {

/// Apart from the walk, which has no registers to spare.
[[gnu::noinline]] bool has_improper_escape(Token string) {
    return improper_escape({string.begin + 1, string.end - 1}) != nullptr;
}

/// The containers in which the walk is. They live in memory and are touched only where one begins, goes on or ends, so that
/// the walk has its registers for itself.
class Containers {
public:
    Containers(hg_json_entry *entries, uint32_t max_depth) : innermost_(entries), max_depth_(max_depth) {}

    /// The kind of the innermost one; null outside of all.
    hg_json_kind kind() const { return kind_; }

    bool are_full() const { return depth_ == max_depth_; }

    /// Another element or member of the innermost one comes.
    void count() { ++count_; }

    /// A container begins with this entry; it is yet to be seen whether it is empty.
    [[gnu::noinline]] void open(hg_json_entry *entry, hg_json_kind kind, uint32_t start) {
        innermost_->count = count_;
        *entry = {start, start + 1, uint32_t(entry - innermost_), uint32_t(kind), 0};
        innermost_ = entry;
        kind_ = kind;
        count_ = 0;
        ++depth_;
    }

    /// The innermost one ends.
    [[gnu::noinline]] void close(const hg_json_entry *behind, uint32_t end) {
        hg_json_entry *around = innermost_ - innermost_->span;
        innermost_->span = uint32_t(behind - innermost_);
        innermost_->count = count_;
        innermost_->end = end;
        innermost_ = around;
        count_ = around->count;
        kind_ = --depth_ == 0 ? HG_JSON_NULL : hg_json_kind(around->kind);
    }

private:
    /// The `span` of an open one leads back to the one around it.
    hg_json_entry *innermost_;
    hg_json_kind kind_ = HG_JSON_NULL;
    /// How many elements or members it has so far. Its own `count` is that only while another is open inside.
    uint32_t count_ = 0;
    uint32_t depth_ = 0;
    const uint32_t max_depth_;
};

/// All of it is forced into one function, so that its state lives in registers: a token then costs half as much.
/// - Parameter ends_closed: whether the last token is a closing bracket, as it is of all messages. Then nothing but the end of a
///   container can be followed by the end of the tokens, which need not be looked for anywhere else.
template <bool ends_closed>
class Walk {
public:
    Walk(Tokens tokens, hg_json_entry *entries, Containers &containers)
        : tokens_(tokens), end_(tokens.starts + tokens.count), containers_(containers), at_(tokens.starts), next_(entries),
          next_backslash_(backslash(0)) {}

    hg_json_fault run();

    /// Where it stands, and what it looks for there.
    Stop stop() const { return {uint32_t(at_ - tokens_.starts), expected_, containers_.kind()}; }

private:
    bool string();
    bool literal(hg_json_kind kind);
    bool number();
    void open(hg_json_kind kind);
    void close();

    bool is_at_end() const { return !ends_closed && at_ == end_; }
    bool is_at(uint8_t byte) const { return !is_at_end() && tokens_.text[*at_] == byte; }
    size_t token_end() const;
    Token token(size_t end) const { return {tokens_.text + *at_, tokens_.text + end}; }
    void take(hg_json_kind kind, size_t end);
    size_t backslash(size_t from) const;
    /// The text is no JSON: at this token something else should be.
    hg_json_fault stops(Expected expected) {
        expected_ = expected;
        return HG_JSON_NOT_JSON;
    }

    const Tokens tokens_;
    const uint32_t *const end_;
    Containers &containers_;
    /// The token at which it stands.
    const uint32_t *at_;
    /// Where the next entry goes.
    hg_json_entry *next_;
    /// Known ahead, so that strings without escapes, which most are, need not be searched one by one.
    size_t next_backslash_;
    Expected expected_ = Expected::nothing;
};

// What may come next is known by the place in this function, and kept nowhere else.
template <bool ends_closed>
[[gnu::always_inline]] inline hg_json_fault Walk<ends_closed>::run() {
value:
    if (is_at('"')) [[likely]] {
        if (!string()) return stops(Expected::value);
        goto behind_value;
    }
    if (is_at_end()) return stops(Expected::value);
    switch (tokens_.text[*at_]) {
    case '{':
        if (containers_.are_full()) return HG_JSON_TOO_DEEP;
        open(HG_JSON_OBJECT);
        if (!is_at('}')) goto name;
        goto end;
    case '[':
        if (containers_.are_full()) return HG_JSON_TOO_DEEP;
        open(HG_JSON_ARRAY);
        if (!is_at(']')) goto element;
        goto end;
    case 't':
    case 'f':
        if (!literal(HG_JSON_BOOL)) return stops(Expected::value);
        break;
    case 'n':
        if (!literal(HG_JSON_NULL)) return stops(Expected::value);
        break;
    default:
        if (!number()) return stops(Expected::value);
    }
behind_value:
    if (containers_.kind() == HG_JSON_OBJECT) [[likely]] {
        if (is_at(',')) [[likely]] {
            ++at_;
            goto name;
        }
        if (!is_at('}')) return stops(Expected::comma);
    } else if (containers_.kind() == HG_JSON_ARRAY) {
        if (is_at(',')) [[likely]] {
            ++at_;
            goto element;
        }
        if (!is_at(']')) return stops(Expected::comma);
    } else {
        return at_ == end_ ? HG_JSON_FINE : stops(Expected::nothing);
    }
end:
    close();
    if (at_ != end_) goto behind_value;
    return containers_.kind() == HG_JSON_NULL ? HG_JSON_FINE : stops(Expected::comma);
name:
    containers_.count();
    if (!is_at('"') || !string()) return stops(Expected::name);
    if (!is_at(':')) return stops(Expected::colon);
    ++at_;
    goto value;
element:
    containers_.count();
    goto value;
}

/// The first stage has closed every string, and whatever but white space follows one begins a token of its own. So the
/// token ends with the closing quote; checked all the same, since all else is built on it.
template <bool ends_closed>
[[gnu::always_inline]] inline bool Walk<ends_closed>::string() {
    size_t end = at_[1];
    if (tokens_.text[end - 1] != '"') [[unlikely]] {
        end = token_end();
        if (tokens_.text[end - 1] != '"') return false;
    }
    if (end < size_t(*at_) + 2) return false;
    // Outside of strings there are none: a backslash there is part of a token that has been refused.
    if (next_backslash_ >= end) [[likely]] {
        take(HG_JSON_STRING, end);
        return true;
    }
    next_backslash_ = backslash(end);
    if (has_improper_escape(token(end))) return false;
    take(HG_JSON_ESCAPED_STRING, end);
    return true;
}

template <bool ends_closed>
[[gnu::always_inline]] inline bool Walk<ends_closed>::literal(hg_json_kind kind) {
    const size_t end = token_end();
    if (!is_literal(token(end))) return false;
    take(kind, end);
    return true;
}

template <bool ends_closed>
[[gnu::always_inline]] inline bool Walk<ends_closed>::number() {
    const size_t end = token_end();
    if (!is_number(token(end))) return false;
    take(HG_JSON_NUMBER, end);
    return true;
}

template <bool ends_closed>
[[gnu::always_inline]] inline void Walk<ends_closed>::open(hg_json_kind kind) {
    containers_.open(next_++, kind, *at_++);
}

template <bool ends_closed>
[[gnu::always_inline]] inline void Walk<ends_closed>::close() {
    containers_.close(next_, *at_++ + 1);
}

/// Behind the last byte that belongs to the token. Its first byte is no white space, so the loop ends there at the latest.
template <bool ends_closed>
[[gnu::always_inline]] inline size_t Walk<ends_closed>::token_end() const {
    size_t end = at_[1];
    while (is_space(tokens_.text[end - 1])) --end;
    return end;
}

/// Writes down the token and goes on.
template <bool ends_closed>
[[gnu::always_inline]] inline void Walk<ends_closed>::take(hg_json_kind kind, size_t end) {
    *next_++ = {*at_++, uint32_t(end), 1, uint32_t(kind), 0};
}

/// The next backslash from a place on, or the end.
template <bool ends_closed>
inline size_t Walk<ends_closed>::backslash(size_t from) const {
    const void *found = std::memchr(tokens_.text + from, '\\', tokens_.length - from);
    return found == nullptr ? tokens_.length : size_t(static_cast<const uint8_t *>(found) - tokens_.text);
}

}  // namespace

hg_json_fault walk(Tokens tokens, hg_json_entry *entries, uint32_t max_depth) {
    Containers containers(entries, max_depth);
    const uint8_t last = tokens.count == 0 ? 0 : tokens.text[tokens.starts[tokens.count - 1]];
    if (last == '}' || last == ']') [[likely]] return Walk<true>(tokens, entries, containers).run();
    return Walk<false>(tokens, entries, containers).run();
}

Stop walk_to_fault(Tokens tokens, hg_json_entry *entries) {
    Containers containers(entries, std::numeric_limits<uint32_t>::max());
    Walk<false> walk(tokens, entries, containers);
    walk.run();
    return walk.stop();
}

}  // namespace headgate
