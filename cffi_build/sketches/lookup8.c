/* Jenkins' 64-bit hash (lookup8.c, 1997), and what of it is done for many states at once. */

#include "internal.h"
#include "simd.h"

#define MIX(a, b, c)                      \
    do {                                  \
        a -= b, a -= c, a ^= c >> 43;     \
        b -= c, b -= a, b ^= a << 9;      \
        c -= a, c -= b, c ^= b >> 8;      \
        a -= b, a -= c, a ^= c >> 38;     \
        b -= c, b -= a, b ^= a << 23;     \
        c -= a, c -= b, c ^= b >> 5;      \
        a -= b, a -= c, a ^= c >> 35;     \
        b -= c, b -= a, b ^= a << 49;     \
        c -= a, c -= b, c ^= b >> 11;     \
        a -= b, a -= c, a ^= c >> 12;     \
        b -= c, b -= a, b ^= a << 18;     \
        c -= a, c -= b, c ^= b >> 22;     \
    } while (0)

size_t nd_mix_blocks(const uint8_t *key, size_t length, uint64_t *a, uint64_t *b, uint64_t *c) {
    size_t done = 0;
    uint64_t x = *a, y = *b, z = *c;
    for (; length - done >= 24; done += 24) {
        x += nd_load64(key + done);
        y += nd_load64(key + done + 8);
        z += nd_load64(key + done + 16);
        MIX(x, y, z);
    }
    *a = x, *b = y, *c = z;
    return done;
}

uint64_t nd_lookup8(const uint8_t *key, size_t length, uint64_t initial) {
    uint64_t a = initial, b = initial, c = ND_GOLDEN;
    size_t done = nd_mix_blocks(key, length, &a, &b, &c);
    uint8_t rest[24] = {0};
    if (length > done) memcpy(rest, key + done, length - done);
    a += nd_load64(rest);
    b += nd_load64(rest + 8);
    /* The lowest byte of c is the length's. */
    c += (nd_load64(rest + 16) << 8) + length;
    MIX(a, b, c);
    return c;
}

ND_INLINE void mix_batch(uint64_t *restrict a, uint64_t *restrict b, uint64_t *restrict c, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t x = a[i], y = b[i], z = c[i];
        MIX(x, y, z);
        c[i] = z;
    }
}

ND_INLINE void windows(const uint64_t *restrict words, size_t size, size_t count, uint64_t *restrict hashes) {
    uint64_t a[ND_BATCH] = {0}, b[ND_BATCH] = {0};
    size_t at = 0;
    for (size_t i = 0; i < count; i++) hashes[i] = ND_GOLDEN;
    for (; size - at >= 3; at += 3) {
        for (size_t i = 0; i < count; i++) {
            uint64_t x = a[i] + words[i + at], y = b[i] + words[i + at + 1], z = hashes[i] + words[i + at + 2];
            MIX(x, y, z);
            a[i] = x, b[i] = y, hashes[i] = z;
        }
    }
    for (size_t i = 0; size - at >= 1 && i < count; i++) a[i] += words[i + at];
    for (size_t i = 0; size - at >= 2 && i < count; i++) b[i] += words[i + at + 1];
    for (size_t i = 0; i < count; i++) {
        uint64_t x = a[i], y = b[i], z = hashes[i] + 8 * size;
        MIX(x, y, z);
        hashes[i] = z;
    }
}

static void mix_batch_plain(uint64_t *a, uint64_t *b, uint64_t *c, size_t count) { mix_batch(a, b, c, count); }

static void windows_plain(const uint64_t *words, size_t size, size_t count, uint64_t *hashes) {
    windows(words, size, count, hashes);
}

#ifdef ND_X86
ND_AVX2 static void mix_batch_avx2(uint64_t *a, uint64_t *b, uint64_t *c, size_t count) { mix_batch(a, b, c, count); }
ND_AVX512 static void mix_batch_avx512(uint64_t *a, uint64_t *b, uint64_t *c, size_t count) {
    mix_batch(a, b, c, count);
}
ND_AVX2 static void windows_avx2(const uint64_t *words, size_t size, size_t count, uint64_t *hashes) {
    windows(words, size, count, hashes);
}
ND_AVX512 static void windows_avx512(const uint64_t *words, size_t size, size_t count, uint64_t *hashes) {
    windows(words, size, count, hashes);
}
#endif

void nd_mix_batch(uint64_t *a, uint64_t *b, uint64_t *c, size_t count) {
    ND_DISPATCH(mix_batch, a, b, c, count);
}

void nd_lookup8_windows(const uint64_t *words, size_t size, size_t count, uint64_t *hashes) {
    ND_DISPATCH(windows, words, size, count, hashes);
}
