/* The hashes of a text's tokens, and of its shingles. */

#include <stdlib.h>

#include "internal.h"

typedef struct {
    nd_hashes hashes;
    size_t room;
    nd_counter *counter;
} list;

static void count_lettered(nd_counter *counter, const nd_batch *batch, const uint64_t *hashes) {
    if (batch->numbers == 0) {
        nd_counter_add(counter, hashes, batch->count);
        return;
    }
    uint64_t lettered[ND_BATCH];
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        lettered[count] = hashes[i];
        count += batch->lettered[i];
    }
    nd_counter_add(counter, lettered, count);
}

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
    uint64_t *hashes = list->hashes.values + list->hashes.count;
    nd_hash_batch(text, batch, hashes);
    if (list->counter != NULL) count_lettered(list->counter, batch, hashes);
    list->hashes.count += batch->count;
    return true;
}

int nd_list_hashes(const uint8_t *text, size_t length, bool numbers, nd_counter *counter, nd_hashes *hashes) {
    nd_buffer buffer = {NULL, 0, 0};
    list found = {{NULL, 0}, 0, counter};
    int status = nd_prepare(text, length, &buffer);
    if (status == ND_OK && !nd_scan_tokens(buffer.data, buffer.length, numbers, list_batch, &found))
        status = ND_NO_MEMORY;
    free(buffer.data);
    if (status == ND_OK)
        *hashes = found.hashes;
    else
        free(found.hashes.values);
    return status;
}

static int token_hashes(const uint8_t *text, size_t length, bool numbers, nd_hashes *hashes) {
    int status = nd_list_hashes(text, length, numbers, NULL, hashes);
    if (status != ND_OK) return status;
    /* Hashes are kept for long at times; room that stayed empty is not. */
    uint64_t *exact = hashes->count == 0 ? NULL : realloc(hashes->values, hashes->count * sizeof *exact);
    if (exact != NULL) hashes->values = exact;
    return ND_OK;
}

int nd_token_hashes(const uint8_t *text, size_t length, nd_hashes *hashes) {
    return token_hashes(text, length, false, hashes);
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
    int status = token_hashes(text, length, numbers != 0, hashes);
    if (status == ND_OK && hashes->count != 0) nd_shingle(hashes, size);
    return status;
}

void nd_free(void *memory) { free(memory); }

void nd_hashes_free(nd_hashes *hashes) {
    free(hashes->values);
    *hashes = (nd_hashes){NULL, 0};
}
