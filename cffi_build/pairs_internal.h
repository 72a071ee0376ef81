/* Shared by the files of the all-pairs search. */
#ifndef ND_PAIRS_INTERNAL_H
#define ND_PAIRS_INTERNAL_H

#include "internal.h"

/* Up to so many values are compared each with each, without any table. */
#define ND_BRUTE_COUNT 192

typedef struct {
    uint64_t masks[ND_MAX_TABLES];
    size_t count; /* one table with an empty mask: compare each with each */
} nd_plan;

/* The cheapest plan that meets every pair within `distance` bits among these values. */
void nd_choose_plan(const uint64_t *values, size_t count, unsigned distance, nd_plan *plan);

/* At most `bits` of a mask's bits. */
uint64_t nd_split_mask(uint64_t mask, unsigned bits);

#endif
