/* Fuzz target: any bytes through every function that takes text, and the results held against each other.

   With Clang this is driven by libFuzzer. Elsewhere the small driver below makes inputs by itself:
   fuzz_core [seconds] [seed]. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "simhash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

/* The same by the list of tokens: hashes of all, added up with weights of one. */
static int fingerprint_by_list(const uint8_t *data, size_t size, uint64_t *value) {
    nd_tokens tokens;
    require(nd_tokenise(data, size, &tokens) == ND_OK, "tokenise");
    uint64_t *hashes = malloc((tokens.count + 1) * sizeof *hashes);
    int64_t *weights = malloc((tokens.count + 1) * sizeof *weights);
    require(hashes != NULL && weights != NULL, "memory");
    size_t last = 0;
    for (size_t i = 0; i < tokens.count; i++) {
        require(tokens.starts[i] >= last && tokens.starts[i] < tokens.ends[i] && tokens.ends[i] <= tokens.length, "order");
        last = tokens.ends[i];
        hashes[i] = nd_lookup8(tokens.text + tokens.starts[i], tokens.ends[i] - tokens.starts[i], 0);
        weights[i] = 1;
    }
    int status = nd_simhash(hashes, weights, tokens.count, value);
    free(hashes);
    free(weights);
    nd_tokens_free(&tokens);
    return status;
}

/* Shingles are runs of the tokens' hashes, and what is made from them is the same by every level of instructions. */
static void features(const uint8_t *data, size_t size) {
    nd_hashes tokens, shingles;
    size_t run = 1 + size % 7;
    nd_tokens plain = {NULL, 0, NULL, NULL, 0};
    int folds = nd_without_marks(data, size, &plain) == ND_OK;
    require(nd_token_hashes(folds ? plain.text : data, folds ? plain.length : size, &tokens) == ND_OK, "hashes");
    nd_tokens_free(&plain);
    require(nd_shingle_hashes(data, size, run, 0, &shingles) == ND_OK, "shingles");
    size_t expected = tokens.count < run ? tokens.count != 0 : tokens.count - run + 1;
    require(shingles.count == expected, "one shingle for each run");
    uint32_t signatures[3][70] = {{0}};
    uint64_t projections[3][2] = {{0}}, keys[10];
    uint32_t samples[3][7] = {{0}};
    double weights[64];
    size_t few = tokens.count < 64 ? tokens.count : 64;
    for (size_t i = 0; i < few; i++) weights[i] = (double)(1 + tokens.values[i] % 9);
    for (int level = 0; level < 3; level++) {
        nd_set_simd_level(level);
        int status = nd_minhash(shingles.values, shingles.count, 70, signatures[level]);
        require(status == (shingles.count == 0 ? ND_EMPTY : ND_OK), "minhash");
        nd_random_projection(tokens.values, tokens.count, 2, projections[level]);
        nd_weighted_minhash(tokens.values, weights, few, 7, samples[level]);
        require(memcmp(signatures[level], signatures[0], sizeof signatures[0]) == 0, "minhash same by level");
        require(memcmp(projections[level], projections[0], sizeof projections[0]) == 0, "projection same by level");
        require(memcmp(samples[level], samples[0], sizeof samples[0]) == 0, "samples same by level");
    }
    nd_band_keys(signatures[0], 10, 7, keys);
    for (size_t i = 1; i < 10; i++)
        require(memcmp(signatures[0], signatures[0] + 7 * i, 28) != 0 || keys[0] == keys[i], "keys of equal bands");
    nd_hashes_free(&tokens);
    nd_hashes_free(&shingles);
}

