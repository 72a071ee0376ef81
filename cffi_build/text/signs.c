/* The words of a text with the signs between them. */

#include <stdlib.h>

#include "internal.h"

typedef struct {
    uint32_t place, code;
} sign;

typedef struct {
    sign *items;
    size_t count, room;
} signs;

/* A line so far: how many double quotation marks it has, and whether a quotation by single ones may be open. */
typedef struct {
    size_t doubles;
    bool opened;
} line;

static bool add_sign(signs *signs, size_t place, uint32_t code) {
    if (signs->count == signs->room) {
        size_t room = signs->room == 0 ? 64 : signs->room * 2;
        sign *items = realloc(signs->items, room * sizeof *items);
        if (items == NULL) return false;
        signs->items = items;
        signs->room = room;
    }
    signs->items[signs->count++] = (sign){(uint32_t)place, code};
    return true;
}

static inline uint32_t kind_of(const uint32_t *kinds, uint32_t code) { return code < ND_SIGN_CODES ? kinds[code] : 0; }

static inline bool is_digit(uint32_t code) { return code - '0' < 10; }

/* Whether a character between words counts; `behind` and `ahead` say that words are next to it. */
static bool counts(uint32_t kind, uint32_t before, uint32_t code, uint32_t next, uint32_t next_kind, bool behind, bool ahead,
                   const line *line) {
    if (kind & (ND_SIGN_PRIME | ND_SIGN_PRIMES) && is_digit(before) && !ahead)
        return kind & ND_SIGN_PRIME ? !line->opened : line->doubles % 2 == 0;
    if (code <= ' ' || code == 0x7F || kind & ND_SIGN_NEVER) return false;
    if (kind & ND_SIGN_INNER) return ahead && (code == '.' || behind) && before != '.';
    if (kind & ND_SIGN_HYPHEN) return behind || ahead || next_kind & ND_SIGN_MONEY;
    if (kind & ND_SIGN_DASH) return is_digit(next) || next_kind & ND_SIGN_MONEY;
    return true;
}

/* The character at text[*at], a space at the end; moves on to where the next one begins. */
static inline uint32_t take(const uint8_t *text, size_t length, size_t *at) {
    uint32_t code = ' ';
    if (*at < length) {
        nd_decode(text + *at, length - *at, &code);
        do ++*at;
        while (*at < length && (text[*at] & 0xC0) == 0x80);
    }
    return code;
}

static bool list_signs(const uint8_t *text, size_t length, size_t characters, const uint32_t *kinds, const nd_words *words,
                       signs *signs) {
    size_t at = 0, word = 0, reached = 0;
    line line = {0, false};
    uint32_t before = '\n', code = take(text, length, &at);
    for (size_t place = 0; place < characters; place++) {
        uint32_t next = take(text, length, &at), kind = kind_of(kinds, code), sign = code;
        for (; word < words->count && words->starts[word] <= place; word++) reached = words->ends[word];
        bool kept = kind & ND_SIGN_WITHIN;
        if (place >= reached) {
            bool behind = place != 0 && reached == place, ahead = word < words->count && words->starts[word] == place + 1;
            kept = counts(kind, before, code, next, kind_of(kinds, next), behind, ahead, &line);
            if (code < ND_SIGN_CODES) sign = kind % ND_SIGN_CODES;
        }
        if (kept && !add_sign(signs, place, sign)) return false;
        line.doubles += (kind & ND_SIGN_DOUBLE) != 0;
        line.opened |= kind & ND_SIGN_OPENING && (before == '\n' || before == '(' || kind_of(kinds, before) & ND_SIGN_WHITE);
        if (code == '\n') line.doubles = 0, line.opened = false;
        before = code;
        code = next;
    }
    return true;
}

static bool merge(const nd_words *words, const signs *signs, nd_signed_words *found) {
    size_t count = words->count + signs->count, word = 0, sign = 0;
    *found = (nd_signed_words){NULL, NULL, NULL, NULL, 0};
    if (count == 0) return true;
    uint64_t *values = malloc(count * (sizeof *values + 2 * sizeof(uint32_t) + 1));
    if (values == NULL) return false;
    uint32_t *starts = (uint32_t *)(values + count), *ends = starts + count;
    uint8_t *are_words = (uint8_t *)(ends + count);
    for (size_t i = 0; i < count; i++) {
        are_words[i] = word < words->count && (sign == signs->count || words->starts[word] <= signs->items[sign].place);
        if (are_words[i]) {
            values[i] = words->hashes[word];
            starts[i] = words->starts[word];
            ends[i] = words->ends[word++];
        } else {
            values[i] = ((uint64_t)signs->items[sign].code + 1) * ND_GOLDEN_GAMMA;
            starts[i] = signs->items[sign++].place;
            ends[i] = starts[i] + 1;
        }
    }
    *found = (nd_signed_words){values, starts, ends, are_words, count};
    return true;
}

int nd_signed_words_of(const uint8_t *text, size_t length, const uint32_t *kinds, nd_signed_words *found) {
    nd_words words;
    signs signs = {NULL, 0, 0};
    int status = nd_words_of(text, length, 1, 1, &words);
    if (status != ND_OK) return status;
    size_t characters = 0;
    for (size_t i = 0; i < length; i++) characters += (text[i] & 0xC0) != 0x80;
    bool done = list_signs(text, length, characters, kinds, &words, &signs) && merge(&words, &signs, found);
    free(signs.items);
    free(words.hashes);
    return done ? ND_OK : ND_NO_MEMORY;
}
