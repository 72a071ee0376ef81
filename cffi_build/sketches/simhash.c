/* From text to fingerprint, and from ready features to fingerprint. */

#include "simhash.h"

#include <stdlib.h>

#include "internal.h"
#include "unicode_tables.h"

const char *nd_unicode_version(void) { return nd_unicode_version_text; }

/* A carry-save adder: three words of one weight become one of that weight and one of twice it. */
static inline uint64_t add3(uint64_t *sum, uint64_t x, uint64_t y) {
    uint64_t half = *sum ^ x;
    uint64_t carry = (*sum & x) | (half & y);
    *sum = half ^ y;
    return carry;
}

static void add_at_plane(nd_counter *counter, unsigned plane, uint64_t word) {
    while (word != 0) {
        uint64_t carry = counter->planes[plane] & word;
        counter->planes[plane++] ^= word;
        word = carry;
    }
}

/* Sixteen hashes at a time through a tree of adders (Harley and Seal), so that a hash costs five operations or so
   instead of 64 additions; the rest one by one. */
void nd_counter_add(nd_counter *counter, const uint64_t *hashes, size_t count) {
    uint64_t *s = counter->pending;
    counter->count += count;
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const uint64_t *h = hashes + i;
        uint64_t two[8], four[4], eight[2];
        for (int j = 0; j < 8; j++) two[j] = add3(&s[0], h[2 * j], h[2 * j + 1]);
        for (int j = 0; j < 4; j++) four[j] = add3(&s[1], two[2 * j], two[2 * j + 1]);
        for (int j = 0; j < 2; j++) eight[j] = add3(&s[2], four[2 * j], four[2 * j + 1]);
        add_at_plane(counter, 4, add3(&s[3], eight[0], eight[1]));
    }
    for (; i < count; i++) {
        uint64_t word = hashes[i];
        for (unsigned plane = 0; plane < 4 && word != 0; plane++) {
            uint64_t carry = s[plane] & word;
            s[plane] ^= word;
            word = carry;
        }
        add_at_plane(counter, 4, word);
    }
}

/* Bit i of the simhash: are the ones of bit i more than half of the count? Compared from the highest plane down. */
uint64_t nd_counter_simhash(const nd_counter *counter) {
    uint64_t half = counter->count / 2, greater = 0, equal = ~(uint64_t)0;
    for (int plane = 63; plane >= 0; plane--) {
        uint64_t ones = plane < 4 ? counter->pending[plane] : counter->planes[plane];
        if (half >> plane & 1) {
            equal &= ones;
        } else {
            greater |= equal & ones;
            equal &= ~ones;
        }
    }
    return greater;
}

/* For a rest of n bytes (0 to 23), which bytes of the three words are its own. */
#define FIRST(n) ((n) >= 8 ? ~(uint64_t)0 : ((uint64_t)1 << (8 * ((n) & 7))) - 1)
#define MASKS(n) {FIRST(n), (n) > 8 ? FIRST((n) - 8) : 0, (n) > 16 ? FIRST((n) - 16) : 0}
static const uint64_t REST_MASKS[24][3] = {
    MASKS(0),  MASKS(1),  MASKS(2),  MASKS(3),  MASKS(4),  MASKS(5),  MASKS(6),  MASKS(7),
    MASKS(8),  MASKS(9),  MASKS(10), MASKS(11), MASKS(12), MASKS(13), MASKS(14), MASKS(15),
    MASKS(16), MASKS(17), MASKS(18), MASKS(19), MASKS(20), MASKS(21), MASKS(22), MASKS(23),
};

void nd_hash_batch(const uint8_t *text, const nd_batch *batch, uint64_t *c) {
    uint64_t a[ND_BATCH], b[ND_BATCH];
    for (size_t i = 0; i < batch->count; i++) {
        const uint8_t *token = text + batch->starts[i];
        size_t length = batch->ends[i] - batch->starts[i], rest = length;
        uint64_t x = 0, y = 0, z = ND_GOLDEN;
        if (length >= 24) {
            size_t done = nd_mix_blocks(token, length, &x, &y, &z);
            token += done;
            rest -= done;
        }
        a[i] = x + (nd_load64(token) & REST_MASKS[rest][0]);
        b[i] = y + (nd_load64(token + 8) & REST_MASKS[rest][1]);
        c[i] = z + ((nd_load64(token + 16) & REST_MASKS[rest][2]) << 8) + length;
    }
    nd_mix_batch(a, b, c, batch->count);
}

static bool count_batch(void *state, const uint8_t *text, const nd_batch *batch) {
    uint64_t hashes[ND_BATCH];
    nd_hash_batch(text, batch, hashes);
    nd_counter_add(state, hashes, batch->count);
    return true;
}

