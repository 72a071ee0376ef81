/* toNFKC_Casefold (Unicode Standard 3.13, R5): every character through NFKC_CF, then the whole into NFC. */

#include <stdlib.h>

#include "internal.h"
#include "unicode_tables.h"

#define HANGUL_FIRST 0xAC00u
#define HANGUL_COUNT 11172u
#define JAMO_L 0x1100u
#define JAMO_V 0x1161u
#define JAMO_T 0x11A7u
#define JAMO_L_COUNT 19u
#define JAMO_V_COUNT 21u
#define JAMO_T_COUNT 28u

/* A run of characters that may reorder or compose with each other. Most are a letter and a mark or two, so they stay in
   `fixed`; a hostile one of a million marks moves to the heap. */
typedef struct {
    uint32_t code;
    uint8_t class;
} mark;

typedef struct {
    mark fixed[32];
    mark *items;
    size_t count;
    size_t capacity;
} segment;

static bool segment_push(segment *run, uint32_t code, uint8_t class) {
    if (run->count == run->capacity) {
        if (run->capacity > SIZE_MAX / 4 / sizeof(mark)) return false;
        size_t capacity = run->capacity * 2;
        mark *items = realloc(run->items == run->fixed ? NULL : run->items, capacity * sizeof(mark));
        if (items == NULL) return false;
        if (run->items == run->fixed) memcpy(items, run->fixed, sizeof run->fixed);
        run->items = items;
        run->capacity = capacity;
    }
    run->items[run->count++] = (mark){code, class};
    return true;
}

static void segment_free(segment *run) {
    if (run->items != run->fixed) free(run->items);
}

static uint8_t combining_class(uint32_t code) {
    return nd_normal_records[nd_normal_value(code)].first_class;
}

/* Adds a character's mapping, canonically decomposed. */
static bool segment_add(segment *run, uint32_t code) {
    if (code - HANGUL_FIRST < HANGUL_COUNT) {
        uint32_t syllable = code - HANGUL_FIRST;
        uint32_t tail = syllable % JAMO_T_COUNT;
        return segment_push(run, JAMO_L + syllable / (JAMO_V_COUNT * JAMO_T_COUNT), 0) &&
               segment_push(run, JAMO_V + syllable / JAMO_T_COUNT % JAMO_V_COUNT, 0) &&
               (tail == 0 || segment_push(run, JAMO_T + tail, 0));
    }
    uint16_t value = nd_normal_value(code);
    if (value == 0) return segment_push(run, code, 0);
    const nd_normal_record *record = &nd_normal_records[value];
    for (size_t i = 0; i < record->decomposed_length; i++) {
        uint32_t part = nd_decomposed[record->decomposed + i];
        if (!segment_push(run, part, combining_class(part))) return false;
    }
    return true;
}

/* Stable sort by class of the marks between two starters: insertion for the few that real text has, counting for
   more, so that no run costs more than linear time. */
static bool sort_marks(mark *items, size_t count) {
    if (count <= 16) {
        for (size_t i = 1; i < count; i++) {
            mark moved = items[i];
            size_t j = i;
            for (; j > 0 && items[j - 1].class > moved.class; j--) items[j] = items[j - 1];
            items[j] = moved;
        }
        return true;
    }
    size_t starts[257] = {0};
    mark *sorted = malloc(count * sizeof(mark));
    if (sorted == NULL) return false;
    for (size_t i = 0; i < count; i++) starts[items[i].class + 1]++;
    for (size_t i = 1; i < 257; i++) starts[i] += starts[i - 1];
    for (size_t i = 0; i < count; i++) sorted[starts[items[i].class]++] = items[i];
    memcpy(items, sorted, count * sizeof(mark));
    free(sorted);
    return true;
}

static bool reorder(segment *run) {
    for (size_t i = 0; i < run->count;) {
        if (run->items[i].class == 0) {
            i++;
            continue;
        }
        size_t end = i;
        while (end < run->count && run->items[end].class != 0) end++;
        if (!sort_marks(run->items + i, end - i)) return false;
        i = end;
    }
    return true;
}

