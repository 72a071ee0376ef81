/* All pairs of hashes within some bits of each other, exactly. See plan.c for the tables.

   A table's values lie in buckets that fit the cache. Within a bucket they are sorted by the rest of the key, and each
   group of equal keys is compared each with each. Where the hashes are so alike that a group is large, the group is
   searched in the same way again, with tables made for its own values. A pair that agrees in several tables is given
   by the first of them, at every level. */

#include <stdlib.h>

#include "pairs_internal.h"
#include "simd.h"

#define BUCKET_VALUES 8192 /* 64 KB: a bucket and its sorted copy stay in the second-level cache */
#define MAX_BUCKET_BITS 12
#define MAX_GROUP_BITS 13
#define LARGE_GROUP 512
#define MAX_DEPTH 8

/* A level of the search: a pair counts only where no earlier table of the level's plan has it too. */
typedef struct level {
    const struct level *above;
    const uint64_t *masks;
    size_t table;
} level;

typedef struct {
    uint64_t *left, *right;
    size_t count, block;
    nd_pair_sink sink;
    void *state;
    unsigned distance;
    int status;
} output;

static void output_open(output *out, unsigned distance, size_t block, nd_pair_sink sink, void *state) {
    *out = (output){NULL, NULL, 0, block == 0 ? 1 : block, sink, state, distance, ND_OK};
    if (out->block <= SIZE_MAX / 16) {
        out->left = malloc(out->block * sizeof(uint64_t));
        out->right = malloc(out->block * sizeof(uint64_t));
    }
    if (out->left == NULL || out->right == NULL) out->status = ND_NO_MEMORY;
}

static void output_flush(output *out) {
    if (out->status == ND_OK && out->count != 0 && out->sink(out->state, out->left, out->right, out->count) != 0)
        out->status = ND_STOPPED;
    out->count = 0;
}

static int output_close(output *out) {
    output_flush(out);
    free(out->left);
    free(out->right);
    return out->status;
}

static bool comes_first(const level *at, uint64_t difference) {
    for (; at != NULL; at = at->above) {
        /* Values of one group need not agree in all of the key: the sort may have used only a part of it. */
        if ((difference & at->masks[at->table]) != 0) return false;
        for (size_t t = 0; t < at->table; t++)
            if ((difference & at->masks[t]) == 0) return false;
    }
    return true;
}

static void give(output *out, const level *at, uint64_t a, uint64_t b) {
    if (!comes_first(at, a ^ b)) return;
    out->left[out->count] = a < b ? a : b;
    out->right[out->count] = a < b ? b : a;
    if (++out->count == out->block) output_flush(out);
}

/* Compares `value` with each of `count` others. */
ND_INLINE void compare_row(output *out, const level *at, uint64_t value, const uint64_t *others, size_t count) {
    for (size_t i = 0; i < count; i++)
        if ((unsigned)__builtin_popcountll(value ^ others[i]) <= out->distance) give(out, at, value, others[i]);
}

ND_INLINE void compare_all(output *out, const level *at, const uint64_t *values, size_t count) {
    for (size_t i = 0; i + 1 < count; i++) compare_row(out, at, values[i], values + i + 1, count - i - 1);
}

static void compare_all_plain(output *out, const level *at, const uint64_t *values, size_t count) {
    compare_all(out, at, values, count);
}
static void compare_row_plain(output *out, const level *at, uint64_t value, const uint64_t *others, size_t count) {
    compare_row(out, at, value, others, count);
}

#ifdef ND_X86
ND_AVX2 static void compare_all_avx2(output *out, const level *at, const uint64_t *values, size_t count) {
    compare_all(out, at, values, count);
}
ND_AVX2 static void compare_row_avx2(output *out, const level *at, uint64_t value, const uint64_t *others, size_t count) {
    compare_row(out, at, value, others, count);
}

