/* Words with their places in the text as it was given, before it was normalised. */

#include <stdlib.h>

#include "internal.h"

typedef struct {
    nd_words words;
    size_t room;
    const uint8_t *text;
    const nd_pieces *pieces;
    size_t piece;                  /* the one that the last start lay in */
    size_t start_byte, start_char; /* so many characters begin before that byte */
    size_t end_byte, end_char;
} list;

static bool reserve(list *list) {
    if (list->room - list->words.count >= ND_BATCH) return true;
    size_t room = list->room == 0 ? 2 * ND_BATCH : list->room * 2;
    if (room > SIZE_MAX / sizeof(uint64_t)) return false;
    nd_words *words = &list->words;
    uint64_t *hashes = realloc(words->hashes, room * sizeof *hashes);
    if (hashes != NULL) words->hashes = hashes;
    uint32_t *starts = realloc(words->starts, room * sizeof *starts);
    if (starts != NULL) words->starts = starts;
    uint32_t *ends = realloc(words->ends, room * sizeof *ends);
    if (ends != NULL) words->ends = ends;
    if (hashes == NULL || starts == NULL || ends == NULL) return false;
    list->room = room;
    return true;
}

static inline bool begins(uint8_t byte) { return (byte & 0xC0) != 0x80; }

/* How many characters begin before text[to]; `from` and `before` are where that was known, and move on. */
static inline size_t count_characters(const uint8_t *text, size_t *from, size_t *before, size_t to) {
    for (size_t at = *from; at < to; at++) *before += begins(text[at]);
    *from = to;
    return *before;
}

static bool list_batch(void *state, const uint8_t *text, const nd_batch *batch) {
    list *list = state;
    nd_words *words = &list->words;
    if (!reserve(list)) return false;
    nd_hash_batch(text, batch, words->hashes + words->count);
    for (size_t i = 0; i < batch->count; i++) {
        const nd_piece *items = list->pieces->items;
        size_t piece = list->piece, count = list->pieces->count;
        while (piece + 1 < count && items[piece + 1].out <= batch->starts[i]) piece++;
        list->piece = piece;
        size_t start = items[piece].in + (items[piece].size == 0 ? batch->starts[i] - items[piece].out : 0);
        while (piece + 1 < count && items[piece + 1].out < batch->ends[i]) piece++;
        size_t end = items[piece].in + (items[piece].size == 0 ? batch->ends[i] - items[piece].out : items[piece].size);
        while (start != 0 && !begins(list->text[start])) start--;
        words->starts[words->count] = (uint32_t)count_characters(list->text, &list->start_byte, &list->start_char, start);
        words->ends[words->count++] = (uint32_t)count_characters(list->text, &list->end_byte, &list->end_char, end);
    }
    return true;
}

/* Words are kept for long at times; room that stayed empty is not. */
static void trim(nd_words *words) {
    if (words->count == 0) return;
    uint64_t *hashes = realloc(words->hashes, words->count * sizeof *hashes);
    if (hashes != NULL) words->hashes = hashes;
    uint32_t *starts = realloc(words->starts, words->count * sizeof *starts);
    if (starts != NULL) words->starts = starts;
    uint32_t *ends = realloc(words->ends, words->count * sizeof *ends);
    if (ends != NULL) words->ends = ends;
}

int nd_words_of(const uint8_t *text, size_t length, int numbers, int identifiers, nd_words *words) {
    nd_buffer buffer = {NULL, 0, 0};
    nd_pieces pieces = {NULL, 0, 0};
    list found = {{NULL, NULL, NULL, 0}, 0, text, &pieces, 0, 0, 0, 0, 0};
    int status = nd_normalise_into(text, length, &buffer, &pieces);
    if (status == ND_OK) {
        if (!identifiers) nd_blank_identifiers(buffer.data, buffer.length);
        if (!nd_scan_tokens(buffer.data, buffer.length, numbers != 0, list_batch, &found)) status = ND_NO_MEMORY;
    }
    free(buffer.data);
    free(pieces.items);
    if (status == ND_OK) {
        trim(&found.words);
        *words = found.words;
    } else {
        free(found.words.hashes);
        free(found.words.starts);
        free(found.words.ends);
    }
    return status;
}
