/* What the C core knows of Unicode; the tables are in the generated unicode_tables.c. */
#ifndef ND_UNICODE_TABLES_H
#define ND_UNICODE_TABLES_H

#include <stddef.h>
#include <stdint.h>

#define ND_TRIE_INDEX (0x110000 / 64)

/* Word_Break (UAX 29, table 3), with the values that the token rules do not tell apart drawn together. */
enum {
    ND_WB_OTHER,
    ND_WB_NEWLINE,
    ND_WB_EXTEND,
    ND_WB_ALETTER,
    ND_WB_HEBREW,
    ND_WB_NUMERIC,
    ND_WB_KATAKANA,
    ND_WB_EXTENDNUMLET,
    ND_WB_MIDLETTER,
    ND_WB_MIDNUM,
    ND_WB_MIDNUMLET,
    ND_WB_SINGLE_QUOTE,
    ND_WB_DOUBLE_QUOTE,
    ND_WB_CLASSES
};
#define ND_WB_MASK 0x0F
#define ND_KEPT 0x10       /* of a general category that tokens are made of */
#define ND_ALPHABETIC 0x20 /* has the property Alphabetic */

/* nd_letter_pairs: of the characters of two bytes those of class ALetter or Hebrew_Letter that are kept and Alphabetic, by
   the lower five bits of the first byte, and as bits by the lower six of the second. */

/* Record 0 stands for every code point that NFKC_Casefold leaves alone, that has no decomposition but Hangul's, and
   that never meets the character before it. */
typedef struct {
    uint16_t mapped; /* NFKC_CF as UTF-8, from here in nd_mapped */
    uint8_t mapped_length;
    uint16_t decomposed; /* its canonical decomposition, from here in nd_decomposed */
    uint8_t decomposed_length;
    uint8_t first_class; /* Canonical_Combining_Class of the mapping's first and last character */
    uint8_t last_class;
    uint8_t flags;
} nd_normal_record;

/* nd_normal_pairs: for a code point of two bytes what NFKC_Casefold makes of it, the first byte in the low half, if that
   is two bytes that start afresh and end in a starter; else 0. */

#define ND_SELF 1           /* maps to itself */
#define ND_BOUNDARY 2       /* starts with a starter that never composes with what stands before it */
#define ND_NEVER_COMPOSES 4 /* no character of it composes with what stands before it */
#define ND_EXACT 8          /* its small letters are not what NFKC_Casefold makes of it, but what nd_smalls says */

typedef struct {
    uint32_t first, second, composite;
} nd_composition;

/* The small letters of code points with ND_EXACT, canonically decomposed: each of a run plus `shift`; or, where `length` is
   not 0, those in nd_small_letters from `shift` on. `class` is the combining class of the first. */
typedef struct {
    uint32_t first, last;
    int32_t shift;
    uint8_t length, class;
} nd_small;

extern const char nd_unicode_version_text[];
extern const uint16_t nd_word_index[];
extern const uint8_t nd_word_blocks[];
extern const uint64_t nd_letter_pairs[];
extern const uint16_t nd_normal_index[];
extern const uint16_t nd_normal_blocks[];
extern const uint16_t nd_normal_pairs[];
extern const nd_normal_record nd_normal_records[];
extern const uint8_t nd_mapped[];
extern const uint32_t nd_decomposed[];
extern const size_t nd_composition_count;
extern const nd_composition nd_compositions[]; /* sorted by first, then second */
extern const size_t nd_small_count;
extern const nd_small nd_smalls[]; /* sorted by first */
extern const uint32_t nd_small_letters[];

static inline uint8_t nd_word_property(uint32_t code) {
    return nd_word_blocks[(size_t)nd_word_index[code >> 6] * 64 + (code & 63)];
}

static inline uint16_t nd_normal_value(uint32_t code) {
    return nd_normal_blocks[(size_t)nd_normal_index[code >> 6] * 64 + (code & 63)];
}

#endif
