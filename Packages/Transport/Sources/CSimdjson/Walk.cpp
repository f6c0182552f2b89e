#include "Walk.h"

#include <cstring>
#include <limits>

#include "Tokens.h"

namespace headgate {

namespace {

/// Not inlined: the walk has no registers to spare.
[[gnu::noinline]] bool has_improper_escape(Token string) {
    return improper_escape({string.begin + 1, string.end - 1}) != nullptr;
}

/// The open containers of a walk. They are in memory and used only when a container begins, continues or ends, so that
/// the walk's own state stays in registers.
class Containers {
public:
    Containers(hg_json_entry *entries, uint32_t max_depth) : innermost_(entries), max_depth_(max_depth) {}

    /// The type of the innermost container; null outside of all.
    hg_json_kind kind() const { return kind_; }

    bool are_full() const { return depth_ == max_depth_; }

    /// Counts another element or member of the innermost container.
    void count() { ++count_; }

    /// Opens a container with this entry.
    [[gnu::noinline]] void open(hg_json_entry *entry, hg_json_kind kind, uint32_t start) {
        innermost_->count = count_;
        *entry = {start, start + 1, uint32_t(entry - innermost_), uint32_t(kind), 0};
        innermost_ = entry;
        kind_ = kind;
        count_ = 0;
        ++depth_;
    }

    /// Closes the innermost container.
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
    /// The innermost open container. While a container is open, its `span` is the distance to the surrounding one.
    hg_json_entry *innermost_;
    hg_json_kind kind_ = HG_JSON_NULL;
    /// The number of elements or members of the innermost container so far. The `count` of its entry is updated only
    /// when another container is opened within it.
    uint32_t count_ = 0;
    uint32_t depth_ = 0;
    const uint32_t max_depth_;
};

/// A walk. Everything is inlined into one function, so that its state stays in registers: this halves the cost of a
/// token.
/// - Parameter ends_closed: true if the last token is a closing bracket, as in all messages. The end of the tokens can
///   then follow the end of a container only, and need not be checked elsewhere.
template <bool ends_closed>
class Walk {
public:
    Walk(Tokens tokens, hg_json_entry *entries, Containers &containers)
        : tokens_(tokens), end_(tokens.starts + tokens.count), containers_(containers), at_(tokens.starts), next_(entries),
          next_backslash_(backslash(0)) {}

    hg_json_fault run();

    /// The present position and expectation.
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
    /// Stops at the present token, because another one is expected.
    hg_json_fault stops(Expected expected) {
        expected_ = expected;
        return HG_JSON_NOT_JSON;
    }

    const Tokens tokens_;
    const uint32_t *const end_;
    Containers &containers_;
    /// The present token.
    const uint32_t *at_;
    /// The position of the next entry.
    hg_json_entry *next_;
    /// The next backslash, found ahead, so that strings without escapes, which are the majority, need not be searched.
    size_t next_backslash_;
    Expected expected_ = Expected::nothing;
};

// The state of the grammar is the position in this function, and is kept nowhere else.
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

/// Takes a string. The first stage has found the end of every string, and anything but white space after it is a token
/// of its own. The token thus ends with the closing quote. That is still checked, because everything else depends on
/// it.
template <bool ends_closed>
[[gnu::always_inline]] inline bool Walk<ends_closed>::string() {
    size_t end = at_[1];
    if (tokens_.text[end - 1] != '"') [[unlikely]] {
        end = token_end();
        if (tokens_.text[end - 1] != '"') return false;
    }
    if (end < size_t(*at_) + 2) return false;
    // The backslash is in this string: outside of strings it would be part of a token that was refused.
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

/// Returns the offset after the token's last byte. The loop ends at its first byte at the latest, which is not white
/// space.
template <bool ends_closed>
[[gnu::always_inline]] inline size_t Walk<ends_closed>::token_end() const {
    size_t end = at_[1];
    while (is_space(tokens_.text[end - 1])) --end;
    return end;
}

/// Writes an entry for the token and moves to the next token.
template <bool ends_closed>
[[gnu::always_inline]] inline void Walk<ends_closed>::take(hg_json_kind kind, size_t end) {
    *next_++ = {*at_++, uint32_t(end), 1, uint32_t(kind), 0};
}

/// Returns the offset of the next backslash, or the end of the text.
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
