/* All sketches of a text from one pass over it. */

#include <stdlib.h>

#include "internal.h"

#define KEY_MASK (((uint64_t)1 << ND_PASSAGE_BITS) - 1)

/* What the tokens of a text become. The lists and buffers keep their room from one text to the next. */
typedef struct {
    const nd_minhash_form *minhash;
    const nd_passages_form *passages;
    nd_counter counter;
    nd_list all;      /* hashes of tokens, those of numbers among them */
    nd_list lettered; /* hashes of tokens with a letter, for a minhash without numbers */
    nd_buffer line;   /* characters of tokens */
    nd_list own;      /* shingles of passages alone, or what winnowing leaves of those of minhash too */
    nd_buffer text;   /* normalised */
    bool marked;      /* the text has marks that all but the simhash leave out, and is gone through twice */
    bool folded;      /* the second time */
} pass;

static bool keeps_all(const pass *pass) {
    return (pass->minhash != NULL && !pass->minhash->letters && pass->minhash->numbers) ||
           (pass->passages != NULL && !pass->passages->letters);
}

static bool keeps_lettered(const pass *pass) {
    return pass->minhash != NULL && !pass->minhash->letters && !pass->minhash->numbers;
}

static bool keeps_letters(const pass *pass) {
    return (pass->minhash != NULL && pass->minhash->letters) || (pass->passages != NULL && pass->passages->letters);
}

static bool add_letters(nd_buffer *line, const uint8_t *text, const nd_batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        if (!nd_add_token(line, text + batch->starts[i], batch->ends[i] - batch->starts[i], true)) return false;
    return true;
}

static bool take_batch(void *state, const uint8_t *text, const nd_batch *batch) {
    pass *pass = state;
    uint64_t hashes[ND_BATCH], some[ND_BATCH], *lettered = hashes;
    nd_hash_batch(text, batch, hashes);
    size_t count = batch->count;
    if (batch->numbers != 0) {
        lettered = some;
        count = 0;
        for (size_t i = 0; i < batch->count; i++) {
            lettered[count] = hashes[i];
            count += batch->lettered[i];
        }
    }
    if (!pass->folded) nd_counter_add(&pass->counter, lettered, count);
    if (pass->marked && !pass->folded) return true;
    return (!keeps_all(pass) || nd_list_add(&pass->all, hashes, batch->count)) &&
           (!keeps_lettered(pass) || nd_list_add(&pass->lettered, lettered, count)) &&
           (!keeps_letters(pass) || add_letters(&pass->line, text, batch));
}

/* Sorts numbers below 2 to the power of ND_PASSAGE_BITS, a few by insertion, many byte by byte from the lowest on; `spare` has
   room for as many. */
