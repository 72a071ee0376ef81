/* The hashes of a text's tokens, and of its shingles. */

#include <stdlib.h>

#include "internal.h"

typedef struct {
    nd_hashes hashes;
    size_t room;
} list;

static bool list_batch(void *state, const uint8_t *text, const nd_batch *batch) {
    list *list = state;
    if (list->room - list->hashes.count < ND_BATCH) {
        size_t wanted = list->room == 0 ? 4 * ND_BATCH : list->room * 2;
        if (wanted > SIZE_MAX / sizeof(uint64_t)) return false;
        uint64_t *values = realloc(list->hashes.values, wanted * sizeof(uint64_t));
        if (values == NULL) return false;
        list->hashes.values = values;
        list->room = wanted;
    }
    nd_hash_batch(text, batch, list->hashes.values + list->hashes.count);
    list->hashes.count += batch->count;
    return true;
}

int nd_token_hashes(const uint8_t *text, size_t length, nd_hashes *hashes) {
    nd_buffer buffer = {NULL, 0, 0};
    list found = {{NULL, 0}, 0};
    int status = nd_prepare(text, length, &buffer);
    if (status == ND_OK && !nd_scan_tokens(buffer.data, buffer.length, false, list_batch, &found)) status = ND_NO_MEMORY;
    free(buffer.data);
    if (status != ND_OK) {
        free(found.hashes.values);
        return status;
    }
    /* Hashes are kept for long at times; room that stayed empty is not. */
    uint64_t *exact = found.hashes.count == 0 ? NULL : realloc(found.hashes.values, found.hashes.count * sizeof *exact);
    if (exact != NULL) found.hashes.values = exact;
    *hashes = found.hashes;
    return ND_OK;
}

int nd_shingle_hashes(const uint8_t *text, size_t length, size_t size, nd_hashes *hashes) {
    int status = nd_token_hashes(text, length, hashes);
    if (status != ND_OK || hashes->count == 0) return status;
    if (size > hashes->count) size = hashes->count;
    size_t shingles = hashes->count - size + 1;
    /* In place: what a batch overwrites, no later batch reads. */
    for (size_t at = 0; at < shingles; at += ND_BATCH) {
        uint64_t batch[ND_BATCH];
        size_t count = shingles - at < ND_BATCH ? shingles - at : ND_BATCH;
        nd_lookup8_windows(hashes->values + at, size, count, batch);
        memcpy(hashes->values + at, batch, count * sizeof *batch);
    }
    hashes->count = shingles;
    return ND_OK;
}

void nd_free(void *memory) { free(memory); }

void nd_hashes_free(nd_hashes *hashes) {
    free(hashes->values);
    *hashes = (nd_hashes){NULL, 0};
}
