/* The hashes of a text's tokens, and of its shingles. */

#include <stdlib.h>

#include "internal.h"

bool nd_list_reserve(nd_list *list, size_t more) {
    if (list->room - list->hashes.count >= more) return true;
    size_t wanted = list->room < 2 * ND_BATCH ? 4 * ND_BATCH : list->room;
    while (wanted - list->hashes.count < more) {
        if (wanted > SIZE_MAX / 2 / sizeof(uint64_t)) return false;
        wanted *= 2;
    }
    uint64_t *values = realloc(list->hashes.values, wanted * sizeof(uint64_t));
    if (values == NULL) return false;
    list->hashes.values = values;
    list->room = wanted;
    return true;
}

bool nd_list_add(nd_list *list, const uint64_t *hashes, size_t count) {
    if (count == 0) return true;
    if (!nd_list_reserve(list, count)) return false;
    memcpy(list->hashes.values + list->hashes.count, hashes, count * sizeof *hashes);
    list->hashes.count += count;
    return true;
}

static bool list_batch(void *state, const uint8_t *text, const nd_batch *batch) {
    nd_list *list = state;
    if (!nd_list_reserve(list, ND_BATCH)) return false;
    nd_hash_batch(text, batch, list->hashes.values + list->hashes.count);
    list->hashes.count += batch->count;
    return true;
}

static int token_hashes(const uint8_t *text, size_t length, bool numbers, bool folded, nd_hashes *hashes) {
    nd_buffer buffer = {NULL, 0, 0};
    nd_list found = {{NULL, 0}, 0};
    int status = (folded ? nd_prepare_folded : nd_prepare)(text, length, &buffer);
    if (status == ND_OK && !nd_scan_tokens(buffer.data, buffer.length, numbers, list_batch, &found))
        status = ND_NO_MEMORY;
    free(buffer.data);
    if (status != ND_OK) {
        free(found.hashes.values);
        return status;
    }
    /* Hashes are kept for long at times; room that stayed empty is not. */
    uint64_t *exact = NULL;
    if (found.hashes.count != 0) exact = realloc(found.hashes.values, found.hashes.count * sizeof *exact);
    if (exact != NULL) found.hashes.values = exact;
    *hashes = found.hashes;
    return ND_OK;
}

int nd_token_hashes(const uint8_t *text, size_t length, nd_hashes *hashes) {
    return token_hashes(text, length, false, false, hashes);
}

void nd_shingle(nd_hashes *hashes, size_t size) {
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
}

int nd_shingle_hashes(const uint8_t *text, size_t length, size_t size, int numbers, nd_hashes *hashes) {
    int status = token_hashes(text, length, numbers != 0, true, hashes);
    if (status == ND_OK && hashes->count != 0) nd_shingle(hashes, size);
    return status;
}

void nd_free(void *memory) { free(memory); }

void nd_hashes_free(nd_hashes *hashes) {
    free(hashes->values);
    *hashes = (nd_hashes){NULL, 0};
}