int nd_prepare(const uint8_t *text, size_t length, nd_buffer *buffer) {
    int status = nd_normalise_into(text, length, buffer, NULL);
    if (status == ND_OK) nd_blank_identifiers(buffer->data, buffer->length);
    return status;
}

int nd_prepare_folded(const uint8_t *text, size_t length, nd_buffer *buffer) {
    int status = nd_normalise_into(text, length, buffer, NULL);
    if (status != ND_OK) return status;
    nd_fold_marks(buffer);
    nd_blank_identifiers(buffer->data, buffer->length);
    return status;
}

int nd_fingerprint(const uint8_t *text, size_t length, uint64_t *value, uint64_t *tokens) {
    nd_buffer buffer = {NULL, 0, 0};
    int status = nd_prepare(text, length, &buffer);
    if (status == ND_OK) {
        nd_counter counter;
        memset(&counter, 0, sizeof counter);
        nd_scan_tokens(buffer.data, buffer.length, false, count_batch, &counter);
        if (counter.count == 0) {
            status = ND_EMPTY;
        } else {
            *value = nd_counter_simhash(&counter);
            *tokens = counter.count;
        }
    }
    free(buffer.data);
    return status;
}

static bool list_batch(void *state, const uint8_t *text, const nd_batch *batch) {
    (void)text;
    nd_tokens *tokens = state;
    /* Powers of two, so that the room is known from the count. */
    size_t room = tokens->count == 0 ? 0 : ND_BATCH;
    while (room != 0 && room < tokens->count) room *= 2;
    if (tokens->count + batch->count > room) {
        size_t wanted = room == 0 ? ND_BATCH : room * 2;
        if (wanted > SIZE_MAX / sizeof(size_t)) return false;
        size_t *starts = realloc(tokens->starts, wanted * sizeof(size_t));
        if (starts == NULL) return false;
        tokens->starts = starts;
        size_t *ends = realloc(tokens->ends, wanted * sizeof(size_t));
        if (ends == NULL) return false;
        tokens->ends = ends;
    }
    memcpy(tokens->starts + tokens->count, batch->starts, batch->count * sizeof(size_t));
    memcpy(tokens->ends + tokens->count, batch->ends, batch->count * sizeof(size_t));
    tokens->count += batch->count;
    return true;
}

static int tokenise(const uint8_t *text, size_t length, bool numbers, nd_tokens *tokens) {
    nd_buffer buffer = {NULL, 0, 0};
    nd_tokens found = {NULL, 0, NULL, NULL, 0};
    int status = nd_prepare(text, length, &buffer);
    if (status == ND_OK && !nd_scan_tokens(buffer.data, buffer.length, numbers, list_batch, &found))
        status = ND_NO_MEMORY;
    found.text = buffer.data;
    found.length = buffer.length;
    if (status == ND_OK)
        *tokens = found;
    else
        nd_tokens_free(&found);
    return status;
}

int nd_tokenise(const uint8_t *text, size_t length, nd_tokens *tokens) { return tokenise(text, length, false, tokens); }

int nd_tokenise_with_numbers(const uint8_t *text, size_t length, nd_tokens *tokens) {
    return tokenise(text, length, true, tokens);
}

int nd_normalise(const uint8_t *text, size_t length, nd_tokens *tokens) {
    nd_buffer buffer = {NULL, 0, 0};
    int status = nd_normalise_into(text, length, &buffer, NULL);
    if (status == ND_OK)
        *tokens = (nd_tokens){buffer.data, buffer.length, NULL, NULL, 0};
    else
        free(buffer.data);
    return status;
}

void nd_tokens_free(nd_tokens *tokens) {
    free(tokens->text);
    free(tokens->starts);
    free(tokens->ends);
    *tokens = (nd_tokens){NULL, 0, NULL, NULL, 0};
}

int nd_simhash(const uint64_t *features, const int64_t *weights, size_t count, uint64_t *value) {
    if (count == 0) return ND_EMPTY;
    if (weights == NULL) {
        nd_counter counter;
        memset(&counter, 0, sizeof counter);
        nd_counter_add(&counter, features, count);
        *value = nd_counter_simhash(&counter);
        return ND_OK;
    }
    int64_t buckets[64] = {0};
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t magnitude = weights[i] < 0 ? 0 - (uint64_t)weights[i] : (uint64_t)weights[i];
        if (magnitude > (uint64_t)INT64_MAX - total) return ND_OVERFLOW;
        total += magnitude;
        for (int bit = 0; bit < 64; bit++) buckets[bit] += (features[i] >> bit & 1) ? weights[i] : -weights[i];
    }
    uint64_t hash = 0;
    for (int bit = 0; bit < 64; bit++) hash |= (uint64_t)(buckets[bit] > 0) << bit;
    *value = hash;
    return ND_OK;
}
