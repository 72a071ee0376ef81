/* HTML as a row of tags, for an extractor that leaves the tree to a parser; and white space in any text. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "simhash.h"

#define SLOTS 512 /* a power of two, and more than twice ND_MAX_TAGS */

typedef struct {
    const uint8_t *names;
    uint16_t slots[SLOTS]; /* the number of a name and one, or 0 */
} table;

static size_t slot_of(const uint8_t *name) {
    return (size_t)((nd_load64(name) * ND_GOLDEN_GAMMA ^ nd_load64(name + 8) * 0xBF58476D1CE4E5B9u) >> 55);
}

/* The slot that a name has, or would have. */
static size_t find(const table *known, const uint8_t *name) {
    size_t slot = slot_of(name);
    while (known->slots[slot] != 0 && memcmp(known->names + (size_t)(known->slots[slot] - 1) * ND_TAG_NAME, name, ND_TAG_NAME) != 0)
        slot = (slot + 1) % SLOTS;
    return slot;
}

static bool is_blank(uint8_t c) { return c == ' ' || (uint8_t)(c - '\t') < 5; }

static bool is_quote(uint8_t c) { return c == '"' || c == '\''; }

static uint8_t lower(uint8_t c) { return (uint8_t)(c - 'A') < 26 ? c | 0x20 : c; }

static bool append(nd_buffer *out, const uint8_t *bytes, size_t length) {
    if (!nd_buffer_reserve(out, length)) return false;
    if (length != 0) memcpy(out->data + out->length, bytes, length);
    out->length += length;
    return true;
}

/* Reads the name in a tag from `at` on, in small letters; false where it does not end, or is longer than any. */
static bool read_name(const uint8_t *page, size_t length, size_t at, uint8_t *name) {
    memset(name, 0, ND_TAG_NAME);
    for (size_t i = 0; at < length; i++, at++) {
        uint8_t c = page[at];
        if (c == '>' || c == '/' || (is_blank(c) && c != '\v')) return i != 0;
        if (i == ND_TAG_NAME) return false;
        name[i] = lower(c);
    }
    return false;
}

/* Appends a piece of a page, for which there is room. With `has_feeds` its form feeds become spaces; with `keeps_lines` each line
   end becomes a mark. */
static void append_piece(nd_buffer *out, const uint8_t *piece, size_t length, bool has_feeds, bool keeps_lines) {
    if (length == 0) return;
    uint8_t *to = out->data + out->length;
    if (!keeps_lines && !has_feeds) {
        memcpy(to, piece, length);
        to += length;
    } else {
        for (size_t i = 0; i < length; i++) {
            if (keeps_lines && piece[i] == '\n') *to++ = '\f';
            *to++ = piece[i] == '\f' ? ' ' : piece[i];
        }
    }
    out->length = (size_t)(to - out->data);
}

static int mark_tags(const uint8_t *page, size_t length, const table *known, const nd_markup_names *names, uint8_t *seen,
                     size_t *deepest, nd_buffer *out) {
    size_t copied = 0, depth = 0;
    bool keeps_lines = false, has_feeds = length != 0 && memchr(page, '\f', length) != NULL;
    const uint8_t *next;
    /* A line end becomes two bytes, and a mark two before a tag of three or more. */
    if (length > SIZE_MAX / 4 || !nd_buffer_reserve(out, 2 * length + 2)) return ND_NO_MEMORY;
    for (size_t at = 0; at < length && (next = memchr(page + at, '<', length - at)) != NULL;) {
        size_t tag = (size_t)(next - page);
        bool closes = tag + 1 < length && page[tag + 1] == '/';
        uint8_t name[ND_TAG_NAME];
        at = tag + 1 + closes;
        if (at >= length || (uint8_t)(lower(page[at]) - 'a') >= 26) continue;
        depth = closes ? depth - (depth != 0) : depth + 1;
        if (depth > *deepest) *deepest = depth;
        uint16_t number = read_name(page, length, at, name) ? known->slots[find(known, name)] : 0;
        if (number == 0) continue;
        if (!closes) seen[number - 1] = 1;
        if (number > names->blocks) continue;
        uint8_t end = names->ends[number - 1], mark[] = {'\f', end == ND_ENDS_LINES ? ND_ENDS_BLOCK : end};
        bool spaced = tag != 0 && is_blank(page[tag - 1]);
        if (tag != 0 && !(spaced && end == ND_ENDS_WORD)) {
            /* In the place of the white space before it. */
            append_piece(out, page + copied, tag - copied - spaced, has_feeds, keeps_lines);
            if (end == ND_ENDS_WORD) mark[0] = ' ';
            memcpy(out->data + out->length, mark, 2);
            out->length += 1 + (end != ND_ENDS_WORD);
            copied = tag;
        }
        if (end == ND_ENDS_LINES) {
            append_piece(out, page + copied, tag - copied, has_feeds, keeps_lines);
            copied = tag, keeps_lines = !closes;
        }
    }
    append_piece(out, page + copied, length - copied, has_feeds, keeps_lines);
    return ND_OK;
}

