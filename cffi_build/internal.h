/* Shared by the .c files of the core; nothing outside includes it. */
#ifndef ND_INTERNAL_H
#define ND_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "simhash.h"

#if defined(__x86_64__) && !defined(ND_PLAIN)
#define ND_X86 1
#include <immintrin.h>
#endif

/* Bytes behind every text buffer that may be read (they are zero), so that loops take whole blocks. */
#define ND_SLACK 64

typedef struct {
    uint8_t *data;
    size_t length;
    size_t capacity; /* without the slack */
} nd_buffer;

/* Room for `more` bytes; false where memory runs out, and the buffer is as it was. */
static inline bool nd_buffer_reserve(nd_buffer *buffer, size_t more) {
    if (more <= buffer->capacity - buffer->length) return true;
    if (more > SIZE_MAX / 4 - buffer->length) return false;
    size_t capacity = buffer->length + more + buffer->length / 2;
    uint8_t *data = realloc(buffer->data, capacity + ND_SLACK);
    if (data == NULL) return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

/* Where parts of a normalised text come from: from out[out] on, `size` bytes of the text from text[in] on, which became
   another number of bytes; or, where size is 0, as many bytes as there are up to the next piece, each from its own. */
typedef struct {
    size_t out, in, size;
} nd_piece;

typedef struct {
    nd_piece *items;
    size_t count;
    size_t room;
} nd_pieces;

/* Normalises a text; with `pieces`, which may be NULL, also says where each part of `out` comes from. */
int nd_normalise_into(const uint8_t *text, size_t length, nd_buffer *out, nd_pieces *pieces);

/* Overwrites URLs, e-mail addresses, DOIs and like identifiers in a normalised text with spaces. */
void nd_blank_identifiers(uint8_t *text, size_t length);

/* Whether a normalised text holds marks or letters that nd_fold_marks changes; and changes them, in place. */
bool nd_has_marks(const uint8_t *text, size_t length);
void nd_fold_marks(nd_buffer *text);

/* What tokens are cut from: the text normalised, its identifiers blanked. */
int nd_prepare(const uint8_t *text, size_t length, nd_buffer *buffer);

/* The same without marks that a language may leave out: what all sketches but simhash-doc are made of. */
int nd_prepare_folded(const uint8_t *text, size_t length, nd_buffer *buffer);

/* Tokens on their way from the scan to whoever wants them. */
#define ND_BATCH 256
typedef struct {
    size_t starts[ND_BATCH];
    size_t ends[ND_BATCH];
    size_t count;
    bool lettered[ND_BATCH]; /* whether a token holds an Alphabetic character */
    size_t numbers;          /* tokens that hold none */
} nd_batch;

/* Takes the tokens of a batch and leaves it to be filled again; false stops the scan. */
typedef bool (*nd_batch_sink)(void *state, const uint8_t *text, const nd_batch *batch);

/* Gives every token of a normalised text to `sink`, in order, with `numbers` also pieces with no letter but a digit;
   false where the sink stopped it. The text has ND_SLACK zero bytes behind it. */
bool nd_scan_tokens(const uint8_t *text, size_t length, bool numbers, nd_batch_sink sink, void *state);

/* lookup8 (initial value 0) of each token of a batch: ND_BATCH numbers at most. */
void nd_hash_batch(const uint8_t *text, const nd_batch *batch, uint64_t *hashes);

/* Adds up hashes, each bit +1 or -1, in 64 counters laid out by bit plane: plane p holds bit p of all 64 counts. */
typedef struct {
    uint64_t pending[16]; /* carry-save sums of weight 1, 2, 4 and 8 */
    uint64_t planes[64];
    uint64_t count;
} nd_counter;

void nd_counter_add(nd_counter *counter, const uint64_t *hashes, size_t count);
uint64_t nd_counter_simhash(const nd_counter *counter);

/* Hashes that grow in number: there is room for `room`. */
typedef struct {
    nd_hashes hashes;
    size_t room;
} nd_list;

/* Room for `more` hashes; false where memory runs out, and the list is as it was. */
bool nd_list_reserve(nd_list *list, size_t more);
bool nd_list_add(nd_list *list, const uint64_t *hashes, size_t count);

/* Makes hashes of tokens, of which there is one at least, those of their shingles. */
void nd_shingle(nd_hashes *hashes, size_t size);

/* Adds a token behind the others, and one space before it where it does not follow the one before directly. */
bool nd_add_token(nd_buffer *line, const uint8_t *token, size_t length, bool adjacent);

/* The hashes of nd_character_hashes of a line of tokens; those in the list before are lost. ND_NO_MEMORY. */
int nd_hash_line(nd_buffer *line, size_t size, nd_list *list);

/* nd_winnow from hashes to others, of which there are at most as many; they may be the same. */
int nd_winnow_into(const uint64_t *hashes, size_t count, size_t window, uint64_t *kept, size_t *kept_count);

/* The permutation of the 32-bit numbers, x -> a * x + b, for value `index` of a minhash signature; and for each of some
   permutations the least of what it was and of the images of all features' low halves. */
static inline void nd_permutation(size_t index, uint32_t *a, uint32_t *b);
void nd_minima(const uint64_t *features, size_t count, const uint32_t *a, const uint32_t *b, size_t values,
               uint32_t *least);

/* lookup8: what the state starts from, its whole blocks of 24 bytes (gives how many bytes they are), and the last mix
   of `count` independent states at once, which leaves the hashes in c. */
#define ND_GOLDEN 0x9E3779B97F4A7C13u
#define ND_GOLDEN_GAMMA 0x9E3779B97F4A7C15u
size_t nd_mix_blocks(const uint8_t *key, size_t length, uint64_t *a, uint64_t *b, uint64_t *c);
void nd_mix_batch(uint64_t *a, uint64_t *b, uint64_t *c, size_t count);

/* lookup8 (initial value 0) of the little-endian bytes of words[i] to words[i + size - 1], for each i below `count`,
   which is at most ND_BATCH. */
void nd_lookup8_windows(const uint64_t *words, size_t size, size_t count, uint64_t *hashes);

/* Number `index` (from 0) of the generator SplitMix64 (Steele, Lea and Flood 2014) that starts from `seed`. */
static inline uint64_t nd_splitmix(uint64_t seed, uint64_t index) {
    uint64_t z = seed + (index + 1) * ND_GOLDEN_GAMMA;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline void nd_permutation(size_t index, uint32_t *a, uint32_t *b) {
    *a = (uint32_t)(nd_splitmix(0, 2 * (uint64_t)index) >> 32) | 1;
    *b = (uint32_t)(nd_splitmix(0, 2 * (uint64_t)index + 1) >> 32);
}

static inline uint64_t nd_load64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void nd_store64(uint8_t *at, uint64_t word) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(at, &word, sizeof word);
}

static inline bool nd_is_lower_alnum(uint8_t c) { return (uint8_t)(c - 'a') < 26 || (uint8_t)(c - '0') < 10; }

/* Decodes the character at text[0], length > 0; gives its length in bytes. */
static inline size_t nd_decode(const uint8_t *text, size_t length, uint32_t *code) {
    uint8_t lead = text[0];
    *code = 0xFFFD;
    if (lead < 0x80) {
        *code = lead;
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4) return 1;
    if (lead < 0xE0) {
        if (length < 2 || (text[1] & 0xC0) != 0x80) return 1;
        *code = (uint32_t)(lead & 0x1F) << 6 | (text[1] & 0x3F);
        return 2;
    }
    /* The second byte's range shuts out overlong forms, surrogates and what lies past U+10FFFF. */
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (length < 2 || text[1] < low || text[1] > high) return 1;
    if (length < 3 || (text[2] & 0xC0) != 0x80) return 2;
    if (lead < 0xF0) {
        *code = (uint32_t)(lead & 0x0F) << 12 | (uint32_t)(text[1] & 0x3F) << 6 | (text[2] & 0x3F);
        return 3;
    }
    if (length < 4 || (text[3] & 0xC0) != 0x80) return 3;
    *code = (uint32_t)(lead & 0x07) << 18 | (uint32_t)(text[1] & 0x3F) << 12 | (uint32_t)(text[2] & 0x3F) << 6 |
            (text[3] & 0x3F);
    return 4;
}

/* Whether an ideograph from U+4000 to U+9FFF stands at text[0]; they are all alike to every table, as the generator of
   the tables makes sure. The hexagrams among them, U+4DC0 to U+4DFF, begin with the bytes E4 B7 and are left out. */
static inline bool nd_is_common_han(const uint8_t *text, size_t length) {
    return length >= 3 && (uint8_t)(text[0] - 0xE4) < 6 && (text[1] & 0xC0) == 0x80 && (text[2] & 0xC0) == 0x80 &&
           !(text[0] == 0xE4 && text[1] == 0xB7);
}

/* The same for two ideographs at text[0..5], where eight bytes may be read. */
static inline bool nd_are_common_han(const uint8_t *text) {
    uint64_t word = nd_load64(text), nibbles = word & 0x0F00000Fu;
    uint64_t at_least_4 = nibbles + 0x0C00000Cu, at_least_10 = nibbles + 0x06000006u;
    return (word & 0xC0C0F0C0C0F0u) == 0x8080E08080E0u && (at_least_4 & ~at_least_10 & 0x10000010u) == 0x10000010u &&
           (word & 0xFFFF) != 0xB7E4 && (word >> 24 & 0xFFFF) != 0xB7E4;
}

/* Writes at most 4 bytes. */
static inline size_t nd_encode(uint32_t code, uint8_t *out) {
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xC0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (code & 0x3F));
    return 4;
}

#endif