ND_AVX512 static void compare_row_avx512(output *out, const level *at, uint64_t value, const uint64_t *others,
                                         size_t count) {
    __m512i mine = _mm512_set1_epi64((long long)value), most = _mm512_set1_epi64((long long)out->distance);
    for (size_t i = 0; i < count; i += 8) {
        __mmask8 valid = count - i >= 8 ? 0xFF : (__mmask8)((1u << (count - i)) - 1);
        __m512i difference = _mm512_xor_si512(_mm512_maskz_loadu_epi64(valid, others + i), mine);
        unsigned hits = _mm512_mask_cmple_epu64_mask(valid, _mm512_popcnt_epi64(difference), most);
        for (; hits != 0; hits &= hits - 1) give(out, at, value, others[i + (size_t)__builtin_ctz(hits)]);
    }
}
ND_AVX512 static void compare_all_avx512(output *out, const level *at, const uint64_t *values, size_t count) {
    for (size_t i = 0; i + 1 < count; i++) compare_row_avx512(out, at, values[i], values + i + 1, count - i - 1);
}
#endif

static void compare_group(output *out, const level *at, const uint64_t *values, size_t count) {
    ND_DISPATCH(compare_all, out, at, values, count);
}

#ifdef ND_X86
#define DRAW_FUNCTIONS(make) make(plain, ) make(avx2, ND_AVX2)
#define DISPATCH_DRAW(name, ...) (nd_simd_level() > 0 ? name##_avx2(__VA_ARGS__) : name##_plain(__VA_ARGS__))
#else
#define DRAW_FUNCTIONS(make) make(plain, )
#define DISPATCH_DRAW(name, ...) name##_plain(__VA_ARGS__)
#endif

