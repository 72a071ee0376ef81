/* What is easier to see from C than from Python: ends of buffers, NULL with length 0, and each instruction level.

   With arguments it prints what it makes of each file instead, so that builds can be compared. */

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
    nd_hashes hashes;
    CHECK(nd_token_hashes(NULL, 0, &hashes) == ND_OK && hashes.count == 0);
    nd_hashes_free(&hashes);
    CHECK(nd_shingle_hashes((const uint8_t *)" 12 !", 5, 3, 0, &hashes) == ND_OK && hashes.count == 0);
    nd_hashes_free(&hashes);
    nd_hashes_free(&hashes);
    uint32_t signature = 7;
    CHECK(nd_minhash(NULL, 0, 1, &signature) == ND_EMPTY && signature == 7);
    CHECK(nd_random_projection(NULL, 0, 1, &value) == ND_EMPTY && value == 7);
    CHECK(nd_weighted_minhash(NULL, NULL, 0, 1, &signature) == ND_EMPTY && signature == 7);
    nd_band_keys(NULL, 0, 5, NULL);
    nd_differing(NULL, NULL, 0, 0, 8, NULL);
    nd_intersections(NULL, NULL, NULL, NULL, 0, NULL);
    nd_differing_pairs(NULL, 0, 1, NULL, NULL, 0, NULL);
    nd_pack(NULL, 0, 1, NULL);
    size_t none = 0;
    CHECK(nd_distinct(NULL, &none) == ND_OK && none == 0);
    CHECK(nd_winnow(NULL, &none, 4) == ND_OK && none == 0);
    CHECK(nd_without_layout(NULL, 0) == 0);
    CHECK(nd_fast_minhash(NULL, 0, 8, 8, &signature) == ND_EMPTY && signature == 7);
    nd_minhash_form form = {5, 0, 8, 1, 0, 1, 0};
    nd_passages_form passages = {12, 64, 1};
    nd_text_features features = {7, 7, 7, 7};
    nd_hashes kept = {NULL, 7};
    uint8_t packed = 7;
    size_t ends[2] = {0, 2};
    CHECK(nd_sketch_texts(NULL, NULL, 0, &form, &passages, NULL, NULL, NULL, &kept) == ND_OK && kept.count == 0);
    nd_hashes_free(&kept);
    CHECK(nd_sketch_texts(NULL, ends, 1, &form, &passages, &features, &packed, NULL, &kept) == ND_OK && kept.count == 0);
    nd_hashes_free(&kept);
    CHECK(features.simhash == 0 && features.tokens == 0 && features.shingles == 0 && features.passages == 0 && packed == 0);
    nd_text_features both[2];
    uint8_t two[2] = {7, 7};
    CHECK(nd_sketch_texts((const uint8_t *)"12", ends, 2, &form, NULL, both, two, NULL, NULL) == ND_OK);
    CHECK(both[1].tokens == 0 && both[1].shingles == 0 && two[0] == 0 && two[1] == 0);
}

/* Places count characters of the text as it was given: in "Ｆ ﬁ\xAD 7½" a wide letter, a ligature, a soft hyphen. */
static void test_words(void) {
    const char *text = "\xEF\xBC\xA6 \xEF\xAC\x81\xC2\xAD 7\xC2\xBD";
    nd_words words;
    CHECK(nd_words_of((const uint8_t *)text, strlen(text), 1, 0, &words) == ND_OK && words.count == 4);
    static const uint32_t starts[4] = {0, 2, 5, 6}, ends[4] = {1, 3, 7, 7};
    CHECK(memcmp(words.starts, starts, sizeof starts) == 0 && memcmp(words.ends, ends, sizeof ends) == 0);
    CHECK(words.hashes[1] == nd_lookup8((const uint8_t *)"fi", 2, 0));
    nd_free(words.hashes);
    CHECK(nd_words_of(NULL, 0, 1, 1, &words) == ND_OK && words.count == 0 && words.hashes == NULL);
}

