#include "CSimdjson.h"

#include <cstdlib>
#include <memory>
#include <new>

#include <simdjson.h>

#include "Complaint.h"
#include "Walk.h"

// simdjson's own front ends do not fit: the DOM refuses whole numbers over 64 bits and converts others to doubles, and
// on-demand does not check the parts that it skips. Only its first stage is used. With vector instructions it finds the
// tokens, and refuses bad UTF-8, raw control characters in strings and unterminated strings. It reads no byte after the
// text, which a test verifies; only the later stages need padding there.

namespace {

/// The smallest capacity. Capacities are powers of two from here on, so that texts of slowly growing length do not
/// allocate each time.
constexpr size_t smallest_capacity = 4096;

hg_json_fault fault_of(simdjson::error_code error) {
    switch (error) {
    case simdjson::SUCCESS: return HG_JSON_FINE;
    case simdjson::UTF8_ERROR: return HG_JSON_NOT_UTF8;
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC: return HG_JSON_TOO_LARGE;
    default: return HG_JSON_NOT_JSON;
    }
}

size_t power_of_two_from(size_t least) {
    size_t size = smallest_capacity;
    while (size < least) size *= 2;
    return size;
}

struct Free {
    void operator()(void *memory) const { std::free(memory); }
};

}  // namespace

struct hg_json_scanner {
    explicit hg_json_scanner(uint32_t max_depth) : max_depth_(max_depth) {}

    hg_json_fault scan(const uint8_t *text, size_t length) {
        if (length > hg_json_longest_text) return HG_JSON_TOO_LARGE;
        const hg_json_fault fault = find_tokens(text, length);
        return fault == HG_JSON_FINE ? headgate::walk(tokens(text, length), entries_.get(), max_depth_) : fault;
    }

    hg_json_problem complain(const uint8_t *text, size_t length) {
        // For a text with a broken string simdjson returns no tokens. The tokens before the string are found without
        // it.
        const headgate::BrokenString broken = headgate::broken_string({text, text + length});
        headgate::Tokens sound = {text, uint32_t(broken.begin - text), nullptr, 0};
        if (find_tokens(text, sound.length) == HG_JSON_FINE) sound = tokens(text, sound.length);
        return headgate::complaint(sound, headgate::walk_to_fault(sound, entries_.get()), broken);
    }

    void set_max_depth(uint32_t max_depth) { max_depth_ = max_depth; }

    const hg_json_entry *entries() const { return entries_.get(); }

private:
    hg_json_fault find_tokens(const uint8_t *text, size_t length) {
        simdjson::error_code error = reserve_text(length);
        if (!error) error = stages_->stage1(text, length, simdjson::stage1_mode::regular);
        if (error) return fault_of(error);
        return reserve_entries(stages_->n_structural_indexes) ? HG_JSON_FINE : HG_JSON_TOO_LARGE;
    }

    /// Returns the tokens with the text's length after the last. simdjson has room there, but its own value there
    /// depends on its version.
    headgate::Tokens tokens(const uint8_t *text, size_t length) const {
        uint32_t *starts = stages_->structural_indexes.get();
        starts[stages_->n_structural_indexes] = uint32_t(length);
        return {text, uint32_t(length), starts, stages_->n_structural_indexes};
    }

    simdjson::error_code reserve_text(size_t length) {
        if (stages_ != nullptr && length <= stages_->capacity()) return simdjson::SUCCESS;
        // Create a new implementation instead of enlarging the old one: a failed enlargement would leave the old one
        // without memory.
        stages_.reset();
        return simdjson::get_active_implementation()->create_dom_parser_implementation(
            power_of_two_from(length), 1, stages_);
    }

    bool reserve_entries(size_t count) {
        if (count <= capacity_) return true;
        const size_t wanted = power_of_two_from(count);
        entries_.reset(static_cast<hg_json_entry *>(std::malloc(wanted * sizeof(hg_json_entry))));
        capacity_ = entries_ == nullptr ? 0 : wanted;
        return entries_ != nullptr;
    }

    uint32_t max_depth_;
    std::unique_ptr<simdjson::internal::dom_parser_implementation> stages_;
    std::unique_ptr<hg_json_entry, Free> entries_;
    size_t capacity_ = 0;
};

hg_json_scanner *hg_json_scanner_create(uint32_t max_depth) {
    return new (std::nothrow) hg_json_scanner(max_depth);
}

void hg_json_scanner_set_max_depth(hg_json_scanner *scanner, uint32_t max_depth) {
    if (scanner != nullptr) scanner->set_max_depth(max_depth);
}

void hg_json_scanner_destroy(hg_json_scanner *scanner) {
    delete scanner;
}

hg_json_fault hg_json_scanner_scan(
    hg_json_scanner *scanner, const uint8_t *text, size_t length, const hg_json_entry **entries) {
    if (scanner == nullptr) return HG_JSON_TOO_LARGE;
    const hg_json_fault fault = scanner->scan(text, length);
    *entries = scanner->entries();
    return fault;
}

hg_json_problem hg_json_scanner_complain(hg_json_scanner *scanner, const uint8_t *text, size_t length) {
    if (scanner == nullptr || length > hg_json_longest_text) return {0, HG_JSON_LACKS_VALUE};
    return scanner->complain(text, length);
}
