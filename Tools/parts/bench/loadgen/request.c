#include "request.h"

#include <string.h>

#include "fault.h"
#include "uuid.h"

static const char opening[] = "{\"event\":\"item_sold\",";
static const char id_member[] = "\"id\":\"" UUID_SLOT "\",";
static const char data[] =
    "\"data\":{\"order\":" NUMBER_SLOT ",\"article\":\"espresso beans\",\"price\":12.50,\"currency\":\"EUR\","
    "\"quantity\":2,\"member\":true,\"note\":\"";
static const char closing[] = "\"}}";

static char *append(char *out, const char *text, size_t length) {
    memcpy(out, text, length);
    return out + length;
}

void event_write(char *out, size_t size, bool with_id, bool with_noise) {
    size_t fixed = sizeof opening + sizeof data + sizeof closing - 3 + (with_id ? sizeof id_member - 1 : 0);
    if (size < fixed) fault("--size is too small by %zu bytes", fixed - size);
    out = append(out, opening, sizeof opening - 1);
    if (with_id) out = append(out, id_member, sizeof id_member - 1);
    out = append(out, data, sizeof data - 1);
    for (size_t index = 0; index < size - fixed; index++)
        *out++ = with_noise ? NOISE_MARK : "the quick brown fox "[index % 20];
    append(out, closing, sizeof closing - 1);
}

void template_find_slots(struct template *template) {
    const char *end = template->bytes + template->length;
    const char *at = template->bytes;
    while ((at = memmem(at, (size_t)(end - at), NUMBER_SLOT, NUMBER_DIGITS))) {
        if (template->number_count > EVENTS_LIMIT) fault("a request has too many numbers");
        template->numbers_at[template->number_count++] = (size_t)(at - template->bytes);
        at += NUMBER_DIGITS;
    }
    at = template->bytes;
    while ((at = memmem(at, (size_t)(end - at), UUID_SLOT, UUID_LENGTH))) {
        if (template->uuid_count == EVENTS_LIMIT) fault("a request has too many ids");
        template->uuids_at[template->uuid_count++] = (size_t)(at - template->bytes);
        at += UUID_LENGTH;
    }
    at = template->bytes;
    while ((at = memchr(at, NOISE_MARK, (size_t)(end - at)))) {
        const char *start = at;
        while (*at == NOISE_MARK) at++;
        template->noise_at[template->noise_count++] = (size_t)(start - template->bytes);
        template->noise_length = (size_t)(at - start);
    }
}

/// Letters that repeat only after more text than a compressor's window.
static const char *noise(size_t length) {
    static char letters[4 << 20];
    static size_t next;
    static bool is_filled;
    if (!is_filled) {
        uint64_t state = 88172645463325252;
        for (size_t index = 0; index < sizeof letters; index++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            letters[index] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[state >> 58];
        }
        is_filled = true;
    }
    if (next + length > sizeof letters) next = 0;
    next += length;
    return letters + next - length;
}

void template_render(const struct template *template, uint64_t number, char *out) {
    char digits[NUMBER_DIGITS];
    for (int index = NUMBER_DIGITS - 1; index >= 0; index--, number /= 10) digits[index] = (char)('0' + number % 10);
    memcpy(out, template->bytes, template->length);
    for (size_t index = 0; index < template->number_count; index++)
        memcpy(out + template->numbers_at[index], digits, NUMBER_DIGITS);
    for (size_t index = 0; index < template->uuid_count; index++) uuid_write(out + template->uuids_at[index]);
    for (size_t index = 0; index < template->noise_count; index++)
        memcpy(out + template->noise_at[index], noise(template->noise_length), template->noise_length);
}