/* The primary composite of two characters, or 0. */
static uint32_t composite(uint32_t first, uint32_t second) {
    if (first - JAMO_L < JAMO_L_COUNT && second - JAMO_V < JAMO_V_COUNT)
        return HANGUL_FIRST + ((first - JAMO_L) * JAMO_V_COUNT + (second - JAMO_V)) * JAMO_T_COUNT;
    if (first - HANGUL_FIRST < HANGUL_COUNT && (first - HANGUL_FIRST) % JAMO_T_COUNT == 0 &&
        second - JAMO_T - 1 < JAMO_T_COUNT - 1)
        return first + (second - JAMO_T);
    size_t low = 0, high = nd_composition_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const nd_composition *pair = &nd_compositions[middle];
        if (pair->first < first || (pair->first == first && pair->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    if (low < nd_composition_count && nd_compositions[low].first == first && nd_compositions[low].second == second)
        return nd_compositions[low].composite;
    return 0;
}

/* Canonical composition (Unicode Standard 3.11, D117). */
static void compose(segment *run) {
    size_t starter = SIZE_MAX, written = 0;
    for (size_t i = 0; i < run->count; i++) {
        mark current = run->items[i];
        if (starter != SIZE_MAX) {
            bool adjacent = written == starter + 1;
            bool blocked = !adjacent && (run->items[written - 1].class == 0 || run->items[written - 1].class >= current.class);
            uint32_t joined = blocked ? 0 : composite(run->items[starter].code, current.code);
            if (joined != 0) {
                run->items[starter].code = joined;
                continue;
            }
        }
        if (current.class == 0) starter = written;
        run->items[written++] = current;
    }
    run->count = written;
}

static const nd_small *small_of(uint32_t code) {
    size_t low = 0, high = nd_small_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (nd_smalls[middle].first <= code)
            low = middle;
        else
            high = middle;
    }
    return &nd_smalls[low];
}

static uint8_t small_class(uint32_t code) {
    const nd_normal_record *record = &nd_normal_records[nd_normal_value(code)];
    return record->flags & ND_EXACT ? small_of(code)->class : record->first_class;
}

/* Adds the small letters of a character, canonically decomposed. */
static bool segment_add_small(segment *run, uint32_t code) {
    uint16_t value = nd_normal_value(code);
    const nd_normal_record *record = &nd_normal_records[value];
    if (!(record->flags & ND_EXACT)) {
        /* What NFKC_Casefold drops has the class 0. */
        return value != 0 && record->mapped_length == 0 ? segment_push(run, code, 0) : segment_add(run, code);
    }
    const nd_small *small = small_of(code);
    if (small->length == 0) return segment_push(run, (uint32_t)((int64_t)code + small->shift), small->class);
    for (size_t i = 0; i < small->length; i++) {
        uint32_t part = nd_small_letters[(size_t)small->shift + i];
        if (!segment_push(run, part, small_class(part))) return false;
    }
    return true;
}

static bool is_boundary(uint32_t code) {
    uint16_t value = nd_normal_value(code);
    return value == 0 || nd_normal_records[value].flags & ND_BOUNDARY;
}

static bool is_small_boundary(uint32_t code) {
    uint16_t value = nd_normal_value(code);
    return value == 0 || (nd_normal_records[value].flags & (ND_BOUNDARY | ND_EXACT)) == ND_BOUNDARY;
}

/* Whether a character is its own small letter and meets nothing before it. */
static bool is_small(uint32_t code) {
    uint16_t value = nd_normal_value(code);
    const uint8_t wanted = ND_SELF | ND_BOUNDARY;
    return code != 0xFFFD && (value == 0 || (nd_normal_records[value].flags & (wanted | ND_EXACT)) == wanted);
}

static bool next_is_afresh(const uint8_t *text, size_t length) {
    uint32_t code;
    if (length == 0 || text[0] < 0x80 || nd_is_common_han(text, length)) return true;
    nd_decode(text, length, &code);
    return is_small_boundary(code);
}

/* Writes what `add` makes of text[from..] up to the next character that starts afresh (at least one character is taken); gives
   where it stopped, or SIZE_MAX where memory ran out. */
static size_t write_segment(const uint8_t *text, size_t length, size_t from, nd_buffer *out, bool (*add)(segment *, uint32_t),
                            bool (*starts_afresh)(uint32_t)) {
    segment run;
    run.items = run.fixed;
    run.count = 0;
    run.capacity = sizeof run.fixed / sizeof run.fixed[0];
    size_t at = from;
    bool done = false;
    while (at < length) {
        uint32_t code;
        size_t size = nd_decode(text + at, length - at, &code);
        if (at != from && starts_afresh(code)) break;
        if (!add(&run, code)) goto fail;
        at += size;
    }
    if (!reorder(&run)) goto fail;
    compose(&run);
    if (run.count > SIZE_MAX / 8 || !nd_buffer_reserve(out, run.count * 4 + (length - at))) goto fail;
    for (size_t i = 0; i < run.count; i++) out->length += nd_encode(run.items[i].code, out->data + out->length);
    done = true;
fail:
    segment_free(&run);
    return done ? at : SIZE_MAX;
}

int nd_fold(const uint8_t *text, size_t length, nd_tokens *tokens) {
    nd_buffer out = {0};
    memset(tokens, 0, sizeof *tokens);
    if (length > SIZE_MAX / 32 || !nd_buffer_reserve(&out, length + 1)) return ND_NO_MEMORY;
    /* Always true at the loop's head: out has room for as many bytes as text has left. */
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end + 8 <= length && !(nd_load64(text + end) & 0x8080808080808080u)) end += 8;
        while (end < length && text[end] < 0x80) end++;
        /* The last one may meet a mark. */
        if (end != length && end != at) end--;
        for (size_t i = 0; i < end - at; i++) {
            uint8_t c = text[at + i];
            out.data[out.length + i] = (uint8_t)(c - 'A') < 26 ? c | 0x20 : c;
        }
        out.length += end - at;
        at = end;
        if (at == length) break;
        uint32_t code = 0;
        bool is_han = nd_is_common_han(text + at, length - at);
        size_t size = is_han ? 3 : nd_decode(text + at, length - at, &code);
        if ((is_han || is_small(code)) && next_is_afresh(text + at + size, length - at - size)) {
            memcpy(out.data + out.length, text + at, size);
            out.length += size;
            at += size;
            continue;
        }
        at = write_segment(text, length, at, &out, segment_add_small, is_small_boundary);
        if (at == SIZE_MAX) {
            free(out.data);
            return ND_NO_MEMORY;
        }
    }
    tokens->length = nd_collapse(out.data, nd_without_layout(out.data, out.length), 0);
    tokens->text = out.data;
    return ND_OK;
}

