/* Marks that a language may leave out, and letters that keyboards write differently: none of it tells one word from another
   for the keys and sketches of a text. The vowel signs of Arabic, Hebrew and Syriac are such marks; those that a language
   always writes, as of Hindi, Thai and Vietnamese, are not. */

#include <stdlib.h>

#include "internal.h"
#include "unicode_tables.h"

#define TATWEEL 0x640u

static bool is_left_out(uint32_t code) {
    if (code == TATWEEL) return true;
    bool script = code - 0x590 < 0x170 || code - 0x700 < 0x50 || code - 0x870 < 0x90;
    return script && nd_word_property(code) == (ND_WB_EXTEND | ND_KEPT | (nd_word_property(code) & ND_ALPHABETIC));
}

/* The letter that stands for a character of Arabic: forms of alef, yeh and kaf, and the digits of Persian and Urdu. */
static uint32_t plain_letter(uint32_t code) {
    switch (code) {
    case 0x622:
    case 0x623:
    case 0x625:
    case 0x671:
        return 0x627;
    case 0x649:
    case 0x6CC:
        return 0x64A;
    case 0x6A9:
    case 0x6AA:
        return 0x643;
    default:
        return code - 0x6F0 < 10 ? code - 0x6F0 + 0x660 : code;
    }
}

/* Whether the first byte of a character is one of these scripts, U+0580 to U+077F or U+0800 to U+0FFF. */
static inline bool may_fold(uint8_t lead) { return (uint8_t)(lead - 0xD6) < 8 || lead == 0xE0; }

/* Whether a character that may fold is a letter of Hebrew or Syriac, or one past U+08FF, as of Hindi and Thai: none folds. */
static inline bool is_letter(const uint8_t *text) {
    uint8_t lead = text[0], second = text[1];
    /* Without branches, so that whole blocks are looked at together. */
    return ((lead == 0xD7) & (second >= 0x90)) | ((lead == 0xE0) & (second >= 0xA4)) |
           ((lead == 0xDC) & ((uint8_t)(second - 0x92) < 0x1E));
}

static size_t first_mark(const uint8_t *text, size_t length) {
    for (size_t at = 0; at < length;) {
        /* Most texts have none of these letters: whole blocks are passed over. */
        if (length - at > 64) {
            uint8_t found = 0;
            for (size_t i = 0; i < 64; i++) found |= may_fold(text[at + i]);
            if (found) {
                found = 0;
                for (size_t i = 0; i < 64; i++) found |= may_fold(text[at + i]) & (uint8_t)!is_letter(text + at + i);
            }
            if (!found) {
                at += 64;
                continue;
            }
        }
        size_t end = length - at < 64 ? length : at + 64;
        while (at < end) {
            uint32_t code;
            if (!may_fold(text[at]) || (at + 1 < length && is_letter(text + at))) {
                at++;
                continue;
            }
            size_t size = nd_decode(text + at, length - at, &code);
            if (is_left_out(code) || plain_letter(code) != code) return at;
            at += size;
        }
    }
    return length;
}

bool nd_has_marks(const uint8_t *text, size_t length) { return first_mark(text, length) < length; }

void nd_fold_marks(nd_buffer *text) {
    size_t at = first_mark(text->data, text->length), written = at;
    while (at < text->length) {
        uint32_t code;
        size_t size = 1;
        if (may_fold(text->data[at])) {
            size = nd_decode(text->data + at, text->length - at, &code);
            if (is_left_out(code)) {
                at += size;
                continue;
            }
            /* Such letters and those that stand for them have two bytes. */
            uint32_t plain = plain_letter(code);
            if (plain != code) nd_encode(plain, text->data + at);
        }
        memmove(text->data + written, text->data + at, size);
        written += size;
        at += size;
    }
    text->length = written;
    memset(text->data + written, 0, ND_SLACK);
}

int nd_without_marks(const uint8_t *text, size_t length, nd_tokens *tokens) {
    nd_buffer buffer = {NULL, 0, 0};
    int status = nd_normalise_into(text, length, &buffer, NULL);
    if (status == ND_OK && !nd_has_marks(buffer.data, buffer.length)) status = ND_EMPTY;
    if (status == ND_OK) {
        nd_fold_marks(&buffer);
        *tokens = (nd_tokens){buffer.data, buffer.length, NULL, NULL, 0};
    } else {
        free(buffer.data);
    }
    return status;
}
