/* Lookups in an index: for each table the bucket of the query, for each value in it the distance. */

#include "pairs_internal.h"
#include "simd.h"

/* Queries that go through each step together, so that their cache misses overlap. */
#define TOGETHER 16

typedef struct {
    const nd_table *tables;
    size_t table_count;
    unsigned distance;
    uint64_t *queries, *values;
    size_t count, room;
} finds;

static void note(finds *out, size_t query, uint64_t difference, uint64_t value, size_t table) {
    for (size_t t = 0; t < table; t++)
        if ((difference & out->tables[t].mask) == 0) return;
    if (out->count < out->room) {
        out->queries[out->count] = query;
        out->values[out->count] = value;
    }
    out->count++;
}

ND_INLINE void scan(finds *out, size_t query, uint64_t hash, size_t table, const uint64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if ((unsigned)__builtin_popcountll(hash ^ values[i]) <= out->distance)
            note(out, query, hash ^ values[i], values[i], table);
}

static inline uint64_t bucket_of(const nd_table *table, uint64_t drawn) {
    uint64_t bucket = drawn - table->first_bucket;
    return bucket < table->buckets ? bucket : UINT64_MAX;
}

/* All queries of one group, as far as the room goes; gives how many were done. */
#define MAKE_SEARCH(level, attributes, draw, scan_values)                                                             \
    attributes static size_t search_##level(finds *out, const uint64_t *queries, size_t first, size_t count) {        \
        uint64_t buckets[TOGETHER][ND_MAX_DISTANCE + 1];                                                              \
        for (size_t i = 0; i < count; i++)                                                                            \
            for (size_t t = 0; t < out->table_count; t++) {                                                           \
                buckets[i][t] = bucket_of(&out->tables[t], draw(queries[first + i], out->tables[t].mask));            \
                if (buckets[i][t] != UINT64_MAX) __builtin_prefetch(out->tables[t].offsets + buckets[i][t]);          \
            }                                                                                                         \
        for (size_t i = 0; i < count; i++)                                                                            \
            for (size_t t = 0; t < out->table_count; t++)                                                             \
                if (buckets[i][t] != UINT64_MAX) {                                                                    \
                    const uint64_t *start = out->tables[t].values + out->tables[t].offsets[buckets[i][t]];            \
                    __builtin_prefetch(start);                                                                        \
                    __builtin_prefetch(start + 8);                                                                    \
                }                                                                                                     \
        for (size_t i = 0; i < count; i++) {                                                                          \
            size_t before = out->count;                                                                               \
            for (size_t t = 0; t < out->table_count; t++) {                                                           \
                if (buckets[i][t] == UINT64_MAX) continue;                                                            \
                const uint64_t *bounds = out->tables[t].offsets + buckets[i][t];                                      \
                scan_values(out, first + i, queries[first + i], t, out->tables[t].values + bounds[0],                 \
                            (size_t)(bounds[1] - bounds[0]));                                                         \
            }                                                                                                         \
            if (out->count > out->room) {                                                                             \
                out->count = before;                                                                                  \
                return i;                                                                                             \
            }                                                                                                         \
        }                                                                                                             \
        return count;                                                                                                 \
    }

MAKE_SEARCH(plain, , nd_draw_bits_plain, scan)

#ifdef ND_X86
ND_AVX512 static void scan_avx512(finds *out, size_t query, uint64_t hash, size_t table, const uint64_t *values,
                                  size_t count) {
    __m512i mine = _mm512_set1_epi64((long long)hash), most = _mm512_set1_epi64((long long)out->distance);
    for (size_t i = 0; i < count; i += 8) {
        __mmask8 valid = count - i >= 8 ? 0xFF : (__mmask8)((1u << (count - i)) - 1);
        __m512i difference = _mm512_xor_si512(_mm512_maskz_loadu_epi64(valid, values + i), mine);
        unsigned hits = _mm512_mask_cmple_epu64_mask(valid, _mm512_popcnt_epi64(difference), most);
        for (; hits != 0; hits &= hits - 1) {
            uint64_t value = values[i + (size_t)__builtin_ctz(hits)];
            note(out, query, hash ^ value, value, table);
        }
    }
}
MAKE_SEARCH(avx2, ND_AVX2, nd_draw_bits_avx2, scan)
MAKE_SEARCH(avx512, ND_AVX512, nd_draw_bits_avx2, scan_avx512)
#endif

static size_t search(finds *out, const uint64_t *queries, size_t first, size_t count) {
#ifdef ND_X86
    if (nd_simd_level() == 2) return search_avx512(out, queries, first, count);
    if (nd_simd_level() == 1) return search_avx2(out, queries, first, count);
#endif
    return search_plain(out, queries, first, count);
}

void nd_index_search(const nd_table *tables, size_t table_count, const uint64_t *queries, size_t count,
                     unsigned distance, size_t *next, uint64_t *found_queries, uint64_t *found_values, size_t room,
                     size_t *found) {
    finds out = {tables, table_count, distance, found_queries, found_values, 0, room};
    size_t at = *next;
    while (at < count) {
        size_t wanted = count - at < TOGETHER ? count - at : TOGETHER;
        size_t done = search(&out, queries, at, wanted);
        at += done;
        if (done < wanted) break;
    }
    *next = at;
    *found = out.count;
}