/* In "a. -2 'b 5'" the point at the end of a sentence is left out, and of the marks all but the minus. */
static void test_signs(void) {
    const char *text = "a. -2 'b 5' +";
    static uint32_t kinds[ND_SIGN_CODES];
    for (uint32_t code = 0; code < ND_SIGN_CODES; code++) kinds[code] = code;
    kinds['.'] |= ND_SIGN_INNER;
    kinds['-'] |= ND_SIGN_HYPHEN;
    kinds['\''] |= ND_SIGN_NEVER | ND_SIGN_PRIME | ND_SIGN_OPENING;
    kinds[' '] |= ND_SIGN_WHITE;
    nd_signed_words found;
    CHECK(nd_signed_words_of((const uint8_t *)text, strlen(text), kinds, &found) == ND_OK && found.count == 6);
    static const uint32_t starts[6] = {0, 3, 4, 7, 9, 12};
    static const uint8_t are_words[6] = {1, 0, 1, 1, 1, 0};
    CHECK(memcmp(found.starts, starts, sizeof starts) == 0 && memcmp(found.are_words, are_words, sizeof are_words) == 0);
    nd_free(found.values);
    /* Without the first mark the other one is minutes. */
    CHECK(nd_signed_words_of((const uint8_t *)"b 5'", 4, kinds, &found) == ND_OK && found.count == 3);
    nd_free(found.values);
    CHECK(nd_signed_words_of(NULL, 0, kinds, &found) == ND_OK && found.count == 0 && found.values == NULL);
}

/* Of 1 2 3 4 5 6 and 9 1 2 3 8 5 6 7 a chain of two runs, in whatever order the rows are given. */
static void test_common_runs(void) {
    static const uint64_t one[] = {1, 2, 3, 4, 5, 6}, other[] = {9, 1, 2, 3, 8, 5, 6, 7};
    for (int turned = 0; turned < 2; turned++) {
        nd_runs runs;
        CHECK(nd_common_runs(turned ? other : one, turned ? 8 : 6, turned ? one : other, turned ? 6 : 8, 2, 3, 6, &runs) == ND_OK);
        CHECK(runs.count == 2 && runs.items[0].chain == 0 && runs.items[1].chain == 0);
        CHECK(runs.items[0].left == (turned ? 1 : 0) && runs.items[0].right == (turned ? 0 : 1) && runs.items[0].size == 3);
        CHECK(runs.items[1].left == (turned ? 5 : 4) && runs.items[1].right == (turned ? 4 : 5) && runs.items[1].size == 2);
        nd_free(runs.items);
        CHECK(nd_common_runs(one, 6, other, 8, 2, 3, 7, &runs) == ND_OK && runs.count == 0);
        nd_free(runs.items);
    }
    nd_runs none;
    CHECK(nd_common_runs(NULL, 0, one, 6, 1, 0, 1, &none) == ND_OK && none.count == 0);
}

/* The least of each window against a walk over all of them, for windows up to more than there are hashes. */
static void test_winnow(void) {
    uint64_t hashes[40], kept[40];
    for (size_t window = 1; window < 44; window++) {
        for (size_t i = 0; i < 40; i++) kept[i] = hashes[i] = i * 0x9E3779B97F4A7C15u % 23;
        size_t count = 40, size = window < 40 ? window : 40, place = 0;
        CHECK(nd_winnow(kept, &count, window) == ND_OK);
        for (size_t start = 0; start + size <= 40; start++) {
            uint64_t least = hashes[start];
            for (size_t i = start; i < start + size; i++) least = hashes[i] < least ? hashes[i] : least;
            if (start != 0 && kept[place] != least) place++;
            CHECK(place < count && kept[place] == least);
        }
        CHECK(place + 1 == count);
    }
    size_t count = 40;
    CHECK(nd_winnow(kept, &count, SIZE_MAX) == ND_OK && count == 1);
}

