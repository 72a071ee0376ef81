/* URLs, e-mail addresses, DOIs and like identifiers: found in normalised text and overwritten with spaces.

   The text is read once from left to right; each of the marks `:` `.` `@` `-` is looked at, and what it turns out to
   belong to is blanked before the reading goes on behind it. So the rules are these, and their order does not matter:

   `:`  a URI with authority (RFC 3986): letters, digits, + - . before the mark, from the first letter on, "//" and a
        URI character behind it; or one of NAMES, not behind a letter or digit, with a URI character behind the mark.
   `.`  "www" before it, not behind a letter or digit, and a letter or digit behind it; or "10" before it, not behind a
        letter, digit or full stop, and behind it 4 to 9 digits, any number of further `.digits`, `/` and a URI character.
   `@`  an address (RFC 5322, dot-atom without its dots' rules): the longest run of atom characters and dots before it;
        behind it a letter or digit, and within the run of letters, digits, - and . a dot before a letter or digit.
   `-`  a UUID (RFC 9562) whose first hyphen this is, or an ORCID, neither beside a letter or digit.

   The first two end with the last URI character; characters past ASCII are none. */

#include "internal.h"

static const char *const NAMES[] = {"doi",  "hdl",   "urn",   "arxiv",  "isbn", "issn", "pmid",
                                    "pmcid", "orcid", "mailto", "ark", "swh",  "oai"};

static bool is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }
static bool is_letter(uint8_t c) { return (uint8_t)(c - 'a') < 26; }
static bool is_hex(uint8_t c) { return is_digit(c) || (uint8_t)(c - 'a') < 6; }

/* unreserved, reserved and "%" of RFC 3986, upper-case letters being gone. */
static bool is_uri(uint8_t c) {
    if (nd_is_lower_alnum(c)) return true;
    return c != 0 && c < 0x80 && strchr("-._~:/?#[]@!$&'()*+,;=%", c) != NULL;
}

static bool is_atom(uint8_t c) {
    if (nd_is_lower_alnum(c)) return true;
    return c != 0 && c < 0x80 && strchr(".!#$%&'*+/=?^_`{|}~-", c) != NULL;
}

static size_t skip_uri(const uint8_t *text, size_t length, size_t at) {
    while (at < length && is_uri(text[at])) at++;
    return at;
}

static bool starts_here(const uint8_t *text, size_t at) { return at == 0 || !nd_is_lower_alnum(text[at - 1]); }

static bool ends_here(const uint8_t *text, size_t length, size_t at) {
    return at == length || !nd_is_lower_alnum(text[at]);
}

/* What a finder gives: start < end where there is an identifier. */
typedef struct {
    size_t start, end;
} span;

static const span NONE = {0, 0};

static span at_colon(const uint8_t *text, size_t length, size_t mark) {
    if (mark + 1 >= length || !is_uri(text[mark + 1])) return NONE;
    size_t start = mark;
    while (start > 0 && (nd_is_lower_alnum(text[start - 1]) || text[start - 1] == '+' || text[start - 1] == '-' ||
                         text[start - 1] == '.'))
        start--;
    if (mark + 3 < length && text[mark + 1] == '/' && text[mark + 2] == '/' && is_uri(text[mark + 3])) {
        while (start < mark && !is_letter(text[start])) start++;
        if (start < mark) return (span){start, skip_uri(text, length, mark + 3)};
        return NONE;
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        size_t size = strlen(NAMES[i]);
        if (size <= mark - start && memcmp(text + mark - size, NAMES[i], size) == 0 && starts_here(text, mark - size))
            return (span){mark - size, skip_uri(text, length, mark + 1)};
    }
    return NONE;
}

