/* The ids of clusters: BLAKE2b (RFC 7693) of 16 bytes over a document's identity, in base32. */

#include <string.h>

#include "internal.h"
#include "simhash.h"

enum { BLOCK = 128, LENGTH_BYTES = 8, DIGEST = 16 };

static const uint64_t IV[8] = {0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
                               0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu, 0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u};

static const uint8_t SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static uint64_t right(uint64_t word, unsigned bits) { return word >> bits | word << (64 - bits); }

static void mix(uint64_t *v, unsigned a, unsigned b, unsigned c, unsigned d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x;
    v[d] = right(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = right(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = right(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = right(v[b] ^ v[c], 63);
}

static void compress(uint64_t *h, const uint8_t *block, uint64_t counted, bool last) {
    uint64_t m[16], v[16];
    for (unsigned i = 0; i < 16; i++) m[i] = nd_load64(block + 8 * i);
    memcpy(v, h, 8 * sizeof *h);
    memcpy(v + 8, IV, sizeof IV);
    v[12] ^= counted;
    if (last) v[14] = ~v[14];
    for (unsigned round = 0; round < 12; round++) {
        const uint8_t *s = SIGMA[round % 10];
        for (unsigned i = 0; i < 4; i++) mix(v, i, i + 4, i + 8, i + 12, m[s[2 * i]], m[s[2 * i + 1]]);
        for (unsigned i = 0; i < 4; i++) {
            mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
        }
    }
    for (unsigned i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
}

/* The identity without index and routing: two empty parts, then the id, each behind its length as 8 bytes, big-endian. */
static void digest_id(const uint8_t *id, size_t length, uint8_t *digest) {
    uint64_t h[8];
    uint8_t block[BLOCK] = {0};
    size_t used = 3 * LENGTH_BYTES, taken = 0;
    uint64_t counted = 0;
    memcpy(h, IV, sizeof IV);
    h[0] ^= 0x01010000u ^ DIGEST;
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        block[2 * LENGTH_BYTES + i] = (uint8_t)((uint64_t)length >> (8 * (LENGTH_BYTES - 1 - i)));
    }
    for (;;) {
        size_t part = length - taken < BLOCK - used ? length - taken : BLOCK - used;
        if (part != 0) memcpy(block + used, id + taken, part);
        taken += part;
        counted += used + part;
        memset(block + used + part, 0, BLOCK - used - part);
        compress(h, block, counted, taken == length);
        if (taken == length) break;
        used = 0;
    }
    for (unsigned i = 0; i < DIGEST / 8; i++) nd_store64(digest + 8 * i, h[i]);
}

void nd_cluster_ids(const uint8_t *ids, const size_t *ends, size_t count, uint8_t *clusters) {
    size_t start = 0;
    for (size_t i = 0; i < count; start = ends[i++]) {
        uint8_t digest[DIGEST + 1] = {0};
        digest_id(ids + start, ends[i] - start, digest);
        for (unsigned place = 0; place < ND_CLUSTER_ID; place++) {
            unsigned bit = 5 * place, word = (unsigned)digest[bit / 8] << 8;
            if (bit / 8 < DIGEST) word |= digest[bit / 8 + 1];
            clusters[i * ND_CLUSTER_ID + place] = (uint8_t) "abcdefghijklmnopqrstuvwxyz234567"[word >> (11 - bit % 8) & 31];
        }
    }
}