/* The shingles that sketches are made of, made on their own. */
static nd_hashes runs_of(const uint8_t *data, size_t size, size_t shingle, int numbers, int letters) {
    nd_hashes runs = {NULL, 0};
    if (!letters) {
        require(nd_shingle_hashes(data, size, shingle, numbers, &runs) == ND_OK, "shingles");
        return runs;
    }
    nd_tokens tokens, plain = {NULL, 0, NULL, NULL, 0};
    if (nd_without_marks(data, size, &plain) == ND_OK) {
        data = plain.text;
        size = plain.length;
    }
    require(nd_tokenise_with_numbers(data, size, &tokens) == ND_OK, "tokens");
    nd_tokens_free(&plain);
    /* Behind one another, so that they stand side by side. */
    size_t end = 0;
    for (size_t i = 0; i < tokens.count; i++) {
        size_t length = tokens.ends[i] - tokens.starts[i];
        memmove(tokens.text + end, tokens.text + tokens.starts[i], length);
        tokens.starts[i] = end;
        tokens.ends[i] = end += length;
    }
    int status = nd_character_hashes(tokens.text, tokens.starts, tokens.ends, tokens.count, shingle, &runs);
    require(status == ND_OK, "characters");
    nd_tokens_free(&tokens);
    return runs;
}

/* The sketch of one pass is that of the shingles, distinct or not, by every level of instructions. */
static void sketches(const uint8_t *data, size_t size) {
    static const unsigned BITS[5] = {1, 2, 4, 8, 16};
    size_t values = (size_t)8 << size % 8;
    nd_minhash_form form = {1 + size % 7, size % 3 != 0, values, BITS[size % 5], values / 4, 1 + size % 4, size % 5 == 0};
    nd_hashes shingles = runs_of(data, size, form.shingle, form.numbers, form.letters);
    nd_passages_form passages = {1 + size % 5, 1 + size % 40, size % 2 != 0};
    uint64_t mask = ((uint64_t)1 << ND_PASSAGE_BITS) - 1;
    nd_hashes runs = runs_of(data, size, passages.shingle, 1, passages.letters);
    require(nd_winnow(runs.values, &runs.count, passages.window) == ND_OK, "winnowing");
    static uint32_t signature[ND_MAX_VALUES];
    static uint8_t packed[3][2 * ND_MAX_VALUES], expected[2 * ND_MAX_VALUES];
    static uint64_t keys[3][ND_MAX_VALUES], plain[ND_MAX_VALUES];
    size_t bytes = values * form.bits / 8;
    uint64_t simhash = 0, tokens = 0;
    nd_fingerprint(data, size, &simhash, &tokens);
    for (int level = 0; level < 3; level++) {
        nd_set_simd_level(level);
        nd_text_features found;
        nd_hashes kept;
        int status = nd_sketch_texts(data, &size, 1, &form, &passages, &found, packed[level], keys[level], &kept);
        require(status == ND_OK, "one pass");
        require(found.tokens == tokens && (tokens == 0 || found.simhash == simhash), "fingerprint");
        require(found.passages == kept.count, "keys of passages");
        for (size_t i = 0; i < kept.count; i++) {
            require(i == 0 || kept.values[i - 1] < kept.values[i], "keys that rise");
            size_t place = 0;
            while (place < runs.count && (runs.values[place] & mask) != kept.values[i]) place++;
            require(place < runs.count, "keys of windows");
        }
        nd_hashes_free(&kept);
        if (nd_fast_minhash(shingles.values, shingles.count, values, ND_ROUNDS, signature) != ND_OK) continue;
        nd_pack(signature, values, form.bits, expected);
        nd_band_keys(signature, form.bands, form.rows, plain);
        require(memcmp(packed[level], expected, bytes) == 0, "sketch of one pass");
        for (size_t i = 0; i < form.bands; i++)
            require(keys[level][i] == ((uint64_t)i << 32 | (uint32_t)plain[i]), "keys of one pass");
        require(memcmp(packed[level], packed[0], bytes) == 0, "sketch same by level");
    }
    size_t count = shingles.count, first = 0;
    uint64_t *numbers = malloc((count + 1) * sizeof *numbers);
    require(numbers != NULL, "memory");
    if (count != 0) memcpy(numbers, shingles.values, count * sizeof *numbers);
    require(nd_distinct(numbers, &count) == ND_OK, "distinct");
    for (size_t i = 0; i < shingles.count; i++) {
        size_t place = 0;
        while (place < first && numbers[place] != shingles.values[i]) place++;
        require(place < first || (first < count && numbers[first] == shingles.values[i]), "distinct in order");
        first += place == first;
    }
    require(first == count, "no more than are distinct");
    free(numbers);
    nd_hashes_free(&runs);
    nd_hashes_free(&shingles);
}

