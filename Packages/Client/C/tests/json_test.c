/* Tests of the JSON functions of headgate.h: which texts are JSON, which values are read from them, and that no input makes
 * them read beyond its end.
 *
 *     json_test [ROUNDS [SEED]]
 */
#include "headgate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(bool is_so, const char *what) {
    if (is_so) return;
    fprintf(stderr, "json_test: %s\n", what);
    failures++;
}

static const char *const accepted[] = {
    "{}", "[]", " [ 1 , 2.5 , -0 , 1e9 , 1E-2 , 0.0 ] ", "\"\"", "null", "true", "false", "{\"a\":{\"b\":[{}]}}",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fc\\ud83d\\ude00\"", "\"\xc3\xbc\xf0\x9f\x98\x80\"", "\"\\ud800\"", "\t7\r\n",
};

static const char *const refused[] = {
    "", " ", "{", "}", "[", "]", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "01", "1.", ".5",
    "-", "+1", "1e", "1e+", "0x1", "NaN", "nul", "truefalse", "1 2", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
    "\"\n\"", "\"\x01\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xc3\"", "'a'", "[1}",
    "{\"a\":1]", "\xef\xbb\xbf{}", "[1] x", "/**/1",
};

static bool is_json(const char *text) { return headgate_json_check(text, strlen(text), 64, NULL); }

static void test_checking(void) {
    for (size_t place = 0; place < sizeof accepted / sizeof *accepted; place++)
        expect(is_json(accepted[place]), accepted[place]);
    for (size_t place = 0; place < sizeof refused / sizeof *refused; place++)
        expect(!is_json(refused[place]), refused[place]);
    expect(headgate_json_check("[[[]]]", 6, 3, NULL), "three levels are three");
    expect(!headgate_json_check("[[[]]]", 6, 2, NULL), "three levels are more than two");
    expect(!headgate_json_check("[\0]", 3, 64, NULL), "a NUL is no white space");
    char deep[4001];
    memset(deep, '[', 2000), memset(deep + 2000, ']', 2000);
    expect(!headgate_json_check(deep, 4000, 100000, NULL), "there is an end to depth");
    expect(headgate_json_check(deep + 2000 - 1060, 2 * 1060, 100000, NULL), "as deep as the daemon's own messages");
}

static headgate_json parsed(const char *text) {
    headgate_json value = {0};
    expect(headgate_json_check(text, strlen(text), 64, &value), text);
    return value;
}

static void test_reading(void) {
    headgate_json object = parsed(" {\"a\" : 1, \"\\u0062\":\"x\\ny\", \"c\":[true,{\"a\":2}], \"a\":3} "), value, key;
    int64_t number = 0;
    size_t place = 0, count = 0, length = 0;
    expect(headgate_json_int(headgate_json_member(object, "a"), &number) && number == 3, "the last of a name counts");
    expect(!headgate_json_member(object, "d").text, "what is not there is none");
    expect(headgate_json_equals(headgate_json_member(object, "b"), "x\ny"), "names and texts are unescaped");
    char *text = headgate_json_text(headgate_json_member(object, "b"), &length);
    expect(text && length == 3 && strcmp(text, "x\ny") == 0, "a text");
    free(text);
    while (headgate_json_next(object, &place, &key, &value)) count++;
    expect(count == 4, "all members come");
    headgate_json list = headgate_json_member(object, "c");
    for (place = count = 0; headgate_json_next(list, &place, &key, &value);) count++;
    expect(count == 2 && !key.text && headgate_json_kind_of(value) == HEADGATE_OBJECT, "all elements come, without keys");
    place = 0;
    expect(!headgate_json_next(parsed("[ ]"), &place, NULL, NULL), "nothing comes of nothing");
    text = headgate_json_text(parsed("\"\\ud83d\\ude00\\ud800\\u0000z\""), &length);
    expect(text && length == 9 && memcmp(text, "\xf0\x9f\x98\x80\xef\xbf\xbd\0z", 9) == 0, "pairs, halves of pairs, and NUL");
    free(text);
}

static void test_numbers(void) {
    int64_t number = 0;
    expect(headgate_json_int(parsed("9223372036854775807"), &number) && number == INT64_MAX, "the greatest");
    expect(headgate_json_int(parsed("-9223372036854775808"), &number) && number == INT64_MIN, "the least");
    expect(!headgate_json_int(parsed("9223372036854775808"), &number), "one more");
    expect(!headgate_json_int(parsed("-9223372036854775809"), &number), "one less");
    expect(!headgate_json_int(parsed("1.0"), &number) && !headgate_json_int(parsed("1e2"), &number), "not whole");
    expect(!headgate_json_int(parsed("\"1\""), &number), "a text");
    expect(headgate_json_bool(parsed("true"), false) && !headgate_json_bool(parsed("false"), true), "truth");
    expect(headgate_json_bool(parsed("1"), true), "neither");
}

/* Reads every member, element and string of a value. */
static size_t walk(headgate_json value) {
    headgate_json key, element;
    int64_t number;
    size_t length = 0, sum = headgate_json_int(value, &number) + headgate_json_bool(value, false);
    free(headgate_json_text(value, &length));
    headgate_json_member(value, "a");
    for (size_t place = 0; headgate_json_next(value, &place, &key, &element);) {
        free(headgate_json_text(key, &length));
        sum += walk(element) + 1;
    }
    return sum + length;
}

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Checks random texts of JSON's characters. Each is in memory of exactly its length, so that a sanitizer detects reads beyond it. */
static void test_garbage(long rounds, unsigned seed) {
    static const char pieces[] = "{}[]\",:\\u0123eE+-.truefalsn \t\xc3\xbc\xf0\x9f\x98\x80\xed\xa0\xff/bd";
    unsigned state = seed;
    long count = 0;
    for (long round = 0; round < rounds; round++) {
        const char *model = accepted[next_random(&state) % (sizeof accepted / sizeof *accepted)];
        size_t length = strlen(model);
        bool is_mutated = next_random(&state) % 4 != 0;
        if (!is_mutated) length = next_random(&state) % 24;
        char *text = malloc(length + 1);
        if (!text) exit(1);
        for (size_t place = 0; place < length; place++) {
            bool is_kept = is_mutated && next_random(&state) % 8 != 0;
            text[place] = is_kept ? model[place] : pieces[next_random(&state) % (sizeof pieces - 1)];
        }
        char *exact = realloc(text, length ? length : 1);
        headgate_json value;
        if (exact && headgate_json_check(exact, length, 1 + (int)(next_random(&state) % 64), &value)) {
            count++;
            walk(value);
        }
        free(exact ? exact : text);
    }
    expect(rounds < 1000 || count > 0, "some of the garbage is JSON");
}

int main(int count, char **words) {
    long rounds = count > 1 ? atol(words[1]) : 200000;
    unsigned seed = count > 2 ? (unsigned)atol(words[2]) : 1;
    test_checking();
    test_reading();
    test_numbers();
    test_garbage(rounds, seed);
    if (failures == 0) printf("json_test: passed, %ld rounds of garbage with seed %u\n", rounds, seed);
    return failures != 0;
}