/* Whether an attribute of this name, in small letters, ends at `end`. */
static bool is_named(const uint8_t *page, size_t end, const char *name, size_t size) {
    if (end <= size) return false;
    for (size_t i = 0; i < size; i++)
        if (lower(page[end - size + i]) != (uint8_t)name[i]) return false;
    uint8_t before = page[end - size - 1];
    return is_blank(before) || before == '/' || is_quote(before);
}

static bool ends_plain(uint8_t c) { return c == '>' || c == '<' || is_quote(c) || is_blank(c); }

/* The place of three letters, small or capital, in a set of beginnings; others may share it. */
static size_t place_of(const uint8_t *letters) {
    return (size_t)(letters[0] & 31) << 10 | (size_t)(letters[1] & 31) << 5 | (letters[2] & 31);
}

static bool take_names(const uint8_t *value, size_t length, const uint8_t *begins, nd_buffer *out) {
    for (size_t i = 0, start = 0; i <= length; i++) {
        if (i != length && !is_blank(value[i])) continue;
        size_t place = i - start < 3 ? 0 : place_of(value + start);
        if (i - start >= 3 && (begins[place / 8] >> place % 8 & 1) &&
            (!append(out, (const uint8_t *)" ", 1) || !append(out, value + start, i - start)))
            return false;
        start = i + 1;
    }
    return true;
}

static int read_attributes(const uint8_t *page, size_t length, const uint8_t *begins, nd_buffer *classes, nd_buffer *ids,
                           nd_markup *found) {
    const uint8_t *next;
    for (size_t at = 0; at < length && (next = memchr(page + at, '=', length - at)) != NULL;) {
        size_t end = (size_t)(next - page), begin = end + 1;
        at = begin;
        while (end != 0 && is_blank(page[end - 1])) end--;
        nd_buffer *out = is_named(page, end, "class", 5) ? classes : is_named(page, end, "id", 2) ? ids : NULL;
        if (out == NULL) {
            if (end != 0 && lower(page[end - 1]) == 'e') {
                found->styles |= is_named(page, end, "style", 5);
                found->roles |= is_named(page, end, "role", 4);
            }
            continue;
        }
        while (begin < length && is_blank(page[begin])) begin++;
        uint8_t quote = begin < length && is_quote(page[begin]) ? page[begin++] : 0;
        size_t stop = begin;
        while (stop < length && (quote ? page[stop] != quote : !ends_plain(page[stop]))) stop++;
        /* In a plain value nothing begins, and what is read once is not read again. */
        if (quote == 0) at = stop;
        if (!take_names(page + begin, stop - begin, begins, out)) return ND_NO_MEMORY;
    }
    return ND_OK;
}

int nd_scan_markup(const uint8_t *page, size_t length, const nd_markup_names *names, uint8_t *seen, nd_markup *found) {
    table known = {names->tags, {0}};
    for (size_t i = 0; i < names->count; i++) known.slots[find(&known, names->tags + i * ND_TAG_NAME)] = (uint16_t)(i + 1);
    uint8_t begins[(1 << 15) / 8] = {0};
    for (size_t i = 0; i < names->beginnings_count; i++) {
        size_t place = place_of(names->beginnings + 3 * i);
        begins[place / 8] |= (uint8_t)(1 << place % 8);
    }
    nd_buffer spaced = {NULL, 0, 0}, classes = {NULL, 0, 0}, ids = {NULL, 0, 0};
    *found = (nd_markup){0};
    int status = mark_tags(page, length, &known, names, seen, &found->depth, &spaced);
    if (status == ND_OK) status = read_attributes(page, length, begins, &classes, &ids, found);
    if (status == ND_OK) {
        found->page = spaced.data, found->length = spaced.length;
        found->classes = classes.data, found->classes_length = classes.length;
        found->ids = ids.data, found->ids_length = ids.length;
    } else {
        free(spaced.data);
        free(classes.data);
        free(ids.data);
    }
    return status;
}

/* The bytes of the white space beyond ASCII at text[0], or 0. */
static size_t wide_blank(const uint8_t *text, size_t length) {
    if (text[0] == 0xC2) return length > 1 && (text[1] == 0x85 || text[1] == 0xA0) ? 2 : 0;
    if (length < 3 || (text[1] & 0xC0) != 0x80 || (text[2] & 0xC0) != 0x80) return 0;
    uint32_t code = (uint32_t)(text[0] & 0xF) << 12 | (uint32_t)(text[1] & 0x3F) << 6 | (text[2] & 0x3F);
    bool blank = code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
                 code == 0x205F || code == 0x3000;
    return blank ? 3 : 0;
}

/* The bytes of a character at text[0] that no text keeps, U+FFFE, U+FFFF or a surrogate, or 0. */
static size_t no_character(const uint8_t *text, size_t length) {
    if (length < 3) return 0;
    if (text[0] == 0xED) return text[1] >= 0xA0 ? 3 : 0;
    return text[0] == 0xEF && text[1] == 0xBF && text[2] >= 0xBE ? 3 : 0;
}