/* What is left of a text without layout is a text again, and no longer. */
static void laid_out(const uint8_t *data, size_t size) {
    uint8_t *text = malloc(size + 1);
    require(text != NULL, "memory");
    if (size != 0) memcpy(text, data, size);
    require(nd_without_layout(text, size) <= size, "a text without layout is no longer");
    free(text);
}

/* Runs of characters of the tokens, each hashed by itself, and the hashes of the tokens. */
static void characters(const nd_tokens *tokens, size_t size) {
    uint8_t *line = malloc(2 * tokens->length + 1), *exact = malloc(tokens->length + 1);
    uint64_t *hashes = malloc((tokens->count + 1) * sizeof *hashes);
    require(line != NULL && exact != NULL && hashes != NULL, "memory");
    if (tokens->length != 0) memcpy(exact, tokens->text, tokens->length);
    nd_hash_spans(exact, tokens->length, tokens->starts, tokens->ends, tokens->count, hashes);
    size_t length = 0, shingles = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        size_t bytes = tokens->ends[i] - tokens->starts[i];
        require(hashes[i] == nd_lookup8(exact + tokens->starts[i], bytes, 0), "hash of a span");
        if (i != 0 && tokens->starts[i] != tokens->ends[i - 1]) line[length++] = ' ';
        memcpy(line + length, exact + tokens->starts[i], bytes);
        length += bytes;
    }
    nd_hashes found;
    require(nd_character_hashes(exact, tokens->starts, tokens->ends, tokens->count, size, &found) == ND_OK, "characters");
    for (size_t start = 0, end = 0; start < length && (shingles == 0 || end < length); shingles++) {
        if (shingles != 0)
            do start++;
            while ((line[start] & 0xC0) == 0x80);
        size_t taken = 0;
        for (end = start; end < length && (taken < size || (line[end] & 0xC0) == 0x80); end++)
            taken += end + 1 == length || (line[end + 1] & 0xC0) != 0x80;
        require(shingles < found.count && found.values[shingles] == nd_lookup8(line + start, end - start, 0), "a run");
    }
    require(shingles == found.count, "one shingle for each run of characters");
    nd_hashes_free(&found);
    free(hashes);
    free(exact);
    free(line);
}

/* With the numbers there are more tokens, and the same without them; without digits there are none. */
static void numbers(const uint8_t *data, size_t size) {
    nd_tokens plain, all, stripped;
    require(nd_tokenise(data, size, &plain) == ND_OK && nd_tokenise_with_numbers(data, size, &all) == ND_OK, "tokenise");
    require(nd_strip_digits(all.text, all.starts, all.ends, all.count, &stripped) == ND_OK, "strip");
    size_t at = 0;
    for (size_t i = 0; i < all.count; i++)
        at += at < plain.count && plain.starts[at] == all.starts[i] && plain.ends[at] == all.ends[i];
    require(at == plain.count && stripped.count <= all.count, "the others are the same");
    size_t last = 0;
    for (size_t i = 0; i < stripped.count; i++) {
        require(stripped.starts[i] >= last && stripped.starts[i] < stripped.ends[i], "order");
        last = stripped.ends[i];
        for (size_t byte = stripped.starts[i]; byte < last; byte++)
            require(stripped.text[byte] < '0' || stripped.text[byte] > '9', "no digits");
    }
    require(last == stripped.length, "nothing behind the last");
    characters(&plain, 1 + size % 9);
    characters(&stripped, 1 + size % 4);
    nd_tokens_free(&plain);
    nd_tokens_free(&all);
    nd_tokens_free(&stripped);
}

