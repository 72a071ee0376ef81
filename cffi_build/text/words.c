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
    bool plain;  /* every byte is a character, and stands where it stood */
    bool marked; /* some words have marks that their hashes leave out */
    nd_buffer word;
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

/* Leaves marks out of the hash of a word; gives how many bytes the word has then, SIZE_MAX where memory ran out. */
static size_t hash_folded(list *list, const uint8_t *word, size_t length, uint64_t *hash) {
    if (!nd_has_marks(word, length)) return length;
    list->word.length = 0;
    if (!nd_buffer_reserve(&list->word, length)) return SIZE_MAX;
    memcpy(list->word.data, word, length);
    list->word.length = length;
    nd_fold_marks(&list->word);
    *hash = nd_lookup8(list->word.data, list->word.length, 0);
    return list->word.length;
}

static bool list_batch(void *state, const uint8_t *text, const nd_batch *batch) {
    list *list = state;
    nd_words *words = &list->words;
    if (!reserve(list)) return false;
    nd_hash_batch(text, batch, words->hashes + words->count);
    if (list->plain) {
        for (size_t i = 0; i < batch->count; i++) {
            words->starts[words->count] = (uint32_t)batch->starts[i];
            words->ends[words->count++] = (uint32_t)batch->ends[i];
        }
        return true;
    }
    const uint64_t *hashes = words->hashes + words->count;
    for (size_t i = 0; i < batch->count; i++) {
        const nd_piece *items = list->pieces->items;
        size_t piece = list->piece, count = list->pieces->count;
        while (piece + 1 < count && items[piece + 1].out <= batch->starts[i]) piece++;
        list->piece = piece;
        size_t start = items[piece].in + (items[piece].size == 0 ? batch->starts[i] - items[piece].out : 0);
        while (piece + 1 < count && items[piece + 1].out < batch->ends[i]) piece++;
        size_t end = items[piece].in + (items[piece].size == 0 ? batch->ends[i] - items[piece].out : items[piece].size);
        while (start != 0 && !begins(list->text[start])) start--;
        if (list->marked) {
            size_t length = batch->ends[i] - batch->starts[i];
            /* Words that are left out make room for those behind them. */
            uint64_t hash = hashes[i];
            length = hash_folded(list, text + batch->starts[i], length, &hash);
            if (length == SIZE_MAX) return false;
            if (length == 0) continue;
            words->hashes[words->count] = hash;
        }
        words->starts[words->count] = (uint32_t)count_characters(list->text, &list->start_byte, &list->start_char, start);
        words->ends[words->count++] = (uint32_t)count_characters(list->text, &list->end_byte, &list->end_char, end);
    }
    return true;
}

/* Words are kept for long at times: they move into one block without room that stayed empty. */
static bool pack(nd_words *words) {
    size_t count = words->count;
    if (count == 0) return true;
    uint64_t *hashes = malloc(count * (sizeof *hashes + 2 * sizeof(uint32_t)));
    if (hashes == NULL) return false;
    uint32_t *starts = (uint32_t *)(hashes + count);
    memcpy(hashes, words->hashes, count * sizeof *hashes);
    memcpy(starts, words->starts, count * sizeof *starts);
    memcpy(starts + count, words->ends, count * sizeof *starts);
    free(words->hashes);
    free(words->starts);
    free(words->ends);
    *words = (nd_words){hashes, starts, starts + count, count};
    return true;
}

static bool is_ascii(const uint8_t *text, size_t length) {
    uint8_t all = 0;
    for (size_t i = 0; i < length; i++) all |= text[i];
    return all < 0x80;
}

int nd_words_of(const uint8_t *text, size_t length, int numbers, int identifiers, nd_words *words) {
    nd_buffer buffer = {NULL, 0, 0};
    nd_pieces pieces = {NULL, 0, 0};
    list found = {.text = text, .pieces = &pieces};
    int status = nd_normalise_into(text, length, &buffer, &pieces);
    if (status == ND_OK) {
        found.marked = nd_has_marks(buffer.data, buffer.length);
        found.plain = pieces.count <= 1 && is_ascii(text, length);
        if (!identifiers) nd_blank_identifiers(buffer.data, buffer.length);
        if (!nd_scan_tokens(buffer.data, buffer.length, numbers != 0, list_batch, &found)) status = ND_NO_MEMORY;
    }
    free(buffer.data);
    free(found.word.data);
    free(pieces.items);
    if (status == ND_OK && !pack(&found.words)) status = ND_NO_MEMORY;
    if (status != ND_OK || found.words.count == 0) {
        free(found.words.hashes);
        free(found.words.starts);
        free(found.words.ends);
        found.words = (nd_words){NULL, NULL, NULL, 0};
    }
    *words = found.words;
    return status;
}
