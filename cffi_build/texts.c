/* Many texts in one call, so that a caller with a global lock lets go of it once for all of them. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "simhash.h"

int nd_fold_many(const uint8_t *texts, const size_t *offsets, size_t count, nd_tokens *folded) {
    nd_tokens all = {NULL, 0, malloc(count * sizeof(size_t) + 1), malloc(count * sizeof(size_t) + 1), count};
    size_t reserved = 0;
    int status = all.starts && all.ends ? ND_OK : ND_NO_MEMORY;
    for (size_t i = 0; status == ND_OK && i < count; i++) {
        nd_tokens one = {NULL, 0, NULL, NULL, 0};
        status = nd_fold_text(texts + offsets[i], offsets[i + 1] - offsets[i], &one);
        if (status == ND_OK && all.length + one.length > reserved) {
            size_t wanted = all.length + one.length + (offsets[count] - offsets[i + 1]);
            if (wanted < 2 * reserved) wanted = 2 * reserved;
            uint8_t *larger = realloc(all.text, wanted);
            if (larger == NULL) {
                status = ND_NO_MEMORY;
            } else {
                all.text = larger;
                reserved = wanted;
            }
        }
        if (status == ND_OK) {
            if (one.length != 0) memcpy(all.text + all.length, one.text, one.length);
            all.starts[i] = all.length;
            all.length += one.length;
            all.ends[i] = all.length;
        }
        nd_tokens_free(&one);
    }
    if (status != ND_OK) nd_tokens_free(&all);
    *folded = all;
    return status;
}