/* What a mark ends, the stronger the higher: the byte behind a form feed; 0 for any other. */
static uint8_t rank_of(uint8_t behind) {
    static const uint8_t RANKS[256] = {[ND_ENDS_BLOCK] = 1, [ND_ENDS_CELL] = 2, [ND_ENDS_ROW] = 3, [ND_ENDS_PAGE] = 4};
    return RANKS[behind];
}

/* Copies 16 bytes of words in ASCII with a space between two; 0 where anything else stands there, or not so many. */
static inline size_t take_plain(const uint8_t *text, size_t length, bool behind_blank, uint8_t *to) {
#ifdef ND_X86
    if (length < 16) return 0;
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)text);
    __m128i others = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7F)));
    unsigned spaces = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')));
    if (_mm_movemask_epi8(others) != 0 || (spaces & (spaces << 1 | behind_blank)) != 0) return 0;
    _mm_storeu_si128((__m128i *)(void *)to, bytes);
    return 16;
#else
    (void)text, (void)length, (void)behind_blank, (void)to;
    return 0;
#endif
}

size_t nd_collapse(uint8_t *text, size_t length, int marks) {
    enum { PLAIN, BLANK, MAYBE, FEED = 4 };
    static const uint8_t KINDS[256] = {
        [0x00] = BLANK, [0x01] = BLANK, [0x02] = BLANK, [0x03] = BLANK, [0x04] = BLANK, [0x05] = BLANK, [0x06] = BLANK,
        [0x07] = BLANK, [0x08] = BLANK, [0x09] = BLANK, [0x0A] = BLANK, [0x0B] = BLANK, [0x0C] = FEED,  [0x0D] = BLANK,
        [0x0E] = BLANK, [0x0F] = BLANK, [0x10] = BLANK, [0x11] = BLANK, [0x12] = BLANK, [0x13] = BLANK, [0x14] = BLANK,
        [0x15] = BLANK, [0x16] = BLANK, [0x17] = BLANK, [0x18] = BLANK, [0x19] = BLANK, [0x1A] = BLANK, [0x1B] = BLANK,
        [0x1C] = BLANK, [0x1D] = BLANK, [0x1E] = BLANK, [0x1F] = BLANK, [0x20] = BLANK, [0x7F] = BLANK, [0xC2] = MAYBE,
        [0xE1] = MAYBE, [0xE2] = MAYBE, [0xE3] = MAYBE, [0xED] = MAYBE, [0xEF] = MAYBE,
    };
    size_t used = 0, width = 1, marked = SIZE_MAX, retry = 0;
    uint8_t last = BLANK, rank = 0;
    for (size_t i = 0; i < length; i += width) {
        if (i >= retry) {
            width = take_plain(text + i, length - i, last == BLANK, text + used);
            if (width != 0) {
                used += width;
                last = text[used - 1] == ' ' ? BLANK : PLAIN;
                continue;
            }
            retry = i + 16;
        }
        uint8_t kind = KINDS[text[i]], blank = ' ';
        width = 1;
        if (kind == MAYBE) {
            size_t wide = wide_blank(text + i, length - i);
            if (wide == 0) wide = no_character(text + i, length - i);
            kind = wide != 0 ? BLANK : PLAIN;
            if (wide != 0) width = wide;
        } else if (kind == FEED) {
            kind = BLANK;
            uint8_t found = marks && i + 1 < length ? rank_of(text[i + 1]) : 0;
            if (found != 0) {
                size_t place = used - (last == BLANK && used != 0);
                width = 2;
                blank = text[i + 1] == ND_ENDS_ROW ? ND_ENDS_BLOCK : text[i + 1];
                if (place != marked || found > rank) rank = found, marked = place, text[place] = blank;
            }
        }
        /* Without a branch, because where words end can't be foreseen: a second blank is written over. */
        text[used] = kind == BLANK ? blank : text[i];
        used += !(kind & last);
        last = kind;
    }
    return used - (used != 0 && last == BLANK);
}

/* The place of two bytes in a table, alike for letters of either case. */
static size_t pair_of(uint8_t first, uint8_t second) { return (size_t)(first & 0x1F) << 5 | (second & 0x1F); }

static bool is_mark(const uint8_t *text, const uint8_t *mark, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (lower(text[i]) != mark[i]) return false;
    return true;
}

void nd_find_marks(const uint8_t *text, size_t length, const uint8_t *marks, const size_t *ends, size_t count, uint8_t *seen) {
    uint16_t begins[1 << 10] = {0}; /* the marks that begin with a pair, as bits */
    for (size_t i = 0; i < count; i++) {
        size_t start = i == 0 ? 0 : ends[i - 1];
        begins[pair_of(marks[start], marks[start + 1])] |= (uint16_t)(1u << i);
        seen[i] = 0;
    }
    for (size_t at = 0; at + 1 < length; at++) {
        uint16_t *here = &begins[pair_of(text[at], text[at + 1])];
        for (unsigned left = *here; left != 0; left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctz(left);
            size_t start = i == 0 ? 0 : ends[i - 1], size = ends[i] - start;
            if (size > length - at || !is_mark(text + at, marks + start, size)) continue;
            seen[i] = 1;
            *here &= (uint16_t)~(1u << i);
        }
    }
}
