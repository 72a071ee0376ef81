/* How one body of C becomes a plain, an AVX2 and an AVX-512 function, chosen at run time. */
#ifndef ND_SIMD_H
#define ND_SIMD_H

#include "internal.h"

#define ND_INLINE static inline __attribute__((always_inline))

#ifdef ND_X86
/* GCC vectorises loops of these bodies only from -O3 on for some versions; asking here keeps it independent of flags. */
#if defined(__clang__)
#define ND_WIDE ""
#define ND_VECTORISE
#else
#define ND_WIDE ",prefer-vector-width=512"
#define ND_VECTORISE , optimize("O3")
#endif
#define ND_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt") ND_VECTORISE))
#define ND_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi,bmi2,popcnt" ND_WIDE) \
                       ND_VECTORISE))
#define ND_DISPATCH(name, ...)                                   \
    switch (nd_simd_level()) {                                   \
        case 2: name##_avx512(__VA_ARGS__); break;               \
        case 1: name##_avx2(__VA_ARGS__); break;                 \
        default: name##_plain(__VA_ARGS__); break;               \
    }
#else
#define ND_DISPATCH(name, ...) name##_plain(__VA_ARGS__)
#endif

#endif