/* Words keep their order among the signs, which are single characters of the text. */
static void signs(const uint8_t *data, size_t size, size_t characters, const nd_words *words) {
    static uint32_t kinds[ND_SIGN_CODES];
    for (uint32_t i = 0; i < ND_SIGN_CODES; i++) kinds[i] = i | (i % 3 == 0 ? ND_SIGN_NEVER << i % 11 : 0);
    nd_signed_words found;
    require(nd_signed_words_of(data, size, kinds, &found) == ND_OK, "signs");
    size_t word = 0;
    for (size_t i = 0; i < found.count; i++) {
        require(i == 0 || found.starts[i] >= found.starts[i - 1], "order of words and signs");
        require(found.ends[i] <= characters && found.starts[i] < found.ends[i], "signs within the text");
        require(found.are_words[i] || found.ends[i] == found.starts[i] + 1, "a sign is a character");
        if (found.are_words[i]) require(word < words->count && found.values[i] == words->hashes[word++], "a word among signs");
    }
    require(word == words->count, "all words among signs");
    nd_free(found.values);
}

/* Words are the tokens, in order and within the text; with what identifiers hold there are no fewer that begin no earlier. */
static void places(const uint8_t *data, size_t size) {
    size_t characters = 0;
    for (size_t i = 0; i < size; i++) characters += (data[i] & 0xC0) != 0x80;
    nd_tokens plain = {NULL, 0, NULL, NULL, 0};
    /* Words lose the marks that a language may leave out, and one of such marks alone is none. */
    int folds = nd_without_marks(data, size, &plain) == ND_OK;
    nd_tokens_free(&plain);
    for (int all = 0; all < 2; all++) {
        nd_words words;
        nd_hashes tokens;
        require(nd_words_of(data, size, all, all, &words) == ND_OK, "words");
        require(nd_token_hashes(data, size, &tokens) == ND_OK, "tokens");
        require(all || words.count == tokens.count || (folds && words.count < tokens.count), "as many words as tokens");
        for (size_t i = 0; i < words.count; i++) {
            require(all || folds || words.hashes[i] == tokens.values[i], "hashes of words");
            require(words.starts[i] < words.ends[i], "a word has characters");
            require(words.ends[i] <= characters, "words within the text");
            require(i == 0 || (words.starts[i] >= words.starts[i - 1] && words.ends[i] >= words.ends[i - 1]), "order");
        }
        if (all) signs(data, size, characters, &words);
        nd_hashes_free(&tokens);
        nd_free(words.hashes);
    }
}

/* Runs of two halves are equal hashes, in order within a chain, and the longest chain of a row with itself is the row. */
static void common(const uint8_t *data, size_t size) {
    uint64_t *row = malloc(size * sizeof *row + 1);
    require(row != NULL, "memory");
    for (size_t i = 0; i < size; i++) row[i] = data[i] & 31;
    size_t half = size / 2, shortest = 1 + size % 5;
    nd_runs runs;
    require(nd_common_runs(row, half, row + half, size - half, shortest, size % 9, size % 12, &runs) == ND_OK, "runs");
    for (size_t i = 0; i < runs.count; i++) {
        nd_run run = runs.items[i];
        require(run.size > 0 && run.left + run.size <= half && run.right + run.size <= size - half, "within the rows");
        require(memcmp(row + run.left, row + half + run.right, run.size * sizeof *row) == 0, "equal hashes");
        if (i == 0 || runs.items[i - 1].chain != run.chain) continue;
        nd_run last = runs.items[i - 1];
        require(last.left + last.size <= run.left && last.right + last.size <= run.right, "one behind the other");
    }
    nd_free(runs.items);
    require(nd_common_runs(row, size, row, size, 1, 0, 1, &runs) == ND_OK, "runs");
    require(size == 0 ? runs.count == 0 : runs.items[0].left == 0 && runs.items[0].right == 0 && runs.items[0].size == size, "all");
    nd_free(runs.items);
    free(row);
}

