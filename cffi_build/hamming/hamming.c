/* Keys of a hash, and Hamming distances of one to many and many to many. */

#include "internal.h"
#include "simd.h"

void nd_keys(const uint64_t *values, size_t count, uint32_t *keys) {
    for (size_t i = 0; i < count; i++) {
        uint64_t value = values[i];
        for (uint32_t table = 0; table < ND_KEY_TABLES; table++) {
            unsigned shift = 48 - 16 * (table / 4);
            uint64_t block = value >> shift & 0xFFFF;
            /* The 48 bits left of the value once that block is taken out. */
            uint64_t low = value & (((uint64_t)1 << shift) - 1);
            uint64_t high = shift == 48 ? 0 : value >> (shift + 16) << shift;
            uint64_t part = (high | low) >> (36 - 12 * (table % 4)) & 0xFFF;
            *keys++ = table << ND_KEY_BITS | (uint32_t)(block << 12 | part);
        }
    }
}

ND_INLINE void hamming_one(uint64_t query, const uint64_t *restrict values, size_t count, uint8_t *restrict distances) {
    for (size_t i = 0; i < count; i++) distances[i] = (uint8_t)__builtin_popcountll(query ^ values[i]);
}

static void hamming_one_plain(uint64_t query, const uint64_t *values, size_t count, uint8_t *distances) {
    hamming_one(query, values, count, distances);
}

#ifdef ND_X86
ND_AVX2 static void hamming_one_avx2(uint64_t query, const uint64_t *values, size_t count, uint8_t *distances) {
    hamming_one(query, values, count, distances);
}
ND_AVX512 static void hamming_one_avx512(uint64_t query, const uint64_t *values, size_t count, uint8_t *distances) {
    hamming_one(query, values, count, distances);
}
#endif

void nd_hamming_one(uint64_t query, const uint64_t *values, size_t count, uint8_t *distances) {
    ND_DISPATCH(hamming_one, query, values, count, distances);
}

void nd_hamming_many(const uint64_t *left, size_t left_count, const uint64_t *right, size_t right_count,
                     uint8_t *distances) {
    for (size_t i = 0; i < left_count; i++) nd_hamming_one(left[i], right, right_count, distances + i * right_count);
}
