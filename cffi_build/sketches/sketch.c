/* Fast similarity sketching: the signature, its packed form, and the distinct ones of features. */

#include <stdlib.h>

#include "internal.h"
#include "simd.h"

/* In place of an image, which has 63 bits: no feature has come here. */
#define NOTHING UINT64_MAX

/* Places whose permutations are worked on at once, and the whole vectors that their number is rounded up to. */
#define BLOCK 256
#define VECTOR 16

/* Two rounds: every feature goes to one place in each, where the least image stays. Without a branch, for which of two is
   less can't be foreseen, and with two rounds at once, since each waits for memory. */
ND_INLINE void scatter(const uint64_t *restrict features, size_t count, unsigned shift, uint64_t round,
                       uint64_t *restrict first, uint64_t *restrict second) {
    uint64_t a = nd_splitmix(1, round) | 1, b = nd_splitmix(1, round + 1) | 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t x = features[i] * a, y = features[i] * b;
        uint64_t *left = &first[x >> shift], *right = &second[y >> shift];
        uint64_t least = *left, other = *right;
        x >>= 1, y >>= 1;
        *left = x < least ? x : least;
        *right = y < other ? y : other;
    }
}

/* Gives the places that are empty still what two rounds brought there, with the round's number, and counts the others. */
ND_INLINE size_t settle(uint64_t round, const uint64_t *restrict first, const uint64_t *restrict second, size_t values,
                        uint64_t *restrict least) {
    size_t left = 0;
    for (size_t i = 0; i < values; i++) {
        uint64_t late = second[i] == NOTHING ? NOTHING : (round + 1) << 52 | second[i] >> 11;
        uint64_t found = first[i] == NOTHING ? late : round << 52 | first[i] >> 11;
        least[i] = least[i] == NOTHING ? found : least[i];
        left += least[i] == NOTHING;
    }
    return left;
}

ND_INLINE void sign(const uint64_t *restrict least, size_t values, uint32_t *restrict signature) {
    for (size_t i = 0; i < values; i++) signature[i] = (uint32_t)(nd_splitmix(least[i], i) >> 32);
}

static void scatter_plain(const uint64_t *features, size_t count, unsigned shift, uint64_t round, uint64_t *first,
                          uint64_t *second) {
    scatter(features, count, shift, round, first, second);
}
static void settle_plain(uint64_t round, const uint64_t *first, const uint64_t *second, size_t values, uint64_t *least,
                         size_t *left) {
    *left = settle(round, first, second, values, least);
}
static void sign_plain(const uint64_t *least, size_t values, uint32_t *signature) { sign(least, values, signature); }

#ifdef ND_X86
ND_AVX2 static void scatter_avx2(const uint64_t *features, size_t count, unsigned shift, uint64_t round,
                                 uint64_t *first, uint64_t *second) {
    scatter(features, count, shift, round, first, second);
}
ND_AVX512 static void scatter_avx512(const uint64_t *features, size_t count, unsigned shift, uint64_t round,
                                     uint64_t *first, uint64_t *second) {
    scatter(features, count, shift, round, first, second);
}
ND_AVX2 static void settle_avx2(uint64_t round, const uint64_t *first, const uint64_t *second, size_t values,
                                uint64_t *least, size_t *left) {
    *left = settle(round, first, second, values, least);
}
ND_AVX512 static void settle_avx512(uint64_t round, const uint64_t *first, const uint64_t *second, size_t values,
                                    uint64_t *least, size_t *left) {
    *left = settle(round, first, second, values, least);
}
ND_AVX2 static void sign_avx2(const uint64_t *least, size_t values, uint32_t *signature) {
    sign(least, values, signature);
}
ND_AVX512 static void sign_avx512(const uint64_t *least, size_t values, uint32_t *signature) {
    sign(least, values, signature);
}
#endif

/* What is left empty takes the least image of all features under a permutation of its own. */
static void fill(const uint64_t *features, size_t count, size_t values, uint64_t *least) {
    for (size_t at = 0; at < values;) {
        uint32_t a[BLOCK] = {0}, b[BLOCK] = {0}, images[BLOCK];
        size_t places[BLOCK], found = 0;
        for (; at < values && found < BLOCK; at++) {
            places[found] = at;
            found += least[at] == NOTHING;
        }
        if (found == 0) return;
        for (size_t i = 0; i < found; i++) {
            nd_permutation(places[i], &a[i], &b[i]);
            images[i] = UINT32_MAX;
        }
        size_t whole = (found + VECTOR - 1) / VECTOR * VECTOR;
        for (size_t i = found; i < whole; i++) images[i] = 0;
        nd_minima(features, count, a, b, whole, images);
        for (size_t i = 0; i < found; i++) least[places[i]] = images[i];
    }
}

