/* Which instructions the machine has, and which are in use. */

#include <stdatomic.h>

#include "internal.h"

#define UNKNOWN (-1)

static atomic_int chosen = UNKNOWN;

static int best_level(void) {
#ifdef ND_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt")) return 1;
#endif
    return 0;
}

int nd_simd_level(void) {
    int level = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (level != UNKNOWN) return level;
    level = best_level();
    atomic_store_explicit(&chosen, level, memory_order_relaxed);
    return level;
}

int nd_set_simd_level(int level) {
    int best = best_level();
    if (level < 0) level = 0;
    if (level > best) level = best;
    atomic_store_explicit(&chosen, level, memory_order_relaxed);
    return level;
}
