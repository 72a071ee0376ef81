/* The alignment of two lines of numbers with the fewest of them left out (Myers 1986). */

#include <stdlib.h>

#include "internal.h"

#define NOWHERE (-1)

typedef struct {
    const uint64_t *left, *right;
    int32_t lefts, rights;
} lines;

/* How far along the left line diagonal k gets with one more left out, from where its neighbours got; NOWHERE beyond the
   ends. `down` says that it came from diagonal k + 1, with one of the right line left out. */
static inline int32_t step(const lines *lines, int32_t below, int32_t above, int32_t k, bool *down) {
    int32_t along = below == NOWHERE || below >= lines->lefts ? NOWHERE : below + 1;
    int32_t beside = above == NOWHERE || above - k > lines->rights ? NOWHERE : above;
    *down = beside >= along;
    return *down ? beside : along;
}

static inline int32_t slide(const lines *lines, int32_t x, int32_t k) {
    while (x < lines->lefts && x - k < lines->rights && lines->left[x] == lines->right[x - k]) x++;
    return x;
}

/* Row d of what is noted: d + 1 numbers, for the diagonals -d, -d + 2, ..., d. */
static inline int32_t *row(int32_t *noted, size_t d) { return noted + d * (d + 1) / 2; }

static inline int32_t at(const int32_t *row, int32_t d, int32_t k) {
    return k < -d || k > d ? NOWHERE : row[(k + d) / 2];
}

/* The blocks, from the last one, of the way to the end that leaves d out. */
static size_t trace(const lines *lines, int32_t *noted, int32_t d, uint32_t *blocks) {
    int32_t x = lines->lefts, y = lines->rights, end_x = x, end_y = y;
    size_t count = 0;
    for (; d >= 0; d--) {
        int32_t k = x - y, from = 0;
        bool down = false;
        if (d > 0) {
            const int32_t *before = row(noted, (size_t)d - 1);
            from = step(lines, at(before, d - 1, k - 1), at(before, d - 1, k + 1), k, &down);
        }
        if (x > from || d == 0) {
            if (end_x > x || end_y > y) {
                uint32_t block[4] = {(uint32_t)x, (uint32_t)end_x, (uint32_t)y, (uint32_t)end_y};
                memcpy(blocks + 4 * count++, block, sizeof block);
            }
            end_x = from;
            end_y = from - k;
        }
        x = down ? from : from - 1;
        y = from - k - down;
    }
    return count;
}

static int search(const lines *lines, size_t limit, uint32_t *blocks, size_t *count) {
    int32_t *noted = NULL;
    size_t room = 0;
    for (size_t d = 0; d <= limit; d++) {
        size_t need = (d + 1) * (d + 2) / 2;
        if (need > room) {
            room = need < 2048 ? 4096 : need * 2;
            int32_t *more = realloc(noted, room * sizeof *more);
            if (more == NULL) {
                free(noted);
                return ND_NO_MEMORY;
            }
            noted = more;
        }
        int32_t *now = row(noted, d);
        for (int32_t i = 0, edits = (int32_t)d; i <= edits; i++) {
            int32_t k = 2 * i - edits, x = 0;
            bool down;
            if (d > 0) {
                const int32_t *before = row(noted, d - 1);
                x = step(lines, at(before, edits - 1, k - 1), at(before, edits - 1, k + 1), k, &down);
            }
            now[i] = x = x == NOWHERE ? NOWHERE : slide(lines, x, k);
            if (x == lines->lefts && x - k == lines->rights) {
                *count = trace(lines, noted, edits, blocks);
                free(noted);
                return ND_OK;
            }
        }
    }
    free(noted);
    return ND_OVERFLOW;
}

int nd_align(const uint64_t *left, size_t lefts, const uint64_t *right, size_t rights, size_t limit, uint32_t *blocks,
             size_t *count) {
    size_t head = 0;
    while (head < lefts && head < rights && left[head] == right[head]) head++;
    while (lefts > head && rights > head && left[lefts - 1] == right[rights - 1]) lefts--, rights--;
    lines lines = {left + head, right + head, (int32_t)(lefts - head), (int32_t)(rights - head)};
    int status = search(&lines, limit, blocks, count);
    if (status != ND_OK) return status;
    for (size_t i = 0; i < *count / 2; i++) {
        uint32_t block[4];
        memcpy(block, blocks + 4 * i, sizeof block);
        memcpy(blocks + 4 * i, blocks + 4 * (*count - 1 - i), sizeof block);
        memcpy(blocks + 4 * (*count - 1 - i), block, sizeof block);
    }
    for (size_t i = 0; i < 4 * *count; i++) blocks[i] += (uint32_t)head;
    return ND_OK;
}
