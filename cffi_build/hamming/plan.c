/* Which bits the tables of an all-pairs search look at.

   Take m disjoint blocks of bits. Two hashes within k bits of each other differ in at most k of the blocks, so they
   agree in at least m - k; one table for each choice of m - k blocks meets every such pair (Manku, Jain and Das Sarma
   2007, section 3). More blocks mean more tables, each with a longer key and fewer pairs to compare in vain. The blocks
   are made equal not in bits but in how much their bits tell apart, measured on a sample, so that bits which all hashes
   share weigh nothing. */

#include <math.h>

#include "pairs_internal.h"

#define SAMPLE 4096

/* What moving a value into a table costs, in comparisons of two values: measured on random hashes, by level of
   instructions. Wide registers compare eight at once and move no faster. */
static const double MOVE_COSTS[3] = {8, 25, 90};

static unsigned popcount(uint64_t mask) { return (unsigned)__builtin_popcountll(mask); }

/* For each bit -log2 of the chance that two hashes agree in it: 1 for an even bit, 0 for one that all share. */
static void measure_bits(const uint64_t *values, size_t count, double *worth) {
    size_t step = count > SAMPLE ? count / SAMPLE : 1, taken = 0;
    size_t ones[64] = {0};
    for (size_t i = 0; i < count; i += step, taken++)
        for (int bit = 0; bit < 64; bit++) ones[bit] += values[i] >> bit & 1;
    for (int bit = 0; bit < 64; bit++) {
        double p = (double)ones[bit] / (double)taken;
        worth[bit] = -log2(p * p + (1 - p) * (1 - p));
    }
}

static double choose(unsigned n, unsigned k) {
    double result = 1;
    for (unsigned i = 0; i < k; i++) result = result * (n - i) / (i + 1);
    return result;
}

/* Deals the bits, the most telling first, each to the block that tells least so far; gives what the blocks tell. */
static void deal_blocks(const double *worth, const int *order, unsigned blocks, uint64_t *masks, double *told) {
    for (unsigned b = 0; b < blocks; b++) masks[b] = 0, told[b] = 0;
    for (int i = 0; i < 64; i++) {
        unsigned least = 0;
        for (unsigned b = 1; b < blocks; b++)
            if (told[b] < told[least]) least = b;
        if (worth[order[i]] <= 0.01) break;
        masks[least] |= (uint64_t)1 << order[i];
        told[least] += worth[order[i]];
    }
}

/* The bits of a key that a table really uses: the most telling ones, until they tell `enough`. */
static uint64_t trim_key(uint64_t key, const double *worth, const int *order, double enough) {
    uint64_t used = 0;
    double told = 0;
    for (int i = 0; i < 64 && told < enough; i++) {
        if (!(key >> order[i] & 1)) continue;
        used |= (uint64_t)1 << order[i];
        told += worth[order[i]];
    }
    return used;
}

static void order_bits(const double *worth, int *order) {
    for (int i = 0; i < 64; i++) {
        int j = i;
        for (; j > 0 && worth[order[j - 1]] < worth[i]; j--) order[j] = order[j - 1];
        order[j] = i;
    }
}

void nd_choose_plan(const uint64_t *values, size_t count, unsigned distance, nd_plan *plan) {
    double worth[64];
    int order[64];
    plan->count = 1;
    plan->masks[0] = 0;
    if (count < ND_BRUTE_COUNT) return;
    measure_bits(values, count, worth);
    order_bits(worth, order);
    double n = (double)count, enough = log2(n) + 3, move = MOVE_COSTS[nd_simd_level()];
    double best_cost = n * n / 2;
    unsigned best = 0;
    uint64_t blocks[64];
    double told[64];
    for (unsigned m = distance + 1; m <= distance + 8 && choose(m, distance) <= ND_MAX_TABLES; m++) {
        deal_blocks(worth, order, m, blocks, told);
        double sum = 0;
        for (unsigned b = 0; b < m; b++) sum += told[b];
        double key = sum * (m - distance) / m;
        double cost = choose(m, distance) * (n * move + n * n / 2 * exp2(-fmin(key, enough)));
        if (cost < best_cost) best_cost = cost, best = m;
    }
    if (best == 0) return;
    deal_blocks(worth, order, best, blocks, told);
    plan->count = 0;
    unsigned take = best - distance;
    /* All choices of `take` blocks, as bit sets in increasing order (Gosper's step). */
    for (uint64_t set = ((uint64_t)1 << take) - 1; set < (uint64_t)1 << best;) {
        uint64_t key = 0;
        for (unsigned b = 0; b < best; b++)
            if (set >> b & 1) key |= blocks[b];
        plan->masks[plan->count++] = trim_key(key, worth, order, enough);
        uint64_t low = set & (~set + 1), next = set + low;
        set = ((set ^ next) >> 2) / low | next;
    }
}

size_t nd_index_plan(const uint64_t *values, size_t count, unsigned distance, uint64_t *masks) {
    double worth[64], told[64];
    int order[64];
    uint64_t blocks[64];
    if (count == 0) {
        for (unsigned b = 0; b <= distance; b++) masks[b] = 0;
        return distance + 1;
    }
    measure_bits(values, count, worth);
    order_bits(worth, order);
    deal_blocks(worth, order, distance + 1, blocks, told);
    for (unsigned b = 0; b <= distance; b++)
        masks[b] = nd_split_mask(trim_key(blocks[b], worth, order, log2((double)count)), ND_MAX_DIRECTORY_BITS);
    return distance + 1;
}

uint64_t nd_split_mask(uint64_t mask, unsigned bits) {
    /* Taken from both ends in turn would tell no more: the bits of a trimmed key are alike. */
    uint64_t part = 0;
    while (mask != 0 && popcount(part) < bits) {
        part |= mask & (~mask + 1);
        mask &= mask - 1;
    }
    return part;
}