int nd_fast_minhash(const uint64_t *features, size_t count, size_t values, size_t rounds, uint32_t *signature) {
    if (count == 0) return ND_EMPTY;
    unsigned shift = 64 - (unsigned)__builtin_ctzll(values);
    size_t left = values;
    uint64_t least[ND_MAX_VALUES], first[ND_MAX_VALUES], second[ND_MAX_VALUES];
    for (size_t i = 0; i < values; i++) least[i] = NOTHING;
    for (size_t round = 0; round < rounds && left != 0; round += 2) {
        for (size_t i = 0; i < values; i++) first[i] = second[i] = NOTHING;
        ND_DISPATCH(scatter, features, count, shift, round, first, second);
        ND_DISPATCH(settle, round, first, second, values, least, &left);
    }
    if (left != 0) fill(features, count, values, least);
    ND_DISPATCH(sign, least, values, signature);
    return ND_OK;
}

void nd_pack(const uint32_t *signature, size_t values, unsigned bits, uint8_t *packed) {
    if (bits == 16) {
        for (size_t i = 0; i < values; i++) {
            packed[2 * i] = (uint8_t)(signature[i] >> 16);
            packed[2 * i + 1] = (uint8_t)(signature[i] >> 24);
        }
        return;
    }
    size_t each = 8 / bits;
    for (size_t i = 0; i < values; i += each) {
        unsigned byte = 0;
        for (size_t j = 0; j < each; j++) byte = byte << bits | (i + j < values ? signature[i + j] >> (32 - bits) : 0);
        packed[i / each] = (uint8_t)byte;
    }
}

/* A set with open addressing: a slot holds the place of its number behind 1, or 0. The slot of a number is drawn by a
   multiplier that depends on all of them, so that no text can be made whose numbers meet in one slot; and few are taken,
   for whether one is can't be foreseen. */
typedef struct {
    uint32_t *slots;
    uint64_t multiplier;
    unsigned bits; /* there are 2 to the power of them slots */
} set;

static inline size_t slot_of(const set *set, const uint64_t *numbers, uint64_t number) {
    size_t mask = ((size_t)1 << set->bits) - 1, slot = (size_t)(number * set->multiplier >> (64 - set->bits));
    while (set->slots[slot] != 0 && numbers[set->slots[slot] - 1] != number) slot = (slot + 1) & mask;
    return slot;
}

static bool set_resize(set *set, unsigned bits, const uint64_t *numbers, size_t count) {
    free(set->slots);
    set->bits = bits;
    set->slots = bits <= 32 && bits + 2 < 8 * sizeof(size_t) ? calloc((size_t)1 << bits, sizeof *set->slots) : NULL;
    if (set->slots == NULL) return false;
    for (size_t i = 0; i < count; i++) set->slots[slot_of(set, numbers, numbers[i])] = (uint32_t)i + 1;
    return true;
}

int nd_distinct(uint64_t *numbers, size_t *count) {
    enum { FIRST = 6, LARGE = 17, GROWTH = 2 };
    size_t kept = 0, all = *count;
    uint64_t sum = 0;
    for (size_t i = 0; i < all; i++) sum += numbers[i];
    set set = {NULL, nd_splitmix(sum, all) | 1, FIRST};
    unsigned bits = FIRST;
    while (bits < LARGE && (size_t)1 << bits < 8 * all) bits++;
    if (!set_resize(&set, bits, NULL, 0)) return ND_NO_MEMORY;
    for (size_t i = 0; i < all; i++) {
        uint64_t number = numbers[i];
        size_t slot = slot_of(&set, numbers, number);
        if (set.slots[slot] != 0) continue;
        numbers[kept++] = number;
        set.slots[slot] = (uint32_t)kept;
        if (kept > (size_t)1 << (set.bits - 2) && !set_resize(&set, set.bits + GROWTH, numbers, kept)) return ND_NO_MEMORY;
    }
    free(set.slots);
    *count = kept;
    return ND_OK;
}