/* What 64 bytes of text are, as bits. `han` are the first bytes of the ideographs that nd_is_common_han knows. */
typedef struct {
    uint64_t high[4]; /* bits 7 to 4 of the bytes */
    uint64_t han;
} window;

/* Copies 64 bytes, ASCII in lower case. */
#ifdef ND_X86
static inline uint64_t mask(__m128i v) { return (uint32_t)_mm_movemask_epi8(v); }

static inline __m128i between(__m128i v, int first, int last) {
    __m128i from = _mm_sub_epi8(v, _mm_set1_epi8((char)first));
    return _mm_cmpeq_epi8(_mm_min_epu8(from, _mm_set1_epi8((char)(last - first))), from);
}

static inline window copy_window(const uint8_t *text, uint8_t *out) {
    window found = {{0, 0, 0, 0}, 0};
    uint64_t e4 = 0, b7 = 0;
    for (int i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * i));
        __m128i upper = _mm_and_si128(between(v, 'A', 'Z'), _mm_set1_epi8(0x20));
        _mm_storeu_si128((__m128i *)(void *)(out + 16 * i), _mm_or_si128(v, upper));
        found.han |= mask(between(v, 0xE4, 0xE9)) << (16 * i);
        e4 |= mask(between(v, 0xE4, 0xE4)) << (16 * i);
        b7 |= mask(between(v, 0xB7, 0xB7)) << (16 * i);
        for (int bit = 0; bit < 4; bit++, v = _mm_add_epi8(v, v)) found.high[bit] |= mask(v) << (16 * i);
    }
    found.han &= ~(e4 & b7 >> 1);
    return found;
}
#else
/* The highest bits of the bytes of a word, the first byte's lowest. */
static inline uint64_t mask(uint64_t word) { return ((word >> 7 & 0x0101010101010101u) * 0x0102040810204080u) >> 56; }

