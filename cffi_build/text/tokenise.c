/* Words by UAX 29, cut again at every character that tokens are not made of.

   Rules of UAX 29 that only join or part characters of which one is always cut away cannot change a token and are left
   out: WB3, WB3a to WB3d, WB6, WB7a, WB7b, WB12, WB15, WB16. WB7, WB7c and WB11 stay, for a kept mark may hang on the
   full stop or quote between two letters. The table generator refuses a Unicode version where this would not hold. */

#include "internal.h"
#include "unicode_tables.h"

typedef struct {
    const uint8_t *text;
    nd_batch_sink sink;
    void *state;
    bool numbers;
    nd_batch batch;
} scan;

static inline bool emit(scan *scan, size_t start, size_t end, bool lettered) {
    nd_batch *batch = &scan->batch;
    batch->starts[batch->count] = start;
    batch->ends[batch->count] = end;
    batch->lettered[batch->count] = lettered;
    batch->numbers += !lettered;
    if (++batch->count < ND_BATCH) return true;
    bool go_on = scan->sink(scan->state, scan->text, batch);
    batch->count = batch->numbers = 0;
    return go_on;
}

enum { LETTER = ND_WB_ALETTER | ND_KEPT | ND_ALPHABETIC, HEBREW_LETTER = ND_WB_HEBREW | ND_KEPT | ND_ALPHABETIC };

static inline bool is_letter(uint8_t property) { return property == LETTER || property == HEBREW_LETTER; }

/* What 64 bytes of normalised text are, as bits. `resets` are the ASCII characters of class Other or Newline: no rule
   looks back over one. */
typedef struct {
    uint64_t words;   /* a-z 0-9 _ */
    uint64_t letters; /* a-z */
    uint64_t resets;
    uint64_t past_ascii;
    uint64_t leads; /* of characters of two or three bytes */
} classes;

#ifdef ND_X86
static inline uint64_t bits(__m128i v, int i) { return (uint64_t)(uint32_t)_mm_movemask_epi8(v) << (16 * i); }

static inline classes classify(const uint8_t *at) {
    classes found = {0, 0, 0, 0, 0};
    for (int i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        __m128i from_a = _mm_sub_epi8(v, _mm_set1_epi8('a'));
        __m128i from_0 = _mm_sub_epi8(v, _mm_set1_epi8('0'));
        __m128i letter = _mm_cmpeq_epi8(_mm_min_epu8(from_a, _mm_set1_epi8(25)), from_a);
        /* 0-9 and the colon, which is no reset either */
        __m128i digit_or_colon = _mm_cmpeq_epi8(_mm_min_epu8(from_0, _mm_set1_epi8(10)), from_0);
        __m128i colon = _mm_cmpeq_epi8(v, _mm_set1_epi8(':'));
        __m128i word = _mm_or_si128(_mm_or_si128(letter, _mm_andnot_si128(colon, digit_or_colon)),
                                    _mm_cmpeq_epi8(v, _mm_set1_epi8('_')));
        __m128i middle = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('.')), _mm_cmpeq_epi8(v, _mm_set1_epi8(','))),
            _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(';')), _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\'')),
                                                                            _mm_cmpeq_epi8(v, _mm_set1_epi8('"')))));
        found.words |= bits(word, i);
        found.letters |= bits(letter, i);
        found.resets |= bits(_mm_or_si128(_mm_or_si128(word, middle), colon), i);
        found.past_ascii |= bits(v, i);
        __m128i from_c0 = _mm_sub_epi8(v, _mm_set1_epi8((char)0xC0));
        found.leads |= bits(_mm_cmpeq_epi8(_mm_min_epu8(from_c0, _mm_set1_epi8(0x2F)), from_c0), i);
    }
    found.resets = ~(found.resets | found.past_ascii);
    return found;
}
#else
static inline classes classify(const uint8_t *at) {
    classes found = {0, 0, 0, 0, 0};
    for (int i = 0; i < 64; i++) {
        uint8_t c = at[i], property = c < 0x80 ? nd_word_property(c) : 0;
        uint8_t class = property & ND_WB_MASK;
        found.words |= (uint64_t)((property & ND_KEPT) != 0) << i;
        found.letters |= (uint64_t)((property & ND_ALPHABETIC) != 0) << i;
        found.past_ascii |= (uint64_t)(c >> 7) << i;
        found.leads |= (uint64_t)(c >= 0xC0 && c < 0xF0) << i;
        found.resets |= (uint64_t)(c < 0x80 && (class == ND_WB_OTHER || class == ND_WB_NEWLINE)) << i;
    }
    return found;
}
#endif