static void sort(uint64_t *numbers, size_t count, uint64_t *spare) {
    enum { FEW = 48, BYTES = ND_PASSAGE_BITS / 8 };
    if (count <= FEW) {
        for (size_t i = 1; i < count; i++) {
            uint64_t number = numbers[i];
            size_t at = i;
            for (; at > 0 && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
            numbers[at] = number;
        }
        return;
    }
    uint64_t *from = numbers, *to = spare;
    for (unsigned byte = 0; byte < BYTES; byte++) {
        size_t places[257] = {0};
        for (size_t i = 0; i < count; i++) places[(from[i] >> 8 * byte & 0xFF) + 1]++;
        for (size_t i = 0; i < 256; i++) places[i + 1] += places[i];
        for (size_t i = 0; i < count; i++) to[places[from[i] >> 8 * byte & 0xFF]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
    if (from != numbers) memcpy(numbers, from, count * sizeof *numbers);
}

/* Adds the keys of shingles, winnowed in place or into `kept`, to those of the texts before. */
static int add_keys(const nd_passages_form *form, const nd_hashes *shingles, uint64_t *kept, nd_list *keys,
                    nd_text_features *found) {
    size_t count = 0, distinct = 0;
    int status = nd_winnow_into(shingles->values, shingles->count, form->window, kept, &count);
    found->passages = 0;
    if (status != ND_OK || count == 0) return status;
    for (size_t i = 0; i < count; i++) kept[i] &= KEY_MASK;
    if (!nd_list_reserve(keys, count)) return ND_NO_MEMORY;
    uint64_t *room = keys->hashes.values + keys->hashes.count;
    sort(kept, count, room);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || kept[i] != kept[i - 1]) room[distinct++] = kept[i];
    keys->hashes.count += distinct;
    found->passages = distinct;
    return ND_OK;
}

/* Whether minhash is made of the shingles that passages are made of. */
static bool shares_shingles(const pass *pass) {
    return pass->minhash != NULL && !pass->minhash->letters && pass->minhash->numbers && pass->passages != NULL &&
           !pass->passages->letters && pass->minhash->shingle == pass->passages->shingle;
}

static int make_passages(pass *pass, nd_list *keys, nd_text_features *found) {
    const nd_passages_form *form = pass->passages;
    nd_list *own = &pass->own;
    own->hashes.count = 0;
    if (form->letters) {
        int status = nd_hash_line(&pass->line, form->shingle, own);
        return status == ND_OK ? add_keys(form, &own->hashes, own->hashes.values, keys, found) : status;
    }
    if (pass->all.hashes.count == 0) return ND_OK;
    if (shares_shingles(pass)) {
        nd_shingle(&pass->all.hashes, form->shingle);
        if (!nd_list_reserve(own, pass->all.hashes.count)) return ND_NO_MEMORY;
        return add_keys(form, &pass->all.hashes, own->hashes.values, keys, found);
    }
    if (!nd_list_add(own, pass->all.hashes.values, pass->all.hashes.count)) return ND_NO_MEMORY;
    nd_shingle(&own->hashes, form->shingle);
    return add_keys(form, &own->hashes, own->hashes.values, keys, found);
}

static int make_minhash(pass *pass, nd_text_features *found, uint8_t *packed, uint64_t *keys) {
    const nd_minhash_form *form = pass->minhash;
    nd_hashes *shingles = form->numbers ? &pass->all.hashes : &pass->lettered.hashes;
    uint32_t signature[ND_MAX_VALUES];
    int status = ND_OK;
    if (form->letters) {
        shingles = &pass->own.hashes;
        shingles->count = 0;
        status = nd_hash_line(&pass->line, form->shingle, &pass->own);
    } else if (shingles->count != 0 && !shares_shingles(pass)) {
        nd_shingle(shingles, form->shingle);
    }
    if (status != ND_OK || shingles->count == 0) return status;
    status = nd_distinct(shingles->values, &shingles->count);
    if (status != ND_OK) return status;
    nd_fast_minhash(shingles->values, shingles->count, form->values, ND_ROUNDS, signature);
    nd_pack(signature, form->values, form->bits, packed);
    nd_band_keys(signature, form->bands, form->rows, keys);
    for (size_t i = 0; i < form->bands; i++) keys[i] = (uint64_t)i << 32 | (uint32_t)keys[i];
    found->shingles = shingles->count;
    return ND_OK;
}

static int sketch_text(pass *pass, const uint8_t *text, size_t length, nd_text_features *found, uint8_t *packed,
                       uint64_t *keys, nd_list *passage_keys) {
    memset(&pass->counter, 0, sizeof pass->counter);
    pass->all.hashes.count = pass->lettered.hashes.count = pass->line.length = pass->text.length = 0;
    int status = nd_normalise_into(text, length, &pass->text, NULL);
    if (status != ND_OK) return status;
    pass->folded = false;
    pass->marked = nd_has_marks(pass->text.data, pass->text.length);
    nd_blank_identifiers(pass->text.data, pass->text.length);
    bool numbers = pass->passages != NULL || keeps_all(pass) || keeps_letters(pass);
    if (!nd_scan_tokens(pass->text.data, pass->text.length, numbers, take_batch, pass)) return ND_NO_MEMORY;
    if (pass->marked) {
        pass->folded = true;
        pass->text.length = 0;
        status = nd_prepare_folded(text, length, &pass->text);
        if (status != ND_OK) return status;
        if (!nd_scan_tokens(pass->text.data, pass->text.length, numbers, take_batch, pass)) return ND_NO_MEMORY;
    }
    if (pass->counter.count != 0) {
        found->simhash = nd_counter_simhash(&pass->counter);
        found->tokens = pass->counter.count;
    }
    /* First, since winnowing leaves shingles as they are. */
    if (pass->passages != NULL) status = make_passages(pass, passage_keys, found);
    if (status == ND_OK && pass->minhash != NULL) status = make_minhash(pass, found, packed, keys);
    return status;
}

int nd_sketch_texts(const uint8_t *texts, const size_t *ends, size_t count, const nd_minhash_form *minhash,
                    const nd_passages_form *passages, nd_text_features *found, uint8_t *packed, uint64_t *keys,
                    nd_hashes *passage_keys) {
    pass pass = {.minhash = minhash, .passages = passages};
    nd_list all_keys = {{NULL, 0}, 0};
    size_t size = minhash == NULL ? 0 : minhash->values * minhash->bits / 8, bands = minhash == NULL ? 0 : minhash->bands;
    int status = ND_OK;
    if (minhash != NULL && count != 0) {
        memset(packed, 0, count * size);
        if (bands != 0) memset(keys, 0, count * bands * sizeof *keys);
    }
    size_t start = 0;
    for (size_t i = 0; status == ND_OK && i < count; start = ends[i++]) {
        found[i] = (nd_text_features){0, 0, 0, 0};
        uint8_t *own_packed = minhash == NULL ? NULL : packed + i * size;
        uint64_t *own_keys = minhash == NULL ? NULL : keys + i * bands;
        status = sketch_text(&pass, texts + start, ends[i] - start, found + i, own_packed, own_keys, &all_keys);
    }
    free(pass.all.hashes.values);
    free(pass.lettered.hashes.values);
    free(pass.own.hashes.values);
    free(pass.line.data);
    free(pass.text.data);
    if (status == ND_OK && passages != NULL)
        *passage_keys = all_keys.hashes;
    else
        free(all_keys.hashes.values);
    return status;
}