/* For bytes whose highest bit is put aside: that bit in the sum, whether they are at least first and not above last. */
static inline uint64_t between(uint64_t low, unsigned first, unsigned last) {
    const uint64_t each = 0x0101010101010101u;
    return (low + (0x80 - first) * each) & ~(low + (0x80 - last - 1) * each);
}

static inline window copy_window(const uint8_t *text, uint8_t *out) {
    const uint64_t high = 0x8080808080808080u;
    window found = {{0, 0, 0, 0}, 0};
    uint64_t e4 = 0, b7 = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t word = nd_load64(text + 8 * i), low = word & ~high;
        nd_store64(out + 8 * i, word | (between(low, 'A', 'Z') & ~word & high) >> 2);
        found.han |= mask(between(low, 0x64, 0x69) & word) << (8 * i);
        e4 |= mask(between(low, 0x64, 0x64) & word) << (8 * i);
        b7 |= mask(between(low, 0x37, 0x37) & word) << (8 * i);
        for (int bit = 0; bit < 4; bit++) found.high[bit] |= mask(word << bit) << (8 * i);
    }
    found.han &= ~(e4 & b7 >> 1);
    return found;
}
#endif

/* Whether the character of three or four bytes at text[0] becomes as many that start afresh and end in a starter; if so,
   writes them. */
static inline bool copy_long(const uint8_t *text, uint8_t *out) {
    uint32_t code;
    size_t size = nd_decode(text, 4, &code);
    uint16_t value = nd_normal_value(code);
    if (value == 0) return code != 0xFFFD;
    const nd_normal_record *record = &nd_normal_records[value];
    if (!(record->flags & ND_BOUNDARY) || record->mapped_length != size || record->last_class != 0) return false;
    memcpy(out, nd_mapped + record->mapped, size);
    return true;
}

/* Writes what text[0..] becomes to out, which has room for 64 bytes, as far as its characters become as many bytes that
   start afresh and end in a starter, and at most 64 bytes; gives how many. */
static size_t copy_simple(const uint8_t *text, size_t length, uint8_t *out) {
    uint8_t padded[64] = {0};
    if (length < 64) text = memcpy(padded, text, length);
    window here = copy_window(text, out);
    size_t end = length < 64 ? length : 64;
    if (here.high[0] == 0) return end;
    uint64_t leads = here.high[0] & here.high[1], next = here.high[0] & ~here.high[1];
    uint64_t threes = leads & here.high[2], fours = threes & here.high[3];
    uint64_t whole = leads & next >> 1 & (next >> 2 | ~threes) & (next >> 3 | ~fours);
    uint64_t stop = here.high[0] & ~(whole | whole << 1 | (whole & threes) << 2 | (whole & fours) << 3);
    if (stop != 0 && (size_t)__builtin_ctzll(stop) < end) end = (size_t)__builtin_ctzll(stop);
    for (leads = whole & ~here.han; leads != 0; leads &= leads - 1) {
        size_t at = (size_t)__builtin_ctzll(leads);
        if (at >= end) break;
        if (text[at] >= 0xE0) {
            if (!copy_long(text + at, out + at)) return at;
            continue;
        }
        uint16_t pair = nd_normal_pairs[(size_t)(text[at] & 0x1F) << 6 | (text[at + 1] & 0x3F)];
        if (pair == 0) return at;
        out[at] = (uint8_t)pair;
        out[at + 1] = (uint8_t)(pair >> 8);
    }
    return end;
}