/* The keys of passages of one text behind another: of many shingles, sorted in two ways, and beside any minhash the same. */
static void test_passages(void) {
    static char texts[60000];
    size_t length = 0, ends[3];
    for (unsigned i = 0; length < 50000; i++) length += (size_t)sprintf(texts + length, "w%u ", i * 2654435761u % 9973);
    ends[0] = length, ends[1] = length, ends[2] = length + (size_t)sprintf(texts + length, "Tea 4 two");
    nd_minhash_form forms[4] = {
        {5, 1, 64, 1, 4, 4, 0}, {3, 1, 64, 1, 4, 4, 0}, {5, 0, 64, 1, 4, 4, 0}, {5, 1, 64, 1, 4, 4, 1}};
    for (int letters = 0; letters < 2; letters++) {
        for (size_t window = 1; window < 400; window *= 7) {
            nd_passages_form form = {5, window, letters};
            nd_text_features alone[3], found[3];
            nd_hashes expected, kept;
            CHECK(nd_sketch_texts((const uint8_t *)texts, ends, 3, NULL, &form, alone, NULL, NULL, &expected) == ND_OK);
            CHECK(alone[0].passages + alone[2].passages == expected.count && alone[1].passages == 0);
            for (size_t i = 1; i < alone[0].passages; i++) CHECK(expected.values[i - 1] < expected.values[i]);
            CHECK(expected.count != 0 && expected.values[alone[0].passages - 1] >> ND_PASSAGE_BITS == 0);
            for (int i = 0; i < 4; i++) {
                uint8_t packed[3][8];
                uint64_t keys[3][4];
                CHECK(nd_sketch_texts((const uint8_t *)texts, ends, 3, forms + i, &form, found, packed[0], keys[0], &kept) ==
                      ND_OK);
                CHECK(kept.count == expected.count && memcmp(kept.values, expected.values, 8 * kept.count) == 0);
                CHECK(found[0].passages == alone[0].passages && found[0].simhash == alone[0].simhash);
                nd_hashes_free(&kept);
            }
            nd_hashes_free(&expected);
        }
    }
}

/* The most values and bands that a sketch may have, and the fewest. */
static void test_sketches(void) {
    static uint8_t packed[2 * ND_MAX_VALUES];
    static uint64_t keys[ND_MAX_VALUES];
    const char *text = "one 2 three four 5";
    nd_text_features found;
    nd_minhash_form large = {2, 1, ND_MAX_VALUES, 16, ND_MAX_VALUES, 1, 0}, small = {9, 0, 8, 1, 1, 8, 0};
    size_t end = strlen(text);
    CHECK(nd_sketch_texts((const uint8_t *)text, &end, 1, &large, NULL, &found, packed, keys, NULL) == ND_OK);
    CHECK(found.tokens == 3 && found.shingles == 4 && keys[ND_MAX_VALUES - 1] >> 32 == ND_MAX_VALUES - 1);
    uint8_t before = packed[1] = 77;
    CHECK(nd_sketch_texts((const uint8_t *)text, &end, 1, &small, NULL, &found, packed, keys, NULL) == ND_OK);
    CHECK(found.tokens == 3 && found.shingles == 1 && packed[1] == before);
    const char *texts = "Tea 2 for two   ...One";
    size_t ends[4] = {9, 13, 19, 22};
    nd_text_features all[4], one;
    static uint8_t many[4][2 * ND_MAX_VALUES], alone[2 * ND_MAX_VALUES];
    static uint64_t many_keys[4][ND_MAX_VALUES], keys_alone[ND_MAX_VALUES];
    size_t own = 4;
    CHECK(nd_sketch_texts((const uint8_t *)texts, ends, 4, &large, NULL, all, many[0], many_keys[0], NULL) == ND_OK);
    CHECK(all[2].tokens == 0 && all[2].shingles == 0 && many[2][0] == 0);
    CHECK(nd_sketch_texts((const uint8_t *)texts + 9, &own, 1, &large, NULL, &one, alone, keys_alone, NULL) == ND_OK);
    CHECK(memcmp(&all[1], &one, sizeof one) == 0 && memcmp(many[1], alone, sizeof alone) == 0);
    CHECK(memcmp(many_keys[1], keys_alone, sizeof keys_alone) == 0);
    CHECK(nd_sketch_texts((const uint8_t *)texts, ends, 4, NULL, NULL, all, NULL, NULL, NULL) == ND_OK);
    CHECK(all[1].simhash == one.simhash && all[1].tokens == one.tokens && all[2].simhash == 0 && all[2].tokens == 0);
    uint8_t laid_out[] = "- te\xC2\xAD" "a\n * 2 \xE2\x88\x92" "5 1\xE2\x80\x93" "2 \xCF\x82";
    nd_tokens folded;
    CHECK(nd_fold((const uint8_t *)"J\xCC\x8C  A\xCC\x80", 8, &folded) == ND_OK && folded.length == 5);
    CHECK(memcmp(folded.text, "\xC7\xB0 \xC3\xA0", 5) == 0);
    nd_tokens_free(&folded);
    CHECK(nd_fold(NULL, 0, &folded) == ND_OK && folded.length == 0);
    nd_tokens_free(&folded);
    CHECK(nd_without_layout(laid_out, sizeof laid_out - 1) == 19 && memcmp(laid_out, " tea\n 2 -5 1\xE2\x80\x93" "2 \xCF\x83", 19) == 0);
    uint64_t numbers[6] = {0, 5, 0, UINT64_MAX, 5, 1};
    size_t count = 6;
    CHECK(nd_distinct(numbers, &count) == ND_OK && count == 4);
    CHECK(numbers[0] == 0 && numbers[1] == 5 && numbers[2] == UINT64_MAX && numbers[3] == 1);
}

