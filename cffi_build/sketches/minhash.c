/* Minhash signatures by permutations, the keys of their bands, and how many of their packed values differ. */

#include "internal.h"
#include "simd.h"

/* Values that are worked on at once: their permutations and minima stay in the nearest cache. */
#define BLOCK 256

#define LESSER(x, y) ((x) < (y) ? (x) : (y))

/* Four features at a time, so that a permutation and its minimum are loaded once for all of them; written out, since
   compilers vectorise the loop over the values only when it is the innermost. */
ND_INLINE void minima(const uint64_t *restrict features, size_t count, const uint32_t *restrict a,
                      const uint32_t *restrict b, size_t values, uint32_t *restrict least) {
    for (size_t at = 0; at < count; at += 4) {
        size_t last = count - 1 - at;
        uint32_t x0 = (uint32_t)features[at], x1 = (uint32_t)features[at + LESSER(last, 1)];
        uint32_t x2 = (uint32_t)features[at + LESSER(last, 2)], x3 = (uint32_t)features[at + LESSER(last, 3)];
        for (size_t i = 0; i < values; i++) {
            uint32_t v0 = a[i] * x0 + b[i], v1 = a[i] * x1 + b[i], v2 = a[i] * x2 + b[i], v3 = a[i] * x3 + b[i];
            uint32_t low = LESSER(v0, v1), high = LESSER(v2, v3), lowest = LESSER(low, high);
            least[i] = LESSER(lowest, least[i]);
        }
    }
}

static void minima_plain(const uint64_t *features, size_t count, const uint32_t *a, const uint32_t *b, size_t values,
                         uint32_t *least) {
    minima(features, count, a, b, values, least);
}

#ifdef ND_X86
ND_AVX2 static void minima_avx2(const uint64_t *features, size_t count, const uint32_t *a, const uint32_t *b,
                                size_t values, uint32_t *least) {
    minima(features, count, a, b, values, least);
}
ND_AVX512 static void minima_avx512(const uint64_t *features, size_t count, const uint32_t *a, const uint32_t *b,
                                    size_t values, uint32_t *least) {
    minima(features, count, a, b, values, least);
}
#endif

void nd_minima(const uint64_t *features, size_t count, const uint32_t *a, const uint32_t *b, size_t values,
               uint32_t *least) {
    ND_DISPATCH(minima, features, count, a, b, values, least);
}

int nd_minhash(const uint64_t *features, size_t count, size_t values, uint32_t *signature) {
    if (count == 0) return ND_EMPTY;
    for (size_t at = 0; at < values; at += BLOCK) {
        uint32_t a[BLOCK], b[BLOCK];
        size_t block = values - at < BLOCK ? values - at : BLOCK;
        for (size_t i = 0; i < block; i++) {
            nd_permutation(at + i, &a[i], &b[i]);
            signature[at + i] = UINT32_MAX;
        }
        nd_minima(features, count, a, b, block, signature + at);
    }
    return ND_OK;
}

void nd_band_keys(const uint32_t *signature, size_t bands, size_t rows, uint64_t *keys) {
    uint8_t bytes[4 * ND_MAX_ROWS];
    for (size_t band = 0; band < bands; band++) {
        for (size_t at = 0; at < 4 * rows; at++) bytes[at] = (uint8_t)(signature[band * rows + at / 4] >> 8 * (at % 4));
        keys[band] = nd_lookup8(bytes, 4 * rows, 0);
    }
}

/* Where two strings differ, folded so that the lowest bit of every group says whether any of its bits does. */
ND_INLINE uint32_t differing_groups(uint64_t x, unsigned bits, uint64_t lowest) {
    for (unsigned shift = bits / 2; shift != 0; shift /= 2) x |= x >> shift;
    return (uint32_t)__builtin_popcountll(x & lowest);
}

ND_INLINE uint32_t difference(const uint8_t *one, const uint8_t *other, size_t bytes, unsigned bits) {
    uint64_t lowest = ~(uint64_t)0 / (((uint64_t)1 << bits) - 1);
    uint32_t sum = 0;
    size_t at = 0;
    for (; bytes - at >= 8; at += 8) sum += differing_groups(nd_load64(one + at) ^ nd_load64(other + at), bits, lowest);
    if (at < bytes) {
        uint8_t left[8] = {0}, right[8] = {0};
        memcpy(left, one + at, bytes - at);
        memcpy(right, other + at, bytes - at);
        sum += differing_groups(nd_load64(left) ^ nd_load64(right), bits, lowest);
    }
    return sum;
}

ND_INLINE void differing(const uint8_t *one, const uint8_t *others, size_t count, size_t bytes, unsigned bits,
                         uint32_t *found) {
    for (size_t n = 0; n < count; n++) found[n] = difference(one, others + n * bytes, bytes, bits);
}

ND_INLINE void differing_pairs(const uint8_t *packed, size_t bytes, unsigned bits, const uint64_t *left,
                               const uint64_t *right, size_t pairs, uint32_t *found) {
    for (size_t p = 0; p < pairs; p++)
        found[p] = difference(packed + left[p] * bytes, packed + right[p] * bytes, bytes, bits);
}

static void differing_plain(const uint8_t *one, const uint8_t *others, size_t count, size_t bytes, unsigned bits,
                            uint32_t *found) {
    differing(one, others, count, bytes, bits, found);
}

static void differing_pairs_plain(const uint8_t *packed, size_t bytes, unsigned bits, const uint64_t *left,
                                  const uint64_t *right, size_t pairs, uint32_t *found) {
    differing_pairs(packed, bytes, bits, left, right, pairs, found);
}

#ifdef ND_X86
ND_AVX2 static void differing_avx2(const uint8_t *one, const uint8_t *others, size_t count, size_t bytes,
                                   unsigned bits, uint32_t *found) {
    differing(one, others, count, bytes, bits, found);
}
ND_AVX512 static void differing_avx512(const uint8_t *one, const uint8_t *others, size_t count, size_t bytes,
                                       unsigned bits, uint32_t *found) {
    differing(one, others, count, bytes, bits, found);
}
ND_AVX2 static void differing_pairs_avx2(const uint8_t *packed, size_t bytes, unsigned bits, const uint64_t *left,
                                         const uint64_t *right, size_t pairs, uint32_t *found) {
    differing_pairs(packed, bytes, bits, left, right, pairs, found);
}
ND_AVX512 static void differing_pairs_avx512(const uint8_t *packed, size_t bytes, unsigned bits, const uint64_t *left,
                                             const uint64_t *right, size_t pairs, uint32_t *found) {
    differing_pairs(packed, bytes, bits, left, right, pairs, found);
}
#endif

void nd_differing(const uint8_t *one, const uint8_t *others, size_t count, size_t bytes, unsigned bits,
                  uint32_t *found) {
    ND_DISPATCH(differing, one, others, count, bytes, bits, found);
}

void nd_differing_pairs(const uint8_t *packed, size_t bytes, unsigned bits, const uint64_t *left, const uint64_t *right,
                        size_t pairs, uint32_t *found) {
    ND_DISPATCH(differing_pairs, packed, bytes, bits, left, right, pairs, found);
}
