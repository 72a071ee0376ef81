/* Winnowing: of each window of hashes the least, so that whatever fills a window in two texts gives both one hash. */

#include <stdlib.h>

#include "internal.h"

/* Every window that does not begin a block ends in the next one: its least is that of the rest of the one, known from the
   back, and of what was read of the other. So it takes the same time for whatever hashes (van Herk 1992). */
int nd_winnow_into(const uint64_t *hashes, size_t count, size_t window, uint64_t *into, size_t *into_count) {
    size_t kept = 0;
    *into_count = 0;
    if (count == 0) return ND_OK;
    if (window > count) window = count;
    if (window > SIZE_MAX / sizeof(uint64_t)) return ND_NO_MEMORY;
    uint64_t *rest = malloc(window * sizeof *rest), last = 0;
    if (rest == NULL) return ND_NO_MEMORY;
    size_t windows = count - window + 1;
    for (size_t block = 0; block < windows; block += window) {
        uint64_t read = UINT64_MAX;
        rest[window - 1] = hashes[block + window - 1];
        for (size_t i = window - 1; i-- > 0;) rest[i] = hashes[block + i] < rest[i + 1] ? hashes[block + i] : rest[i + 1];
        for (size_t i = 0; i < window && block + i < windows; i++) {
            if (i != 0 && hashes[block + window + i - 1] < read) read = hashes[block + window + i - 1];
            uint64_t least = rest[i] < read ? rest[i] : read;
            /* In place: a window's least is written before its beginning, or there. */
            if (kept == 0 || least != last) into[kept++] = last = least;
        }
    }
    free(rest);
    *into_count = kept;
    return ND_OK;
}

int nd_winnow(uint64_t *hashes, size_t *count, size_t window) {
    size_t kept;
    int status = nd_winnow_into(hashes, *count, window, hashes, &kept);
    if (status == ND_OK) *count = kept;
    return status;
}
