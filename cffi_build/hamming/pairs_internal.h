/* Shared by the files of the all-pairs search. */
#ifndef ND_PAIRS_INTERNAL_H
#define ND_PAIRS_INTERNAL_H

#include "internal.h"

/* Up to this many values are compared each with each, without any table. */
#define ND_BRUTE_COUNT 192

/* Buckets of an index's table, as a power of two: 128 MB of offsets. */
#define ND_MAX_DIRECTORY_BITS 24

typedef struct {
    uint64_t masks[ND_MAX_TABLES];
    size_t count; /* one table with an empty mask: compare each with each */
} nd_plan;

/* The cheapest plan that meets every pair within `distance` bits among these values. */
void nd_choose_plan(const uint64_t *values, size_t count, unsigned distance, nd_plan *plan);

/* At most `bits` of a mask's bits. */
uint64_t nd_split_mask(uint64_t mask, unsigned bits);

static inline uint64_t nd_draw_bits_plain(uint64_t value, uint64_t mask) {
    uint64_t drawn = 0;
    for (uint64_t bit = 1; mask != 0; mask &= mask - 1, bit <<= 1)
        if (value & mask & (~mask + 1)) drawn |= bit;
    return drawn;
}

#ifdef ND_X86
__attribute__((target("bmi2"))) static inline uint64_t nd_draw_bits_avx2(uint64_t value, uint64_t mask) {
    return _pext_u64(value, mask);
}
#endif

#endif