/* Takes characters of two and three bytes among the words up to the first that the rules must look at: letters, which
   nothing tells from those of ASCII but the rules of Hebrew, and these need a character that is none; and marks directly
   behind what is of a word already. */
static inline void add_words(const uint8_t *at, classes *here) {
    for (uint64_t leads = here->leads; leads != 0; leads &= leads - 1) {
        unsigned place = (unsigned)__builtin_ctzll(leads), size = 2;
        const uint8_t *c = at + place;
        uint8_t property = LETTER;
        if (c[0] >= 0xE0 || !(nd_letter_pairs[c[0] & 0x1F] >> (c[1] & 0x3F) & 1)) {
            uint32_t code;
            size = (unsigned)nd_decode(c, 3, &code);
            property = nd_word_property(code);
        }
        unsigned class = property & ND_WB_MASK;
        bool mark = class == ND_WB_EXTEND && (property & ND_KEPT) && place != 0 && (here->words >> (place - 1) & 1);
        if (!mark && !is_letter(property)) return;
        uint64_t bytes = (((uint64_t)1 << size) - 1) << place;
        here->words |= bytes;
        if (property & ND_ALPHABETIC) here->letters |= bytes;
        here->past_ascii &= ~bytes;
    }
}

static bool has_digit(const uint8_t *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((uint8_t)(text[i] - '0') < 10) return true;
    return false;
}

static inline uint64_t below(unsigned bit) { return ((uint64_t)1 << bit) - 1; }

/* Takes the words from `at`, which follows a reset or the start, as far as whole words go of ASCII and of what add_words
   takes; gives where it stopped, again behind a reset, or SIZE_MAX where the sink said stop. */
static size_t scan_simple(scan *scan, size_t length, size_t at) {
    while (at < length) {
        classes here = classify(scan->text + at); /* the slack behind the text holds zeros, which are resets */
        if (here.leads != 0) add_words(scan->text + at, &here);
        uint64_t resets = here.resets;
        if (here.past_ascii != 0) resets &= below((unsigned)__builtin_ctzll(here.past_ascii));
        if (resets == 0) return at;
        unsigned last = 63 - (unsigned)__builtin_clzll(resets);
        uint64_t words = here.words & below(last);
        uint64_t edges = words ^ (words << 1);
        /* `last` is a reset, so every word that starts below it ends at or below it. */
        if (last < 63) edges &= below(last + 1);
        while (edges != 0) {
            unsigned start = (unsigned)__builtin_ctzll(edges);
            edges &= edges - 1;
            unsigned end = (unsigned)__builtin_ctzll(edges);
            edges &= edges - 1;
            bool lettered = (here.letters & (below(end) ^ below(start))) != 0;
            if (!lettered && !(scan->numbers && has_digit(scan->text + at + start, end - start))) continue;
            if (!emit(scan, at + start, at + end, lettered)) return SIZE_MAX;
        }
        at += last + 1;
    }
    return at < length ? at : length;
}

enum { AHLETTER = 1 << ND_WB_ALETTER | 1 << ND_WB_HEBREW };
enum { MID_LETTER = 1 << ND_WB_MIDLETTER | 1 << ND_WB_MIDNUMLET | 1 << ND_WB_SINGLE_QUOTE };
enum { MID_NUMBER = 1 << ND_WB_MIDNUM | 1 << ND_WB_MIDNUMLET | 1 << ND_WB_SINGLE_QUOTE };

/* For each class the classes that it is not parted from when they follow directly (WB5, WB8 to WB10, WB13 to WB13b). */
static const uint16_t JOINS[16] = {
    [ND_WB_ALETTER] = AHLETTER | 1 << ND_WB_NUMERIC | 1 << ND_WB_EXTENDNUMLET,
    [ND_WB_HEBREW] = AHLETTER | 1 << ND_WB_NUMERIC | 1 << ND_WB_EXTENDNUMLET,
    [ND_WB_NUMERIC] = AHLETTER | 1 << ND_WB_NUMERIC | 1 << ND_WB_EXTENDNUMLET,
    [ND_WB_KATAKANA] = 1 << ND_WB_KATAKANA | 1 << ND_WB_EXTENDNUMLET,
    [ND_WB_EXTENDNUMLET] = AHLETTER | 1 << ND_WB_NUMERIC | 1 << ND_WB_KATAKANA | 1 << ND_WB_EXTENDNUMLET,
};

