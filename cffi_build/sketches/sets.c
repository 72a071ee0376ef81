/* What two sorted sets share: how many numbers, and the least one. */

#include "internal.h"

/* Where one set is this many times larger, its numbers are searched for and not walked through. */
#define LOPSIDED 32

/* Without branches on the numbers, which no processor could foresee. */
static uint64_t merged(const uint64_t *left, size_t left_count, const uint64_t *right, size_t right_count) {
    uint64_t shared = 0;
    size_t i = 0, j = 0;
    while (i < left_count && j < right_count) {
        uint64_t a = left[i], b = right[j];
        shared += a == b;
        i += a <= b;
        j += b <= a;
    }
    return shared;
}

/* Each of the few searched for in the many, by steps that double and then halve, on from where the last one stood. */
static uint64_t searched(const uint64_t *few, size_t few_count, const uint64_t *many, size_t many_count) {
    uint64_t shared = 0;
    size_t at = 0;
    for (size_t i = 0; i < few_count && at < many_count; i++) {
        size_t step = 1;
        while (step <= many_count - at && many[at + step - 1] < few[i]) {
            at += step;
            step *= 2;
        }
        size_t end = step <= many_count - at ? at + step - 1 : many_count;
        while (at < end) {
            size_t middle = at + (end - at) / 2;
            if (many[middle] < few[i])
                at = middle + 1;
            else
                end = middle;
        }
        shared += at < many_count && many[at] == few[i];
    }
    return shared;
}

void nd_intersections(const uint64_t *values, const uint64_t *offsets, const uint64_t *left, const uint64_t *right,
                      size_t pairs, uint64_t *sizes) {
    for (size_t p = 0; p < pairs; p++) {
        size_t a = left[p], b = right[p];
        if (offsets[a + 1] - offsets[a] > offsets[b + 1] - offsets[b]) {
            a = right[p];
            b = left[p];
        }
        const uint64_t *few = values + offsets[a], *many = values + offsets[b];
        size_t few_count = offsets[a + 1] - offsets[a], many_count = offsets[b + 1] - offsets[b];
        sizes[p] = many_count / LOPSIDED > few_count ? searched(few, few_count, many, many_count)
                                                     : merged(few, few_count, many, many_count);
    }
}

/* Where two rows of codes meet: the least run that both hold, not both on side 1, if such runs lie in enough tables. */
static uint64_t meeting(const uint64_t *left, const uint64_t *left_end, const uint64_t *right,
                        const uint64_t *right_end, const uint64_t *tables, size_t agreeing) {
    uint64_t first = ND_NOWHERE, table = 0;
    size_t found = 0;
    while (left < left_end && right < right_end) {
        uint64_t a = *left >> 1, b = *right >> 1;
        if (a == b && !(*left & *right & 1) && (!found || tables[a] != table)) {
            first = found ? first : a;
            table = tables[a];
            if (++found >= agreeing)
                return first;
        }
        left += a <= b;
        right += b <= a;
    }
    return ND_NOWHERE;
}

void nd_meetings(const uint64_t *codes, const uint64_t *offsets, const uint64_t *tables, const uint64_t *left,
                 const uint64_t *right, size_t pairs, size_t agreeing, uint64_t *firsts) {
    for (size_t p = 0; p < pairs; p++)
        firsts[p] = meeting(codes + offsets[left[p]], codes + offsets[left[p] + 1], codes + offsets[right[p]],
                            codes + offsets[right[p] + 1], tables, agreeing);
}
