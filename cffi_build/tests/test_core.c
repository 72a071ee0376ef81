/* What is easier to see from C than from Python: ends of buffers, NULL with length 0, and each instruction level.

   With arguments it prints the fingerprint of each file instead, so that builds can be compared. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simhash.h"

static int failures = 0;

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            failures++;                                                         \
        }                                                                       \
    } while (0)

static void test_nothing(void) {
    uint64_t value = 7, tokens = 7;
    CHECK(nd_fingerprint(NULL, 0, &value, &tokens) == ND_EMPTY);
    CHECK(nd_fingerprint((const uint8_t *)" 12 !", 5, &value, &tokens) == ND_EMPTY);
    CHECK(value == 7 && tokens == 7);
    CHECK(nd_simhash(NULL, NULL, 0, &value) == ND_EMPTY);
    nd_tokens list;
    CHECK(nd_tokenise(NULL, 0, &list) == ND_OK && list.count == 0);
    nd_tokens_free(&list);
    nd_tokens_free(&list);
    nd_hamming_one(1, NULL, 0, NULL);
    nd_keys(NULL, 0, NULL);
}

static void test_ties_and_overflow(void) {
    const uint64_t features[2] = {0xF0, 0x0F};
    const int64_t huge[2] = {INT64_MAX, 1}, lowest[2] = {INT64_MIN, 0}, opposite[2] = {-3, 3};
    uint64_t value = 1;
    CHECK(nd_simhash(features, NULL, 2, &value) == ND_OK && value == 0);
    CHECK(nd_simhash(features, opposite, 2, &value) == ND_OK && value == 0x0F);
    CHECK(nd_simhash(features, huge, 2, &value) == ND_OVERFLOW);
    CHECK(nd_simhash(features, lowest, 2, &value) == ND_OVERFLOW);
    CHECK(value == 0x0F);
}

/* Every prefix of a text in an allocation of its own, so that the sanitizers see a read past any end. */
static void test_every_length(void) {
    const char *text = "Stra\xC3\x9F" "e caf\x65\xCC\x81 \xE4\xB8\xAD\xE6\x96\x87 http://a.b/c x@y.zz 10.1234/a-b_c \xF0\x9F\x91\xA8 "
                       "the lazy dog's tail, www.example.org and so on until sixty-four octets have gone by twice over";
    for (size_t length = 0; length <= strlen(text); length++) {
        uint8_t *exact = malloc(length + 1);
        memcpy(exact, text, length);
        uint8_t *end = realloc(exact, length == 0 ? 1 : length);
        uint64_t values[3] = {0}, counts[3] = {0};
        for (int level = 0; level < 3; level++) {
            nd_set_simd_level(level);
            nd_fingerprint(end, length, &values[level], &counts[level]);
            CHECK(values[level] == values[0] && counts[level] == counts[0]);
        }
        free(end);
    }
}

static void test_many_marks(void) {
    size_t count = 100000, length = 1 + 2 * count;
    uint8_t *text = malloc(length);
    text[0] = 'a';
    for (size_t i = 0; i < count; i++) {
        text[1 + 2 * i] = 0xCC;
        text[2 + 2 * i] = i % 2 ? 0x81 : 0xA3; /* acute above, dot below: out of order all along */
    }
    nd_tokens normal;
    CHECK(nd_normalise(text, length, &normal) == ND_OK);
    CHECK(normal.length > count && memcmp(normal.text, "\xE1\xBA\xA1", 3) == 0);
    nd_tokens_free(&normal);
    free(text);
}

static void test_keys(void) {
    const uint64_t value = 0x0123456789ABCDEFu;
    uint32_t keys[16];
    nd_keys(&value, 1, keys);
    CHECK(keys[0] == (0x0123456u));
    CHECK(keys[3] == (3u << 28 | 0x0123DEFu));
    CHECK(keys[4] == (4u << 28 | 0x4567012u));
    CHECK(keys[15] == (15u << 28 | 0xCDEF9ABu));
}

static int print_fingerprint(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 1;
    uint8_t *text = malloc(1 << 24);
    size_t length = text == NULL ? 0 : fread(text, 1, 1 << 24, file);
    fclose(file);
    uint64_t value = 0, tokens = 0;
    int status = nd_fingerprint(text, length, &value, &tokens);
    printf("%d %016llx %llu\n", status, (unsigned long long)value, (unsigned long long)tokens);
    free(text);
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) failures += print_fingerprint(argv[i]);
    if (argc > 1) return failures != 0;
    test_nothing();
    test_ties_and_overflow();
    test_every_length();
    test_many_marks();
    test_keys();
    if (failures == 0) puts("core: all held");
    return failures != 0;
}
