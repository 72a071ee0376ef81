/* What is made of tokens that are cut already: their hashes, shingles of characters, and the same without digits. */

#include <stdlib.h>

#include "internal.h"
#include "unicode_tables.h"

/* How far nd_hash_batch may read past a token. */
#define READ_PAST 24

void nd_hash_spans(const uint8_t *text, size_t length, const size_t *starts, const size_t *ends, size_t count,
                   uint64_t *hashes) {
    nd_batch batch;
    for (size_t at = 0; at < count;) {
        batch.count = 0;
        while (batch.count < ND_BATCH && at + batch.count < count && length - ends[at + batch.count] >= READ_PAST) {
            batch.starts[batch.count] = starts[at + batch.count];
            batch.ends[batch.count] = ends[at + batch.count];
            batch.count++;
        }
        nd_hash_batch(text, &batch, hashes + at);
        at += batch.count;
        if (at < count && length - ends[at] < READ_PAST) {
            hashes[at] = nd_lookup8(text + starts[at], ends[at] - starts[at], 0);
            at++;
        }
    }
}

bool nd_add_token(nd_buffer *line, const uint8_t *token, size_t length, bool adjacent) {
    if (!nd_buffer_reserve(line, length + 1)) return false;
    if (!adjacent && line->length != 0) line->data[line->length++] = ' ';
    memcpy(line->data + line->length, token, length);
    line->length += length;
    return true;
}

static inline size_t next_character(const nd_buffer *line, size_t at) {
    at++;
    while (at < line->length && (line->data[at] & 0xC0) == 0x80) at++;
    return at;
}

static void hash_windows(const nd_buffer *line, size_t end, uint64_t *hashes, size_t count) {
    nd_batch batch;
    size_t start = 0;
    for (size_t at = 0; at < count; at += batch.count) {
        for (batch.count = 0; batch.count < ND_BATCH && at + batch.count < count; batch.count++) {
            batch.starts[batch.count] = start;
            batch.ends[batch.count] = end;
            start = next_character(line, start);
            end = next_character(line, end);
        }
        nd_hash_batch(line->data, &batch, hashes + at);
    }
}

int nd_hash_line(nd_buffer *line, size_t size, nd_list *list) {
    list->hashes.count = 0;
    if (line->length == 0) return ND_OK;
    memset(line->data + line->length, 0, ND_SLACK);
    size_t end = 0, shingles = 1;
    for (size_t taken = 0; taken < size && end < line->length; taken++) end = next_character(line, end);
    for (size_t at = end; at < line->length; at++) shingles += (line->data[at] & 0xC0) != 0x80;
    if (!nd_list_reserve(list, shingles)) return ND_NO_MEMORY;
    hash_windows(line, end, list->hashes.values, shingles);
    list->hashes.count = shingles;
    return ND_OK;
}

int nd_character_hashes(const uint8_t *text, const size_t *starts, const size_t *ends, size_t count, size_t size,
                        nd_hashes *hashes) {
    nd_buffer line = {NULL, 0, 0};
    nd_list found = {{NULL, 0}, 0};
    int status = ND_OK;
    for (size_t i = 0; status == ND_OK && i < count; i++) {
        bool adjacent = i != 0 && starts[i] == ends[i - 1];
        if (!nd_add_token(&line, text + starts[i], ends[i] - starts[i], adjacent)) status = ND_NO_MEMORY;
    }
    if (status == ND_OK) status = nd_hash_line(&line, size, &found);
    free(line.data);
    if (status == ND_OK)
        *hashes = found.hashes;
    else
        free(found.hashes.values);
    return status;
}

/* Takes the decimal digits out of what stands from `start` on. */
static void drop_digits(nd_buffer *line, size_t start) {
    size_t kept = start;
    for (size_t at = start; at < line->length;) {
        uint32_t code;
        size_t size = nd_decode(line->data + at, line->length - at, &code);
        /* Of the characters that tokens are made of, these are the decimal digits. */
        if ((nd_word_property(code) & ND_WB_MASK) != ND_WB_NUMERIC) {
            if (kept != at) memmove(line->data + kept, line->data + at, size);
            kept += size;
        }
        at += size;
    }
    line->length = kept;
}

int nd_strip_digits(const uint8_t *text, const size_t *starts, const size_t *ends, size_t count, nd_tokens *stripped) {
    nd_buffer line = {NULL, 0, 0};
    nd_tokens found = {NULL, 0, NULL, NULL, 0};
    int status = ND_NO_MEMORY;
    if (count > SIZE_MAX / sizeof(size_t) - 1 || !nd_buffer_reserve(&line, 1)) return status;
    found.starts = malloc((count + 1) * sizeof(size_t));
    found.ends = malloc((count + 1) * sizeof(size_t));
    if (found.starts != NULL && found.ends != NULL) status = ND_OK;
    bool adjacent = false;
    for (size_t i = 0; status == ND_OK && i < count; i++) {
        size_t length = ends[i] - starts[i], before = line.length;
        if (i != 0 && starts[i] != ends[i - 1]) adjacent = false;
        if (!nd_add_token(&line, text + starts[i], length, adjacent)) {
            status = ND_NO_MEMORY;
            break;
        }
        size_t start = line.length - length;
        drop_digits(&line, start);
        adjacent = line.length != start;
        if (!adjacent) {
            line.length = before;
            continue;
        }
        found.starts[found.count] = start;
        found.ends[found.count++] = line.length;
    }
    found.text = line.data;
    found.length = line.length;
    if (status == ND_OK)
        *stripped = found;
    else
        nd_tokens_free(&found);
    return status;
}
