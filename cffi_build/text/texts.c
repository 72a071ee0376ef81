/* What plain text holds beside its words: control characters and layout. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "simhash.h"
#include "unicode_tables.h"

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

/* Default_Ignorable_Code_Point. */
static bool is_ignorable(uint32_t code) {
    static const uint32_t RANGES[][2] = {{0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},   {0x115F, 0x1160},
                                         {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F}, {0x202A, 0x202E},
                                         {0x2060, 0x206F}, {0x3164, 0x3164}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF},
                                         {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
                                         {0xE0000, 0xE0FFF}};
    for (size_t i = 0; i < sizeof RANGES / sizeof RANGES[0]; i++)
        if (code <= RANGES[i][1]) return code >= RANGES[i][0];
    return false;
}

/* Without ignorable characters, and with one small sigma: one at the end of a word is no other letter. */
static size_t without_ignorable(uint8_t *text, size_t length) {
    /* The first bytes of what may be ignorable, or a final sigma. */
    static const uint8_t MAY[256] = {[0xC2] = 1, [0xCD] = 1, [0xCF] = 1, [0xD8] = 1, [0xE1] = 1, [0xE2] = 1,
                                     [0xE3] = 1, [0xEF] = 1, [0xF0] = 1, [0xF3] = 1};
    size_t written = 0;
    for (size_t at = 0; at < length;) {
        if (!MAY[text[at]]) {
            text[written++] = text[at++];
            continue;
        }
        uint32_t code;
        size_t size = nd_decode(text + at, length - at, &code);
        if (code == 0x3C2) text[at + 1] = 0x83;
        if (!is_ignorable(code)) {
            memmove(text + written, text + at, size);
            written += size;
        }
        at += size;
    }
    return written;
}

static bool is_digit(const uint8_t *text, size_t length) {
    uint32_t code;
    if (length == 0) return false;
    nd_decode(text, length, &code);
    /* The decimal signs of Arabic count as numeric, too. */
    return (nd_word_property(code) & ND_WB_MASK) == ND_WB_NUMERIC && code != 0x66B && code != 0x66C;
}

static bool is_currency(const uint8_t *text, size_t length) {
    static const uint32_t SIGNS[] = {'$', 0xA3, 0xA5, 0xE3F, 0x20A9, 0x20AC, 0x20B9, 0x20BA, 0x20BD};
    uint32_t code = 0;
    if (length != 0) nd_decode(text, length, &code);
    for (size_t i = 0; i < sizeof SIGNS / sizeof SIGNS[0]; i++)
        if (code == SIGNS[i]) return true;
    return false;
}

/* How many bytes the bullet of an item has with the blanks before it, at the head of a line; 0 where none stands there.
   Hyphens and dashes lead items only before a space; a row of a table may begin with an empty cell. */
static size_t bullet(const uint8_t *text, size_t length) {
    size_t at = 0;
    while (at < length && (text[at] == ' ' || text[at] == '\t')) at++;
    if (at == length) return 0;
    uint32_t code;
    size_t end = at + nd_decode(text + at, length - at, &code);
    uint8_t next = end < length ? text[end] : 0;
    if (code == '-' || code == '*' || code == 0x2013 || code == 0x2014) return next == ' ' ? end : 0;
    if (code != 0x2022 && code != 0x2023 && code != 0x2043 && code != 0x25E6 && code != 0x25AA && code != 0x2219 && code != 0x25CF)
        return 0;
    bool wide = next == 0xC2 && end + 1 < length && text[end + 1] == 0xA0;
    return next == ' ' || next == '\t' || next == '\n' || next == '\r' || next == '\f' || wide ? end : 0;
}

size_t nd_without_layout(uint8_t *text, size_t length) {
    size_t written = 0;
    bool heads_line = true;
    length = without_ignorable(text, length);
    for (size_t at = 0; at < length;) {
        if (heads_line) at += bullet(text + at, length - at);
        if (at == length) break;
        heads_line = text[at] == '\n' || text[at] == '\f';
        bool dash = text[at] == 0xE2 && at + 2 < length &&
                    ((text[at + 1] == 0x80 && (text[at + 2] == 0x90 || text[at + 2] == 0x93)) ||
                     (text[at + 1] == 0x88 && text[at + 2] == 0x92));
        if (dash && (is_digit(text + at + 3, length - at - 3) || is_currency(text + at + 3, length - at - 3))) {
            size_t before = written;
            while (before != 0 && (text[--before] & 0xC0) == 0x80) continue;
            if (!is_digit(text + before, written - before)) {
                text[written++] = '-';
                at += 3;
                continue;
            }
        }
        text[written++] = text[at++];
    }
    return written;
}