/* Groups of packed bits that differ, against a loop over the bits. */
/* Columns of texts: what is made of many behind one another is what is made of each alone, and is not clean only where
   a part or a border is not. */
static void columns(const uint8_t *data, size_t size) {
    size_t half = size / 2, ends[] = {half, half, size};
    uint8_t together[3][ND_CLUSTER_ID], alone[ND_CLUSTER_ID];
    nd_cluster_ids(data, ends, 3, together[0]);
    nd_cluster_ids(data + half, (size_t[]){size - half}, 1, alone);
    require(memcmp(together[2], alone, sizeof alone) == 0, "the id of a cluster");
    int clean = nd_is_clean(data, half) && nd_is_clean(data + half, size - half);
    require(clean || !nd_is_clean(data, size), "a text with an unclean part is unclean");
    for (size_t i = 0; i < size; i++) {
        if (data[i] < 9 || (data[i] > 13 && data[i] < 32) || data[i] == 127) require(!nd_is_clean(data, size), "control");
    }
}

static void packed(const uint8_t *data, size_t size) {
    size_t bytes = size / 3;
    for (unsigned bits = 1; bits <= 16; bits *= 2) {
        uint32_t found[2] = {0, 0};
        nd_differing(data, data + bytes, 2, bytes, bits, found);
        uint64_t left[2] = {0, 2}, right[2] = {1, 0};
        uint32_t pairs[2] = {0, 0};
        nd_differing_pairs(data, bytes, bits, left, right, 2, pairs);
        require(pairs[0] == found[0] && pairs[1] == found[1], "pairs");
        for (size_t other = 0; other < 2; other++) {
            uint32_t differing = 0;
            for (size_t group = 0; group < bytes * 8; group += bits) {
                int differs = 0;
                for (size_t bit = group; bit < group + bits && bit < bytes * 8; bit++)
                    differs |= (data[bit / 8] ^ data[(1 + other) * bytes + bit / 8]) >> bit % 8 & 1;
                differing += differs != 0;
            }
            require(found[other] == differing, "differing groups");
        }
    }
}