static inline bool joined(unsigned before, unsigned last, unsigned class) {
    if (JOINS[last] >> class & 1) return true;
    unsigned b = 1u << before, l = 1u << last, c = 1u << class;
    if ((c & AHLETTER) && (b & AHLETTER) && (l & MID_LETTER)) return true;                      /* WB7 */
    if (class == ND_WB_HEBREW && before == ND_WB_HEBREW && last == ND_WB_DOUBLE_QUOTE) return true; /* WB7c */
    return class == ND_WB_NUMERIC && before == ND_WB_NUMERIC && (l & MID_NUMBER);                /* WB11 */
}

/* Whether what begins at `at` is worth giving back to scan_simple. */
static bool begins_simply(const uint8_t *text, size_t length, size_t at) {
    if (at == length || text[at] < 0x80) return true;
    uint32_t code;
    nd_decode(text + at, length - at, &code);
    return is_letter(nd_word_property(code));
}

/* The rules character by character, from `at`, which follows a reset or the start, to behind the next reset after which
   ASCII or a letter follows, or the end; SIZE_MAX where the sink said stop. */
static size_t scan_any(scan *scan, size_t length, size_t at) {
    const uint8_t *text = scan->text;
    unsigned before = ND_WB_OTHER, last = ND_WB_NEWLINE;
    size_t start = SIZE_MAX; /* of the piece that is open; only such a one has a letter or a number */
    bool lettered = false, numbered = false;
    while (at < length) {
        if (nd_is_common_han(text + at, length - at)) {
            if ((lettered || numbered) && !emit(scan, start, at, lettered)) return SIZE_MAX;
            start = at;
            lettered = true;
            numbered = false;
            before = last = ND_WB_OTHER;
            at += 3;
            while (nd_are_common_han(text + at)) { /* reads the slack at most */
                if (!emit(scan, start, at, true) || !emit(scan, at, at + 3, true)) return SIZE_MAX;
                start = at + 3;
                at += 6;
            }
            continue;
        }
        uint32_t code;
        size_t size = nd_decode(text + at, length - at, &code);
        uint8_t property = nd_word_property(code);
        unsigned class = property & ND_WB_MASK;
        bool extends = class == ND_WB_EXTEND && last != ND_WB_NEWLINE; /* WB4 */
        if (start != SIZE_MAX && !((property & ND_KEPT) && (extends || joined(before, last, class)))) {
            if ((lettered || numbered) && !emit(scan, start, at, lettered)) return SIZE_MAX;
            start = SIZE_MAX;
            lettered = numbered = false;
        }
        if (property & ND_KEPT) {
            if (start == SIZE_MAX) start = at;
            lettered |= (property & ND_ALPHABETIC) != 0;
            /* Of the characters that tokens are made of, those of this class are the decimal digits. */
            numbered |= scan->numbers && class == ND_WB_NUMERIC;
        }
        if (!extends) {
            before = last;
            last = class;
        }
        at += size;
        if (code < 0x80 && (class == ND_WB_OTHER || class == ND_WB_NEWLINE) && begins_simply(text, length, at)) return at;
    }
    if ((lettered || numbered) && !emit(scan, start, length, lettered)) return SIZE_MAX;
    return length;
}

bool nd_scan_tokens(const uint8_t *text, size_t length, bool numbers, nd_batch_sink sink, void *state) {
    scan scan;
    scan.text = text;
    scan.sink = sink;
    scan.state = state;
    scan.numbers = numbers;
    scan.batch.count = scan.batch.numbers = 0;
    size_t at = 0;
    while (at < length) {
        at = scan_simple(&scan, length, at);
        if (at < length) at = scan_any(&scan, length, at);
        if (at == SIZE_MAX) return false;
    }
    return scan.batch.count == 0 || sink(state, text, &scan.batch);
}
