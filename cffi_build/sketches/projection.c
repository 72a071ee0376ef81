/* Random projection of features on axes of -1 and +1. */

#include "internal.h"
#include "simd.h"

ND_INLINE void axes(const uint64_t *restrict features, size_t count, uint64_t word, uint64_t *restrict drawn) {
    for (size_t i = 0; i < count; i++) drawn[i] = nd_splitmix(features[i], word);
}

static void axes_plain(const uint64_t *features, size_t count, uint64_t word, uint64_t *drawn) {
    axes(features, count, word, drawn);
}

#ifdef ND_X86
ND_AVX2 static void axes_avx2(const uint64_t *features, size_t count, uint64_t word, uint64_t *drawn) {
    axes(features, count, word, drawn);
}
ND_AVX512 static void axes_avx512(const uint64_t *features, size_t count, uint64_t word, uint64_t *drawn) {
    axes(features, count, word, drawn);
}
#endif

int nd_random_projection(const uint64_t *features, size_t count, size_t words, uint64_t *projection) {
    if (count == 0) return ND_EMPTY;
    for (size_t word = 0; word < words; word++) {
        nd_counter counter;
        memset(&counter, 0, sizeof counter);
        for (size_t at = 0; at < count; at += ND_BATCH) {
            uint64_t drawn[ND_BATCH];
            size_t batch = count - at < ND_BATCH ? count - at : ND_BATCH;
            ND_DISPATCH(axes, features + at, batch, word, drawn);
            nd_counter_add(&counter, drawn, batch);
        }
        projection[word] = nd_counter_simhash(&counter);
    }
    return ND_OK;
}