static void test_columns(void) {
    const char *ids = "aab";
    size_t ends[] = {1, 1, 3};
    uint8_t found[3][ND_CLUSTER_ID], alone[ND_CLUSTER_ID];
    nd_cluster_ids((const uint8_t *)ids, ends, 3, found[0]);
    nd_cluster_ids((const uint8_t *)ids + 1, (size_t[]){2}, 1, alone);
    CHECK(memcmp(found[2], alone, sizeof alone) == 0 && memcmp(found[0], found[1], sizeof alone) != 0);
    nd_cluster_ids(NULL, NULL, 0, NULL);
    CHECK(nd_is_clean(NULL, 0) && nd_is_clean((const uint8_t *)"a\tb\n", 4) && nd_is_clean((const uint8_t *)"\xEF\xBF", 2));
    CHECK(!nd_is_clean((const uint8_t *)"a\x1f", 2) && !nd_is_clean((const uint8_t *)"", 1));
    CHECK(!nd_is_clean((const uint8_t *)"\xC2\x9B", 2) && nd_is_clean((const uint8_t *)"\xC3\x9B", 2));
    CHECK(!nd_is_clean((const uint8_t *)"\xEF\xBF\xBE", 3) && !nd_is_clean((const uint8_t *)"\xEF\xBB\xBF", 3));
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
                       "the lazy dog's tail, www.example.org and so on until sixty-four bytes have gone by twice over";
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

static void test_markup(void) {
    static const uint8_t TAGS[2 * ND_TAG_NAME] = "p", TAG_ENDS[1] = {ND_ENDS_WORD};
    uint8_t seen[2] = {0, 0}, blank[3] = {0xE3, 0x80, 0x80};
    nd_markup_names names = {TAGS, 1, TAG_ENDS, 1, (const uint8_t *)"nav", 1};
    nd_markup found;
    CHECK(nd_scan_markup(NULL, 0, &names, seen, &found) == ND_OK && found.length == 0 && found.depth == 0 && seen[0] == 0);
    nd_free(found.page);
    CHECK(nd_scan_markup((const uint8_t *)"a<P><b class=nav", 16, &names, seen, &found) == ND_OK && seen[0] == 1 && seen[1] == 0);
    CHECK(found.length == 17 && memcmp(found.page, "a <P><b class=nav", 17) == 0 && found.depth == 2);
    CHECK(found.classes_length == 4 && memcmp(found.classes, " nav", 4) == 0 && found.ids == NULL);
    CHECK(!found.styles && !found.roles);
    nd_free(found.page);
    nd_free(found.classes);
    CHECK(nd_scan_markup((const uint8_t *)"<p/STYLE = x a='b'Role=y data-style=z", 37, &names, seen, &found) == ND_OK);
    CHECK(found.styles && found.roles);
    nd_free(found.page);
    CHECK(nd_scan_markup((const uint8_t *)"<p data-style=x roles=y style>", 30, &names, seen, &found) == ND_OK);
    CHECK(!found.styles && !found.roles);
    nd_free(found.page);
    static const size_t ENDS[2] = {2, 5};
    nd_find_marks(NULL, 0, (const uint8_t *)"ab<me", ENDS, 2, seen);
    CHECK(seen[0] == 0 && seen[1] == 0);
    nd_find_marks((const uint8_t *)"<m<aB", 5, (const uint8_t *)"ab<me", ENDS, 2, seen);
    CHECK(seen[0] == 1 && seen[1] == 0);
    nd_find_marks((const uint8_t *)"<<ME", 4, (const uint8_t *)"ab<me", ENDS, 2, seen);
    CHECK(seen[0] == 0 && seen[1] == 1);
    CHECK(nd_collapse(NULL, 0, 1) == 0);
    for (size_t length = 0; length <= 3; length++) CHECK(nd_collapse(blank, length, 1) == (length == 3 ? 0 : length));
    uint8_t marked[] = "\f\na\f\t\f\nb \f\n\f \f\tc\f\f\f\nd\fe\f";
    CHECK(nd_collapse(marked, sizeof marked - 1, 1) == 9 && memcmp(marked, "a\tb\nc\fd e", 9) == 0);
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

/* A shingle is hashed like its bytes, whatever its length, and as many features are met as there are. */
static void test_shingles(void) {
    const char *text = "one two three four five six seven eight nine ten";
    nd_hashes tokens, shingles;
    CHECK(nd_token_hashes((const uint8_t *)text, strlen(text), &tokens) == ND_OK && tokens.count == 10);
    for (size_t size = 1; size <= 12; size++) {
        CHECK(nd_shingle_hashes((const uint8_t *)text, strlen(text), size, 0, &shingles) == ND_OK);
        size_t run = size < 10 ? size : 10;
        CHECK(shingles.count == 11 - run);
        for (size_t i = 0; i < shingles.count; i++) {
            uint8_t bytes[80];
            for (size_t at = 0; at < 8 * run; at++) bytes[at] = (uint8_t)(tokens.values[i + at / 8] >> 8 * (at % 8));
            CHECK(shingles.values[i] == nd_lookup8(bytes, 8 * run, 0));
        }
        nd_hashes_free(&shingles);
    }
    /* Allocations of exactly this many features, so that the sanitizers see a read past them. */
    for (size_t count = 1; count <= 10; count++) {
        uint64_t *exact = malloc(count * sizeof *exact), projection;
        memcpy(exact, tokens.values, count * sizeof *exact);
        for (int level = 0; level < 3; level++) {
            nd_set_simd_level(level);
            uint32_t whole, single;
            CHECK(nd_minhash(exact, count, 1, &whole) == ND_OK);
            int met = 0;
            for (size_t i = 0; i < count; i++) {
                nd_minhash(exact + i, 1, 1, &single);
                CHECK(whole <= single);
                met |= whole == single;
            }
            CHECK(met);
            CHECK(nd_random_projection(exact, count, 1, &projection) == ND_OK);
        }
        free(exact);
    }
    nd_hashes_free(&tokens);
}

/* The tokens of a text with numbers; the same without digits; and runs of three characters across both. */
static void test_numbers_and_characters(void) {
    const char *text = "v2 10. 1\xD9\xA3 _ \xE5\xB9\xB4""7\xE4\xBA\xBA a1b";
    const char *with[] = {"v2", "10", "1\xD9\xA3", "\xE5\xB9\xB4", "7", "\xE4\xBA\xBA", "a1b"};
    const char *without[] = {"v", "\xE5\xB9\xB4", "\xE4\xBA\xBA", "ab"};
    const char *line = "v \xE5\xB9\xB4 \xE4\xBA\xBA ab";
    nd_tokens all, stripped;
    CHECK(nd_tokenise_with_numbers((const uint8_t *)text, strlen(text), &all) == ND_OK && all.count == 7);
    for (size_t i = 0; i < 7 && all.count == 7; i++)
        CHECK(strlen(with[i]) == all.ends[i] - all.starts[i] && !memcmp(with[i], all.text + all.starts[i], strlen(with[i])));
    CHECK(nd_strip_digits(all.text, all.starts, all.ends, all.count, &stripped) == ND_OK && stripped.count == 4);
    for (size_t i = 0; i < 4 && stripped.count == 4; i++)
        CHECK(strlen(without[i]) == stripped.ends[i] - stripped.starts[i] &&
              !memcmp(without[i], stripped.text + stripped.starts[i], strlen(without[i])));
    CHECK(stripped.length == strlen(line) && !memcmp(stripped.text, line, stripped.length));
    nd_hashes runs;
    CHECK(nd_character_hashes(stripped.text, stripped.starts, stripped.ends, stripped.count, 3, &runs) == ND_OK);
    CHECK(runs.count == 6 && runs.values[0] == nd_lookup8((const uint8_t *)line, 5, 0));
    CHECK(runs.values[5] == nd_lookup8((const uint8_t *)line + strlen(line) - 3, 3, 0));
    nd_hashes_free(&runs);
    CHECK(nd_character_hashes(stripped.text, stripped.starts, stripped.ends, stripped.count, 64, &runs) == ND_OK);
    CHECK(runs.count == 1 && runs.values[0] == nd_lookup8((const uint8_t *)line, strlen(line), 0));
    nd_hashes_free(&runs);
    CHECK(nd_character_hashes(NULL, NULL, NULL, 0, 3, &runs) == ND_OK && runs.count == 0);
    nd_hashes_free(&runs);
    nd_tokens_free(&stripped);
    CHECK(nd_strip_digits(NULL, NULL, NULL, 0, &stripped) == ND_OK && stripped.count == 0);
    nd_tokens_free(&stripped);
    nd_tokens_free(&all);
}

static void test_intersections(void) {
    uint64_t values[2000], offsets[4] = {0, 1000, 1990, 2000}, left[4] = {0, 0, 1, 2}, right[4] = {1, 2, 2, 2}, sizes[4];
    for (uint64_t i = 0; i < 1000; i++) values[i] = 2 * i;
    for (uint64_t i = 0; i < 990; i++) values[1000 + i] = 3 * i;
    for (uint64_t i = 0; i < 10; i++) values[1990 + i] = 200 * i + (i == 9 ? 10000 : 0);
    nd_intersections(values, offsets, left, right, 4, sizes);
    CHECK(sizes[0] == 334);
    CHECK(sizes[1] == 9);
    CHECK(sizes[2] == 3);
    CHECK(sizes[3] == 10);
}

static void test_meetings(void) {
    /* Run 0 on side 1 of both, run 1 on either side, run 2 in common; runs 1 and 2 lie in one table. */
    const uint64_t codes[] = {1, 2, 4, 1, 3, 4}, offsets[] = {0, 3, 6, 6}, tables[] = {0, 1, 1};
    const uint64_t left[] = {0, 0, 0}, right[] = {1, 2, 0};
    uint64_t firsts[3];
    nd_meetings(codes, offsets, tables, left, right, 3, 1, firsts);
    CHECK(firsts[0] == 1 && firsts[1] == ND_NOWHERE && firsts[2] == 1);
    nd_meetings(codes, offsets, tables, left, right, 3, 2, firsts);
    CHECK(firsts[0] == ND_NOWHERE && firsts[2] == ND_NOWHERE);
    nd_meetings(NULL, NULL, NULL, NULL, NULL, 0, 1, NULL);
}

static void test_align(void) {
    uint64_t left[600], right[600];
    uint32_t blocks[4 * 301];
    size_t count = 9;
    for (uint64_t i = 0; i < 600; i++) left[i] = right[i] = i;
    CHECK(nd_align(left, 600, right, 600, 0, blocks, &count) == ND_OK && count == 0);
    CHECK(nd_align(left, 0, right, 2, 2, blocks, &count) == ND_OK && count == 1);
    CHECK(blocks[0] == 0 && blocks[1] == 0 && blocks[2] == 0 && blocks[3] == 2);
    for (size_t i = 0; i < 600; i += 4) right[i] = 1000 + i;
    CHECK(nd_align(left, 600, right, 600, 299, blocks, &count) == ND_OVERFLOW);
    CHECK(nd_align(left, 600, right, 600, 300, blocks, &count) == ND_OK && count == 150);
    CHECK(blocks[4] == 4 && blocks[5] == 5 && blocks[6] == 4 && blocks[7] == 5);
}

static int print_fingerprint(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 1;
    uint8_t *text = malloc(1 << 24);
    size_t length = text == NULL ? 0 : fread(text, 1, 1 << 24, file);
    fclose(file);
    uint64_t value = 0, tokens = 0;
    int status = nd_fingerprint(text, length, &value, &tokens);
    printf("%d %016llx %llu", status, (unsigned long long)value, (unsigned long long)tokens);
    nd_hashes shingles = {NULL, 0};
    if (nd_shingle_hashes(text, length, 5, 0, &shingles) == ND_OK && shingles.count != 0) {
        uint32_t signature[4] = {0};
        uint64_t projection, key;
        double *weights = malloc(shingles.count * sizeof *weights);
        for (size_t i = 0; weights != NULL && i < shingles.count; i++) weights[i] = (double)(1 + i % 7);
        nd_minhash(shingles.values, shingles.count, 2, signature);
        nd_random_projection(shingles.values, shingles.count, 1, &projection);
        if (weights != NULL) nd_weighted_minhash(shingles.values, weights, shingles.count, 2, signature + 2);
        nd_band_keys(signature, 1, 4, &key);
        printf(" %016llx %016llx", (unsigned long long)projection, (unsigned long long)key);
        free(weights);
    }
    nd_hashes_free(&shingles);
    nd_minhash_form form = {5, 1, 1024, 1, 16, 4, 0};
    nd_text_features found;
    uint8_t packed[128];
    uint64_t keys[16];
    nd_passages_form passages = {5, 32, 0};
    nd_hashes kept = {NULL, 0};
    if (nd_sketch_texts(text, &length, 1, &form, &passages, &found, packed, keys, &kept) == ND_OK)
        printf(" %016llx %llu %llu %llu", (unsigned long long)nd_lookup8(packed, sizeof packed, 0),
               (unsigned long long)found.shingles, (unsigned long long)keys[15],
               (unsigned long long)(kept.count == 0 ? 0 : kept.values[kept.count - 1]));
    nd_hashes_free(&kept);
    length = nd_without_layout(text, length);
    printf(" %016llx\n", (unsigned long long)nd_lookup8(text, length, 0));
    free(text);
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) failures += print_fingerprint(argv[i]);
    if (argc > 1) return failures != 0;
    test_nothing();
    test_columns();
    test_ties_and_overflow();
    test_every_length();
    test_many_marks();
    test_markup();
    test_keys();
    test_shingles();
    test_words();
    test_signs();
    test_common_runs();
    test_winnow();
    test_numbers_and_characters();
    test_intersections();
    test_meetings();
    test_align();
    test_sketches();
    test_passages();
    if (failures == 0) puts("core: all held");
    return failures != 0;
}