static span at_dot(const uint8_t *text, size_t length, size_t mark) {
    if (mark + 1 >= length || !nd_is_lower_alnum(text[mark + 1])) return NONE;
    if (mark >= 3 && memcmp(text + mark - 3, "www", 3) == 0 && starts_here(text, mark - 3))
        return (span){mark - 3, skip_uri(text, length, mark + 1)};
    if (mark < 2 || text[mark - 2] != '1' || text[mark - 1] != '0' || !starts_here(text, mark - 2) ||
        (mark > 2 && text[mark - 3] == '.'))
        return NONE;
    size_t at = mark + 1;
    while (at < length && at - mark - 1 < 10 && is_digit(text[at])) at++;
    if (at - mark - 1 < 4 || at - mark - 1 > 9) return NONE;
    while (at + 1 < length && text[at] == '.' && is_digit(text[at + 1])) {
        at++;
        while (at < length && is_digit(text[at])) at++;
    }
    if (at + 1 >= length || text[at] != '/' || !is_uri(text[at + 1])) return NONE;
    return (span){mark - 2, skip_uri(text, length, at + 1)};
}

static span at_sign(const uint8_t *text, size_t length, size_t mark) {
    if (mark == 0 || !is_atom(text[mark - 1]) || mark + 1 >= length || !nd_is_lower_alnum(text[mark + 1])) return NONE;
    size_t end = mark + 1;
    bool dotted = false;
    while (end < length && (nd_is_lower_alnum(text[end]) || text[end] == '-' || text[end] == '.')) {
        if (text[end] == '.' && end + 1 < length && nd_is_lower_alnum(text[end + 1])) dotted = true;
        end++;
    }
    if (!dotted) return NONE;
    size_t start = mark;
    while (start > 0 && is_atom(text[start - 1])) start--;
    return (span){start, end};
}

/* Whether text[at..] has the shape: 'h' a hexadecimal digit, 'd' a digit, 'x' a digit or x, '-' itself. */
static bool has_shape(const uint8_t *text, const char *shape) {
    for (; *shape != 0; text++, shape++) {
        bool fits = *shape == 'h'   ? is_hex(*text)
                    : *shape == 'd' ? is_digit(*text)
                    : *shape == 'x' ? is_digit(*text) || *text == 'x'
                                    : *text == '-';
        if (!fits) return false;
    }
    return true;
}

static span at_hyphen(const uint8_t *text, size_t length, size_t mark) {
    static const struct {
        size_t before, size;
        const char *shape;
    } kinds[] = {{8, 36, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh"}, {4, 19, "dddd-dddd-dddd-dddx"}};
    for (size_t i = 0; i < 2; i++) {
        if (mark < kinds[i].before) continue;
        size_t start = mark - kinds[i].before, end = start + kinds[i].size;
        if (end <= length && starts_here(text, start) && ends_here(text, length, end) &&
            has_shape(text + start, kinds[i].shape))
            return (span){start, end};
    }
    return NONE;
}

/* The positions of the marks among the 64 bytes at `at`, as bits. */
#ifdef ND_X86
static inline uint64_t marks64(const uint8_t *at) {
    uint64_t found = 0;
    for (int i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(':')), _mm_cmpeq_epi8(v, _mm_set1_epi8('@'))),
                                   _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('.')), _mm_cmpeq_epi8(v, _mm_set1_epi8('-'))));
        found |= (uint64_t)(uint32_t)_mm_movemask_epi8(hit) << (16 * i);
    }
    return found;
}
#else
static inline uint64_t marks64(const uint8_t *at) {
    uint64_t found = 0;
    for (int i = 0; i < 64; i++)
        found |= (uint64_t)(at[i] == ':' || at[i] == '@' || at[i] == '.' || at[i] == '-') << i;
    return found;
}
#endif

void nd_blank_identifiers(uint8_t *text, size_t length) {
    size_t at = 0;
    while (at < length) {
        uint64_t marks = marks64(text + at); /* the slack behind the text holds zeros */
        size_t next = at + 64;
        while (marks != 0) {
            size_t mark = at + (size_t)__builtin_ctzll(marks);
            marks &= marks - 1;
            span found = text[mark] == ':'   ? at_colon(text, length, mark)
                         : text[mark] == '.' ? at_dot(text, length, mark)
                         : text[mark] == '@' ? at_sign(text, length, mark)
                                             : at_hyphen(text, length, mark);
            if (found.start == found.end) continue;
            memset(text + found.start, ' ', found.end - found.start);
            next = found.end;
            break;
        }
        at = next;
    }
}
