/* The all-pairs search and the index under the sanitizers: every pair once, on even and on crowded hashes. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simhash.h"

#define COUNT 2500

static int failures = 0;
static uint64_t seed = 88172645463325252u;

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            failures++;                                                     \
        }                                                                   \
    } while (0)

static uint64_t draw(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int take(void *state, const uint64_t *left, const uint64_t *right, size_t count) {
    for (size_t i = 0; i < count; i++) CHECK(left[i] < right[i]);
    *(size_t *)state += count;
    return 0;
}

static int refuse(void *state, const uint64_t *left, const uint64_t *right, size_t count) {
    (void)left, (void)right;
    *(size_t *)state += count;
    return 1;
}

static size_t quadratic(const uint64_t *values, size_t count, unsigned distance) {
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) pairs += (unsigned)__builtin_popcountll(values[i] ^ values[j]) <= distance;
    return pairs;
}

static size_t by_tables(const uint64_t *values, size_t count, unsigned distance, nd_pair_sink sink, int wanted) {
    static uint64_t masks[ND_MAX_TABLES];
    size_t tables = nd_pairs_plan(values, count, distance, masks), pairs = 0;
    uint64_t *scattered = malloc(count * sizeof *scattered);
    for (size_t t = 0; t < tables; t++) {
        uint64_t bucket_mask = nd_pairs_bucket_mask(masks[t], count);
        size_t buckets = (size_t)1 << __builtin_popcountll(bucket_mask);
        uint64_t *offsets = calloc(buckets + 1, sizeof *offsets), *cursors = malloc(buckets * sizeof *cursors);
        nd_pairs_count(values, count, bucket_mask, offsets + 1);
        for (size_t b = 0; b < buckets; b++) offsets[b + 1] += offsets[b];
        memcpy(cursors, offsets, buckets * sizeof *cursors);
        nd_pairs_scatter(values, count, bucket_mask, cursors, scattered);
        CHECK(nd_pairs_scan(scattered, offsets, 0, buckets, bucket_mask, masks, t, distance, 7, sink, &pairs) == wanted);
        free(offsets);
        free(cursors);
        if (wanted != ND_OK) break;
    }
    free(scattered);
    return pairs;
}

static void test_index(const uint64_t *values, size_t count, unsigned distance, size_t expected) {
    uint64_t masks[ND_MAX_DISTANCE + 1];
    nd_table tables[ND_MAX_DISTANCE + 1];
    size_t number = nd_index_plan(values, count, distance, masks), finds = 0, next = 0, found;
    for (size_t t = 0; t < number; t++) {
        size_t buckets = (size_t)1 << __builtin_popcountll(masks[t]);
        uint64_t *offsets = calloc(buckets + 1, sizeof *offsets), *cursors = malloc(buckets * sizeof *cursors);
        uint64_t *sorted = malloc(count * sizeof *sorted);
        nd_pairs_count(values, count, masks[t], offsets + 1);
        for (size_t b = 0; b < buckets; b++) offsets[b + 1] += offsets[b];
        memcpy(cursors, offsets, buckets * sizeof *cursors);
        nd_pairs_scatter(values, count, masks[t], cursors, sorted);
        free(cursors);
        tables[t] = (nd_table){masks[t], 0, buckets, offsets, sorted};
    }
    size_t room = 64;
    uint64_t *queries = malloc(room * sizeof *queries), *found_values = malloc(room * sizeof *found_values);
    while (next < count) {
        size_t before = next;
        nd_index_search(tables, number, values, count, distance, &next, queries, found_values, room, &found);
        CHECK(found <= room);
        finds += found;
        if (next == before) {
            room *= 2;
            queries = realloc(queries, room * sizeof *queries);
            found_values = realloc(found_values, room * sizeof *found_values);
        }
    }
    CHECK(finds == count + 2 * expected);
    free(queries);
    free(found_values);
    for (size_t t = 0; t < number; t++) {
        free((void *)(uintptr_t)tables[t].offsets);
        free((void *)(uintptr_t)tables[t].values);
    }
}

int main(void) {
    static uint64_t values[COUNT];
    for (int shape = 0; shape < 3; shape++) {
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t centre = shape == 0 ? draw() : 0x0123456789ABCDEFu * (1 + i % 3);
            values[i] = centre ^ (uint64_t)1 << draw() % 64 ^ (uint64_t)1 << draw() % 64 ^ (uint64_t)(shape == 2) << i % 16;
        }
        qsort(values, COUNT, sizeof *values, by_value);
        size_t count = 1;
        for (size_t i = 1; i < COUNT; i++)
            if (values[i] != values[count - 1]) values[count++] = values[i];
        for (int level = 0; level < 3; level++) {
            nd_set_simd_level(level);
            for (unsigned distance = 1; distance <= 7; distance += 2) {
                size_t expected = quadratic(values, count, distance), plain = 0;
                CHECK(by_tables(values, count, distance, take, ND_OK) == expected);
                CHECK(nd_pairs_brute(values, count, 0, count, distance, 9, take, &plain) == ND_OK && plain == expected);
                test_index(values, count, distance, expected);
            }
            if (shape == 1) CHECK(by_tables(values, count, 7, refuse, ND_STOPPED) <= 7);
        }
    }
    if (failures == 0) puts("pairs: all held");
    return failures != 0;
}
