/* Where some wanted hashes stand in a large array: a hash table behind a filter of bits. */

#include <stdlib.h>

#include "internal.h"

/* Knuth 6.4: the golden ratio spreads values that are not even in their upper bits. */
static inline size_t slot_of(uint64_t value, unsigned bits) {
    return (size_t)((value * 0x9E3779B97F4A7C15u) >> (64 - bits));
}

int nd_find_values(const uint64_t *values, size_t count, const uint64_t *wanted, size_t wanted_count, int64_t *places,
                   int64_t *positions, size_t room, size_t *found) {
    unsigned bits = 6;
    while (bits < 40 && (size_t)1 << bits < wanted_count * 2) bits++;
    unsigned filter_bits = bits + 3;
    /* A slot holds a place + 1; 0 is free. */
    size_t *slots = calloc((size_t)1 << bits, sizeof *slots);
    uint64_t *filter = calloc(((size_t)1 << filter_bits) / 64, sizeof *filter);
    if (slots == NULL || filter == NULL) {
        free(slots);
        free(filter);
        return ND_NO_MEMORY;
    }
    size_t last = ((size_t)1 << bits) - 1;
    for (size_t i = 0; i < wanted_count; i++) {
        size_t bit = slot_of(wanted[i], filter_bits), slot = bit >> 3;
        filter[bit / 64] |= (uint64_t)1 << bit % 64;
        while (slots[slot] != 0) slot = (slot + 1) & last;
        slots[slot] = i + 1;
    }
    size_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bit = slot_of(values[i], filter_bits), slot = bit >> 3;
        if (!(filter[bit / 64] >> bit % 64 & 1)) continue;
        while (slots[slot] != 0 && wanted[slots[slot] - 1] != values[i]) slot = (slot + 1) & last;
        if (slots[slot] == 0) continue;
        if (hits < room) {
            places[hits] = (int64_t)slots[slot] - 1;
            positions[hits] = (int64_t)i;
        }
        hits++;
    }
    free(slots);
    free(filter);
    *found = hits;
    return ND_OK;
}
