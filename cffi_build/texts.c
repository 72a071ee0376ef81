/* Many texts in one call, so that a caller with a global lock lets go of it once for all of them. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "simhash.h"

int nd_fingerprint_texts(const uint8_t *texts, const size_t *ends, size_t count, const nd_minhash_form *form,
                         nd_text_features *found, uint8_t *packed, uint64_t *keys) {
    size_t size = form->values * form->bits / 8, start = 0;
    for (size_t i = 0; i < count; start = ends[i++]) {
        int status = nd_fingerprint_and_minhash(texts + start, ends[i] - start, form, found + i, packed + i * size,
                                                keys + i * form->bands);
        if (status == ND_EMPTY) {
            found[i] = (nd_text_features){0, 0, 0};
            memset(packed + i * size, 0, size);
            memset(keys + i * form->bands, 0, form->bands * sizeof *keys);
        } else if (status != ND_OK) {
            return status;
        }
    }
    return ND_OK;
}

int nd_fold_texts(const uint8_t *texts, const size_t *ends, size_t count, nd_tokens *folded) {
    nd_tokens all = {NULL, 0, malloc(count * sizeof(size_t) + 1), malloc(count * sizeof(size_t) + 1), count};
    size_t reserved = 0, start = 0;
    int status = all.starts && all.ends ? ND_OK : ND_NO_MEMORY;
    for (size_t i = 0; status == ND_OK && i < count; start = ends[i++]) {
        nd_tokens one = {NULL, 0, NULL, NULL, 0};
        status = nd_fold_text(texts + start, ends[i] - start, &one);
        if (status == ND_OK && all.length + one.length > reserved) {
            size_t wanted = all.length + one.length + (ends[count - 1] - ends[i]);
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
