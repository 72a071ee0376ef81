/* Improved consistent weighted sampling (Ioffe 2010), with a logarithm of its own: those of C libraries differ in their
   last bits, and a sample must not depend on the machine. */

#include <math.h>

#include "internal.h"
#include "simd.h"

/* Values that are sampled at once. */
#define BLOCK 256

/* The bits of the square root of 1/2: a number is cut into a power of 2 and a rest from there to the root of 2. */
#define ROOT 0x3FE6A09E667F3BCDu
#define ONE 0x3FF0000000000000u
#define MANTISSA 0x000FFFFFFFFFFFFFu
/* Put above an integer below 2^52, these bits make the double 2^52 plus the integer. */
#define TWO_52 0x4330000000000000u

ND_INLINE double as_double(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ln x = e ln 2 + ln m, and ln m = 2 artanh s with s = (m - 1) / (m + 1): |s| is at most 0.1716, and ten terms of the
   series are exact to the last bits of a double. */
ND_INLINE double logarithm(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += ONE - ROOT;
    double e = as_double(TWO_52 | bits >> 52) - (4503599627370496.0 + 1023.0);
    double m = as_double((bits & MANTISSA) + ROOT);
    double s = (m - 1.0) / (m + 1.0), q = s * s;
    double sum = 1.0 / 19;
    sum = sum * q + 1.0 / 17;
    sum = sum * q + 1.0 / 15;
    sum = sum * q + 1.0 / 13;
    sum = sum * q + 1.0 / 11;
    sum = sum * q + 1.0 / 9;
    sum = sum * q + 1.0 / 7;
    sum = sum * q + 1.0 / 5;
    sum = sum * q + 1.0 / 3;
    sum = sum * q + 1.0;
    return e * 0.6931471805599453 + 2.0 * s * sum;
}

double nd_log(double x) { return logarithm(x); }

/* (h + 1/2) / 2^32, exactly. */
ND_INLINE double uniform(uint64_t h) { return (as_double(TWO_52 | h) - 4503599627370496.0 + 0.5) * 0x1p-32; }

typedef struct {
    double least[BLOCK];
    double t[BLOCK];
    uint64_t position[BLOCK];
} samples;

/* One feature against `count` values from `first` on. With y = exp(r (t - beta)), Ioffe's a = c / (y e^r) is compared
   by its logarithm. */
ND_INLINE void sample(uint64_t feature, double log_weight, uint64_t position, size_t first, size_t count,
                      samples *restrict found) {
    for (size_t i = 0; i < count; i++) {
        uint64_t x = nd_splitmix(feature, 3 * (first + i));
        uint64_t y = nd_splitmix(feature, 3 * (first + i) + 1);
        uint64_t z = nd_splitmix(feature, 3 * (first + i) + 2);
        double r = -logarithm(uniform(x >> 32) * uniform(x & 0xFFFFFFFFu));
        double c = -logarithm(uniform(y >> 32) * uniform(y & 0xFFFFFFFFu));
        double beta = uniform(z >> 32);
        double t = floor(log_weight / r + beta);
        double a = logarithm(c) - r * (t - beta) - r;
        uint64_t less = 0 - (uint64_t)(a < found->least[i]);
        found->t[i] = less ? t : found->t[i];
        found->least[i] = less ? a : found->least[i];
        found->position[i] = (position & less) | (found->position[i] & ~less);
    }
}

static void sample_plain(uint64_t feature, double log_weight, uint64_t position, size_t first, size_t count,
                         samples *found) {
    sample(feature, log_weight, position, first, count, found);
}

#ifdef ND_X86
ND_AVX2 static void sample_avx2(uint64_t feature, double log_weight, uint64_t position, size_t first, size_t count,
                                samples *found) {
    sample(feature, log_weight, position, first, count, found);
}
ND_AVX512 static void sample_avx512(uint64_t feature, double log_weight, uint64_t position, size_t first, size_t count,
                                    samples *found) {
    sample(feature, log_weight, position, first, count, found);
}
#endif

int nd_weighted_minhash(const uint64_t *features, const double *weights, size_t count, size_t values,
                        uint32_t *signature) {
    if (count == 0) return ND_EMPTY;
    for (size_t at = 0; at < values; at += BLOCK) {
        samples found;
        size_t block = values - at < BLOCK ? values - at : BLOCK;
        for (size_t i = 0; i < block; i++) {
            found.least[i] = HUGE_VAL;
            found.t[i] = 0;
            found.position[i] = 0;
        }
        for (size_t f = 0; f < count; f++) {
            double log_weight = logarithm(weights[f]);
            ND_DISPATCH(sample, features[f], log_weight, f, at, block, &found);
        }
        for (size_t i = 0; i < block; i++) {
            uint64_t sampled[2] = {features[found.position[i]], (uint64_t)(int64_t)found.t[i]}, hash;
            nd_lookup8_windows(sampled, 2, 1, &hash);
            signature[at + i] = (uint32_t)hash;
        }
    }
    return ND_OK;
}