#define MAKE_BUCKETS(level, attributes)                                                                              \
    attributes static void count_##level(const uint64_t *values, size_t count, uint64_t mask, uint64_t *counts) {    \
        for (size_t i = 0; i < count; i++) counts[nd_draw_bits_##level(values[i], mask)]++;                             \
    }                                                                                                                \
    attributes static void scatter_##level(const uint64_t *values, size_t count, uint64_t mask, uint64_t *cursors,   \
                                           uint64_t *out) {                                                          \
        for (size_t i = 0; i < count; i++) out[cursors[nd_draw_bits_##level(values[i], mask)]++] = values[i];           \
    }
DRAW_FUNCTIONS(MAKE_BUCKETS)

void nd_pairs_count(const uint64_t *values, size_t count, uint64_t bucket_mask, uint64_t *counts) {
    DISPATCH_DRAW(count, values, count, bucket_mask, counts);
}

void nd_pairs_scatter(const uint64_t *values, size_t count, uint64_t bucket_mask, uint64_t *cursors, uint64_t *out) {
    DISPATCH_DRAW(scatter, values, count, bucket_mask, cursors, out);
}

size_t nd_pairs_plan(const uint64_t *values, size_t count, unsigned distance, uint64_t *masks) {
    nd_plan plan;
    nd_choose_plan(values, count, distance, &plan);
    memcpy(masks, plan.masks, plan.count * sizeof *masks);
    return plan.count;
}

static unsigned bits_for(size_t count) {
    unsigned bits = 0;
    while (bits < 63 && (size_t)1 << bits < count) bits++;
    return bits;
}

uint64_t nd_pairs_bucket_mask(uint64_t mask, size_t count) {
    unsigned bits = bits_for(count / BUCKET_VALUES);
    return nd_split_mask(mask, bits < MAX_BUCKET_BITS ? bits : MAX_BUCKET_BITS);
}

static void search(output *out, const level *at, const uint64_t *values, size_t count, unsigned depth);

/* Sorts the values of a bucket by what is left of the key into groups, and compares within each. `sorted` has room for
   the bucket. */
static void search_bucket(output *out, const level *at, const uint64_t *values, size_t count, uint64_t rest,
                          uint64_t *sorted, unsigned depth) {
    unsigned bits = bits_for(count) + 2;
    uint64_t mask = nd_split_mask(rest, bits < MAX_GROUP_BITS ? bits : MAX_GROUP_BITS);
    uint64_t ends[1 << MAX_GROUP_BITS];
    size_t groups = (size_t)1 << __builtin_popcountll(mask);
    memset(ends, 0, groups * sizeof *ends);
    nd_pairs_count(values, count, mask, ends);
    uint64_t total = 0;
    for (size_t g = 0; g < groups; g++) {
        uint64_t size = ends[g];
        ends[g] = total;
        total += size;
    }
    nd_pairs_scatter(values, count, mask, ends, sorted);
    for (size_t g = 0, start = 0; g < groups && out->status == ND_OK; start = ends[g++]) {
        size_t size = ends[g] - start;
        if (size < 2) continue;
        /* A group that holds most of what it was made from would only be searched for nothing once more; new tables
           are tried for it at the first level only. */
        if (size > LARGE_GROUP && depth < MAX_DEPTH && (depth == 0 || size <= count / 2))
            search(out, at, sorted + start, size, depth + 1);
        else
            compare_group(out, at, sorted + start, size);
    }
}

/* A group too large to compare each with each: tables of its own. */
static void search(output *out, const level *above, const uint64_t *values, size_t count, unsigned depth) {
    nd_plan *plan = malloc(sizeof *plan);
    uint64_t *sorted = count > SIZE_MAX / 8 ? NULL : malloc(count * sizeof *sorted);
    if (plan == NULL || sorted == NULL) {
        out->status = ND_NO_MEMORY;
    } else {
        nd_choose_plan(values, count, out->distance, plan);
        if (plan->count == 1 && plan->masks[0] == 0) {
            compare_group(out, above, values, count);
        } else {
            for (size_t table = 0; table < plan->count && out->status == ND_OK; table++) {
                level here = {above, plan->masks, table};
                search_bucket(out, &here, values, count, plan->masks[table], sorted, depth);
            }
        }
    }
    free(sorted);
    free(plan);
}

int nd_pairs_scan(const uint64_t *values, const uint64_t *offsets, size_t first, size_t last, uint64_t bucket_mask,
                  const uint64_t *masks, size_t table, unsigned distance, size_t block, nd_pair_sink sink, void *state) {
    output out;
    output_open(&out, distance, block, sink, state);
    uint64_t largest = 0;
    for (size_t b = first; b < last; b++)
        if (offsets[b + 1] - offsets[b] > largest) largest = offsets[b + 1] - offsets[b];
    uint64_t *sorted = largest > SIZE_MAX / 16 ? NULL : malloc((largest + 1) * sizeof *sorted);
    if (sorted == NULL) out.status = ND_NO_MEMORY;
    level top = {NULL, masks, table};
    for (size_t b = first; b < last && out.status == ND_OK; b++) {
        size_t count = offsets[b + 1] - offsets[b];
        if (count >= 2)
            search_bucket(&out, &top, values + offsets[b], count, masks[table] & ~bucket_mask, sorted, 0);
    }
    free(sorted);
    return output_close(&out);
}

int nd_pairs_brute(const uint64_t *values, size_t count, size_t first, size_t last, unsigned distance, size_t block,
                   nd_pair_sink sink, void *state) {
    output out;
    output_open(&out, distance, block, sink, state);
    /* A tile of values stays in the cache while all the rows meet it. */
    const size_t tile = 16384;
    for (size_t from = first; from < count && out.status == ND_OK; from += tile) {
        size_t to = count - from < tile ? count : from + tile;
        for (size_t i = first; i < last && i < to && out.status == ND_OK; i++) {
            size_t start = i + 1 > from ? i + 1 : from;
            if (start < to) ND_DISPATCH(compare_row, &out, NULL, values[i], values + start, to - start);
        }
    }
    return output_close(&out);
}