/* U+FFFD, which also stands for ill-formed bytes and so can't be copied from the text. */
static const nd_normal_record REPLACEMENT = {0, 3, 0, 1, 0, 0, ND_SELF | ND_BOUNDARY | ND_NEVER_COMPOSES};

static bool add_piece(nd_pieces *pieces, size_t out, size_t in, size_t size) {
    if (pieces == NULL) return true;
    const nd_piece *last = pieces->count != 0 ? &pieces->items[pieces->count - 1] : NULL;
    if (size == 0 && last != NULL && last->size == 0 && out - last->out == in - last->in) return true;
    if (pieces->count == pieces->room) {
        size_t room = pieces->room * 2 + 8;
        if (room > SIZE_MAX / sizeof(nd_piece)) return false;
        nd_piece *items = realloc(pieces->items, room * sizeof(nd_piece));
        if (items == NULL) return false;
        pieces->items = items;
        pieces->room = room;
    }
    pieces->items[pieces->count++] = (nd_piece){out, in, size};
    return true;
}

static void drop_pieces(nd_pieces *pieces, size_t out) {
    if (pieces == NULL) return;
    while (pieces->count != 0 && pieces->items[pieces->count - 1].out >= out) pieces->count--;
}

int nd_normalise_into(const uint8_t *text, size_t length, nd_buffer *out, nd_pieces *pieces) {
    if (length > SIZE_MAX / 32 || !nd_buffer_reserve(out, length + 1)) return ND_NO_MEMORY;
    size_t at = 0;
    /* Where the last character that starts afresh begins, in text and in out: what a mark takes us back to. */
    size_t fresh_in = 0, fresh_out = 0;
    uint8_t last_class = 0;
    /* Always true at the loop's head: out has room for as many bytes as text has left. */
    while (at < length) {
        size_t simple = copy_simple(text + at, length - at, out->data + out->length);
        if (simple != 0) {
            if (!add_piece(pieces, out->length, at, 0)) return ND_NO_MEMORY;
            size_t last = 1;
            while ((text[at + simple - last] & 0xC0) == 0x80) last++;
            at += simple;
            out->length += simple;
            fresh_in = at - last;
            fresh_out = out->length - last;
            last_class = 0;
            continue;
        }
        uint32_t code;
        size_t size = nd_decode(text + at, length - at, &code);
        const nd_normal_record *record = code == 0xFFFD ? &REPLACEMENT : &nd_normal_records[nd_normal_value(code)];
        if (record->mapped_length == 0) {
            at += size;
            continue;
        }
        bool in_order = (record->flags & ND_NEVER_COMPOSES) && record->first_class >= last_class;
        if ((record->flags & ND_BOUNDARY) || ((record->flags & ND_SELF) && in_order)) {
            if (record->flags & ND_BOUNDARY) {
                fresh_in = at;
                fresh_out = out->length;
            }
            if (!add_piece(pieces, out->length, at, record->mapped_length == size ? 0 : size)) return ND_NO_MEMORY;
            if (!nd_buffer_reserve(out, record->mapped_length + (length - at))) return ND_NO_MEMORY;
            const uint8_t *mapped = nd_mapped + record->mapped;
            if (record == &REPLACEMENT) mapped = (const uint8_t *)"\xEF\xBF\xBD";
            memcpy(out->data + out->length, mapped, record->mapped_length);
            out->length += record->mapped_length;
            last_class = record->last_class;
            at += size;
            continue;
        }
        out->length = fresh_out;
        drop_pieces(pieces, fresh_out);
        at = write_segment(text, length, fresh_in, out, segment_add, is_boundary);
        if (at == SIZE_MAX || !add_piece(pieces, fresh_out, fresh_in, at - fresh_in)) return ND_NO_MEMORY;
        /* The next character starts afresh, so nothing comes back to before it. */
        fresh_in = at;
        fresh_out = out->length;
        last_class = 0;
    }
    memset(out->data + out->length, 0, ND_SLACK);
    return ND_OK;
}