/* A page gets nothing but white space, and collapsing is idempotent. */
static void markup(const uint8_t *data, size_t size) {
    static const uint8_t TAGS[3 * ND_TAG_NAME] = "p\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0div\0\0\0\0\0\0\0\0\0\0\0\0\0nav";
    static const uint8_t TAG_ENDS[2] = {ND_ENDS_WORD, ND_ENDS_LINES};
    static const nd_markup_names NAMES = {TAGS, 3, TAG_ENDS, 2, (const uint8_t *)"navfoo", 2};
    uint8_t seen[3] = {0, 0, 0};
    nd_markup found;
    require(nd_scan_markup(data, size, &NAMES, seen, &found) == ND_OK, "scan");
    static const size_t ENDS[2] = {2, 5};
    nd_find_marks(data, size, (const uint8_t *)"ab<me", ENDS, 2, seen);
    int there = 0;
    for (size_t i = 0; i + 1 < size; i++) there |= (data[i] | 0x20) == 'a' && (data[i + 1] | 0x20) == 'b';
    require(seen[0] == there, "marks");
    seen[0] = seen[1] = 0;
    require(found.depth <= size && found.classes_length + found.ids_length <= 2 * size, "depth and names");
    size_t inked[2] = {0, 0};
    for (size_t i = 0; i < size; i++) inked[0] += data[i] > ' ';
    for (size_t i = 0; i < found.length; i++) inked[1] += found.page[i] > ' ';
    require(inked[0] == inked[1], "only white space is added");
    size_t length = nd_collapse(found.page, found.length, 1);
    require(length <= found.length && nd_collapse(found.page, length, 0) == length, "collapsing is idempotent");
    nd_free(found.page);
    nd_free(found.classes);
    nd_free(found.ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t values[3] = {0}, counts[3] = {0}, listed = 0;
    int statuses[3];
    /* An allocation of exactly this size, so that a read past its end is seen. */
    uint8_t *exact = malloc(size == 0 ? 1 : size);
    require(exact != NULL, "memory");
    if (size != 0) memcpy(exact, data, size);
    for (int level = 0; level < 3; level++) {
        nd_set_simd_level(level);
        statuses[level] = nd_fingerprint(exact, size, &values[level], &counts[level]);
        require(statuses[level] == statuses[0] && values[level] == values[0] && counts[level] == counts[0], "same by level");
    }
    require(fingerprint_by_list(exact, size, &listed) == statuses[0] && listed == values[0], "same by list");
    features(exact, size);
    sketches(exact, size);
    laid_out(exact, size);
    packed(exact, size);
    columns(exact, size);
    numbers(exact, size);
    places(exact, size);
    common(exact, size);
    markup(exact, size);
    nd_tokens once, twice;
    require(nd_normalise(exact, size, &once) == ND_OK, "normalise");
    require(nd_normalise(once.text, once.length, &twice) == ND_OK, "normalise again");
    require(once.length == twice.length && memcmp(once.text, twice.text, once.length) == 0, "normalising is idempotent");
    nd_tokens_free(&once);
    nd_tokens_free(&twice);
    free(exact);
    return 0;
}

#ifdef ND_FUZZ_DRIVER
static uint64_t seed = 88172645463325252u;

static uint64_t draw(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static const char *const PIECES[] = {
    "the quick brown fox ", "https://example.org/a?b=c#d", "doi:10.1000/182", "10.1000/xyz", "www.a.b", "a@b.co",
    "123e4567-e89b-12d3-a456-426614174000", "\xCC\x81", "\xCC\xA3", "\xE2\x80\x8D", "\xC2\xAD", "\xEF\xB7\xBA",
    "\xE1\x84\x80", "\xE1\x85\xA1", "\xE1\x86\xA8", "\xEA\xB0\x80", "\xE4\xB8\xAD\xE6\x96\x87", "\xC3\x84", "'", "\"",
    ".", ":", "_", "\xD7\x90", "\xE0\xA4\x95\xE0\xA5\x8D", "\xF0\x9F\x91\xA8", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\n",
    "<p>", "</DIV ", "<nav class=\"", " id = nav", "<", "foot", " 12 ", "\xD9\xA3", "\xE1\x9A\x80", "\xE2\x80\xA8", "\xC2\x85", "  "};

int main(int argc, char **argv) {
    static uint8_t input[4096];
    time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 10);
    if (argc > 2) seed ^= strtoull(argv[2], NULL, 10) * 0x9E3779B97F4A7C15u;
    unsigned long runs = 0;
    for (; time(NULL) < end; runs++) {
        size_t size = 0, wanted = draw() % (draw() % 8 == 0 ? sizeof input - 64 : 256);
        while (size < wanted) {
            if (draw() % 3 == 0) {
                input[size++] = (uint8_t)draw();
                continue;
            }
            const char *piece = PIECES[draw() % (sizeof PIECES / sizeof PIECES[0])];
            size_t length = strlen(piece);
            memcpy(input + size, piece, length);
            size += length;
        }
        if (size != 0 && draw() % 4 == 0) input[draw() % size] ^= (uint8_t)(1u << draw() % 8);
        LLVMFuzzerTestOneInput(input, size);
    }
    printf("%lu inputs, nothing found\n", runs);
    return 0;
}
#endif
