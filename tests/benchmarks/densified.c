/* One permutation hashing with optimal densification (Shrivastava, ICML 2017), to be measured beside the core's own way.
   An empty place asks places that are drawn for it, one after the other, until one is not empty, and copies it. */

#include <stddef.h>
#include <stdint.h>

#define NOTHING UINT64_MAX
#define GAMMA 0x9E3779B97F4A7C15u

static inline uint64_t splitmix(uint64_t seed, uint64_t index) {
    uint64_t z = seed + (index + 1) * GAMMA;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* With `hashed` a value is a hash of minimum and place; else of the minimum alone, which copies take with them. */
void densified(const uint64_t *features, size_t count, size_t values, int hashed, uint32_t *signature) {
    uint64_t least[4096];
    unsigned shift = 64 - (unsigned)__builtin_ctzll(values);
    for (size_t i = 0; i < values; i++) least[i] = NOTHING;
    for (size_t i = 0; i < count; i++) {
        size_t place = (size_t)(features[i] >> shift);
        uint64_t image = features[i] >> 1, other = least[place];
        least[place] = image < other ? image : other;
    }
    for (size_t i = 0; i < values; i++) {
        size_t place = i;
        for (uint64_t draw = 0; least[place] == NOTHING; draw++) place = (size_t)(splitmix(i, draw) >> shift);
        signature[i] = (uint32_t)(splitmix(least[place], hashed ? i : 0) >> 32);
    }
}
