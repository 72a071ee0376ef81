/* Many texts in one call, so that a caller with a global lock lets go of it once for all of them. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "simhash.h"

static bool has_mark(const uint8_t *text, size_t from, size_t to, size_t length) {
    for (size_t i = from; i < to; i++) {
        if (text[i] == 0x9B && i > 0 && text[i - 1] == 0xC2) return true;
        if (text[i] != 0xEF || i + 2 >= length) continue;
        if (text[i + 1] == 0xBF && text[i + 2] >= 0xBE) return true;
        if (text[i + 1] == 0xBB && text[i + 2] == 0xBF) return true;
    }
    return false;
}

int nd_is_clean(const uint8_t *text, size_t length) {
    enum { PART = 4096 };
    for (size_t from = 0; from < length; from += PART) {
        size_t to = length - from < PART ? length : from + PART;
        uint8_t control = 0, lead = 0;
        /* Without a branch, so that many bytes are looked at at once. */
        for (size_t i = from; i < to; i++) {
            uint8_t c = text[i];
            control |= (uint8_t)((c < 9) | ((uint8_t)(c - 14) < 18) | (c == 127));
            lead |= (uint8_t)((c == 0xEF) | (c == 0x9B));
        }
        if (control || (lead && has_mark(text, from, to, length))) return 0;
    }
    return 1;
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
