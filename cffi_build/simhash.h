/* The C core of neardup: from UTF-8 text to the 64-bit simhash of the scheme simhash-doc, its keys, and distances; and
   what other schemes need of it: hashes of tokens and shingles, minhash signatures, projections, sizes of intersections.

   Throughout:
   - Text is UTF-8 and untrusted. Ill-formed sequences are read as U+FFFD, one for each maximal subpart (Unicode
     Standard, section 3.9, "U+FFFD Substitution of Maximal Subparts"). No length or content can make a function read
     or write outside of what it was given. A NULL pointer is allowed wherever the length beside it is 0.
   - Functions that can fail return ND_OK or one of the codes below and then leave their outputs untouched.
   - Nothing is kept between calls; every function may be called from several threads at once.
   - Hashes are numbers: bit 1 is the most significant. Written as bytes they are big-endian. Results do not depend
     on the machine's byte order, on its instructions, or on nd_set_simd_level.

   Everything between the two cffi marks is read by the builder of the Python extension. */
#ifndef ND_SIMHASH_H
#define ND_SIMHASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

#define ND_OK 0
#define ND_EMPTY 1     /* there is nothing to make a fingerprint of */
#define ND_NO_MEMORY 2 /* memory ran out */
#define ND_OVERFLOW 3  /* the weights together pass the range of a signed 64-bit bucket; more differs than was asked for */

#define ND_KEY_TABLES 16 /* keys of a hash */
#define ND_KEY_BITS 28   /* bits of a key within its table */

/* The tokens of a text: token i is text[starts[i]] to text[ends[i] - 1], in order. Owned by the caller, who gives it
   back with nd_tokens_free. */
typedef struct {
    uint8_t *text; /* normalised, identifiers blanked */
    size_t length;
    size_t *starts;
    size_t *ends;
    size_t count;
} nd_tokens;

/* The version of Unicode that all tables are of, such as "18.0.0". Static; never freed. */
const char *nd_unicode_version(void);

/* Jenkins' 64-bit hash (lookup8.c, function `hash`, 1997) of `length` bytes with an initial value; bytes are read as
   little-endian words, as there. */
uint64_t nd_lookup8(const uint8_t *key, size_t length, uint64_t initial);

/* The simhash-doc fingerprint of a text: normalised, identifiers blanked, cut into tokens, each hashed with lookup8
   (initial value 0), added up. Writes the hash and the number of tokens. ND_EMPTY where the text holds no token,
   ND_NO_MEMORY. Uses about 1.1 times `length` bytes of memory, at most 12 times for hostile text. */
int nd_fingerprint(const uint8_t *text, size_t length, uint64_t *value, uint64_t *tokens);

/* The tokens that nd_fingerprint hashes. ND_NO_MEMORY. */
int nd_tokenise(const uint8_t *text, size_t length, nd_tokens *tokens);

/* The same with the numbers: also the pieces that are left out for having no letter, if they have a decimal digit. */
int nd_tokenise_with_numbers(const uint8_t *text, size_t length, nd_tokens *tokens);

/* Tokens without their decimal digits, in a text of their own: `count` spans of a text of UTF-8, as nd_tokenise gives
   them. Tokens of which nothing is left are left out; between two others stands nothing where they stood side by side,
   else one space. ND_NO_MEMORY. */
int nd_strip_digits(const uint8_t *text, const size_t *starts, const size_t *ends, size_t count, nd_tokens *stripped);

/* Frees what these or nd_normalise gave; the struct itself is the caller's. A zeroed struct is allowed. */
void nd_tokens_free(nd_tokens *tokens);

/* toNFKC_Casefold of a text (Unicode Standard, section 3.13, R5), into tokens->text and tokens->length, with no
   tokens. ND_NO_MEMORY. */
int nd_normalise(const uint8_t *text, size_t length, nd_tokens *tokens);

/* The same without the marks that a language may leave out (vowel signs of Arabic, Hebrew and Syriac, tatweel), and with one
   form of alef, yeh and kaf, and of the digits of Arabic; ND_EMPTY where that changes nothing, ND_NO_MEMORY. */
int nd_without_marks(const uint8_t *text, size_t length, nd_tokens *tokens);

/* What is layout to a digest goes from a text in small letters: ignorable characters (Default_Ignorable_Code_Point) and bullets
   at the head of a line. A hyphen (U+2010), dash (U+2013) or minus (U+2212) before a digit or a currency, with no digit before
   it, becomes "-", and a final sigma the other one. The new length; the text changes in its place. */
size_t nd_without_layout(uint8_t *text, size_t length);

/* A text as digests read it, into tokens->text and tokens->length: in small letters of Unicode, canonically composed (NFC), without
   layout, and with one space in place of white space and control characters. ND_NO_MEMORY. */
int nd_fold(const uint8_t *text, size_t length, nd_tokens *tokens);

/* Whether a text is taken as it is by the extraction of plain text: not 0 where it holds neither control characters (0 to 8,
   14 to 31, 127; white space is none) nor U+009B, which begins a sequence for terminals, U+FFFE, U+FFFF and U+FEFF. */
int nd_is_clean(const uint8_t *text, size_t length);

/* The byte behind a form feed in a text with marks. The two end a block of text, a cell, a row or a table, or a page. */
#define ND_ENDS_BLOCK 10
#define ND_ENDS_CELL 9
#define ND_ENDS_ROW 32
#define ND_ENDS_PAGE 12
/* What elements may end besides: a word, and a block whose lines count. */
#define ND_ENDS_WORD 0
#define ND_ENDS_LINES 1

/* Makes every run of white space one character, with none at the ends, in place; gives the bytes that are left. White space is
   White_Space, as well as control characters, surrogates, U+FFFE and U+FFFF. The character is a space; with `marks` it is
   what the strongest mark in the run ends: a line end for a block or a row, a tab for a cell, a form feed for a page. Rows are
   stronger than cells, and cells than blocks. */
size_t nd_collapse(uint8_t *text, size_t length, int marks);

#define ND_MAX_MARKS 16

/* Sets seen[i] to 1 where mark i stands in a text, its letters in either case alike, and to 0 elsewhere. Marks are of two bytes or
   more, ASCII in small letters, and at most ND_MAX_MARKS; mark i ends before ends[i], and begins where the one before it ends. */
void nd_find_marks(const uint8_t *text, size_t length, const uint8_t *marks, const size_t *ends, size_t count, uint8_t *seen);

#define ND_TAG_NAME 16  /* bytes of the name of an element, zeros behind it */
#define ND_MAX_TAGS 255 /* names in one call */

/* What a scan of a page looks for, all in small letters: `count` names of elements, and the three letters that names of classes
   and ids begin with. The first `blocks` elements end what `ends` says, ND_ENDS_WORD and so on. */
typedef struct {
    const uint8_t *tags;
    size_t count;
    const uint8_t *ends;
    size_t blocks;
    const uint8_t *beginnings;
    size_t beginnings_count;
} nd_markup_names;

/* A page of HTML as a row of tags; whatever looks like a tag is one, in comments and scripts too. */
typedef struct {
    uint8_t *page; /* with a space before each tag that ends a word, a mark before others that end something, and no other form feed */
    size_t length;
    uint8_t *classes; /* names of classes, each behind a space: all with one of the beginnings, and some others */
    size_t classes_length;
    uint8_t *ids; /* the same of ids */
    size_t ids_length;
    uint8_t styles, roles; /* 1 where some attribute is called so: style, role */
    size_t depth; /* the most by which opening tags are ahead of closing ones anywhere */
} nd_markup;

/* Reads a page. Sets seen[i] to 1 where an opening tag of name i stands. The three buffers are given back with nd_free.
   ND_NO_MEMORY. */
int nd_scan_markup(const uint8_t *page, size_t length, const nd_markup_names *names, uint8_t *seen, nd_markup *found);

#define ND_CLUSTER_ID 26 /* characters of the id of a cluster */

/* The ids of the clusters of documents that are alone, without index and routing: document i has the id that ends before
   ends[i], and begins where the one before it ends. Of each the BLAKE2b digest (RFC 7693) of 16 bytes, over two empty parts and
   the id, every part behind its length as 8 bytes, big-endian; as RFC 4648 base32, lower case, without padding. */
void nd_cluster_ids(const uint8_t *ids, const size_t *ends, size_t count, uint8_t *clusters);

/* The simhash of ready features (Charikar 2002): bucket i gets weights[j] for every feature hash j whose bit i is 1,
   -weights[j] where it is 0; a bucket above 0 gives bit 1, and one of exactly 0 gives bit 0. `weights` NULL counts
   every feature once. ND_EMPTY where count is 0; ND_OVERFLOW where the absolute weights add up to more than
   INT64_MAX. */
int nd_simhash(const uint64_t *features, const int64_t *weights, size_t count, uint64_t *value);

/* The 16 packed keys, table << 28 | key: table t = 4b + s takes the b-th 16-bit block from the left, then the s-th
   12-bit block of the 48 bits left, in order. `keys` holds 16 numbers for each of `count` values. */
void nd_keys(const uint64_t *values, size_t count, uint32_t *keys);

/* Hamming distances, 0 to 64, of one hash to `count` hashes. */
void nd_hamming_one(uint64_t query, const uint64_t *values, size_t count, uint8_t *distances);

/* Hamming distances of each of `left_count` hashes to each of `right_count`, row by row. */
void nd_hamming_many(const uint64_t *left, size_t left_count, const uint64_t *right, size_t right_count,
                     uint8_t *distances);

/* The instructions in use: 0 plain C, 1 AVX2, 2 AVX-512. The best the machine has is chosen at the first call. */
int nd_simd_level(void);

/* Asks for a level, for tests; gives the level in use from now on, never more than the machine has. */
int nd_set_simd_level(int level);

#define ND_STOPPED 4 /* the sink asked to stop */
#define ND_MAX_DISTANCE 16
#define ND_MAX_TABLES 1024

/* All pairs within `distance` bits among distinct hashes. One search is: nd_pairs_plan; then for each table of the
   plan nd_pairs_count and nd_pairs_scatter over slices of the values, and nd_pairs_scan over ranges of the buckets.
   Slices and ranges may go to different threads. Every pair comes in one table only, whatever the ranges. */

/* Writes the tables' masks (room for ND_MAX_TABLES) and gives their number; one mask of 0 means that comparing each
   with each is cheapest. `distance` is at most ND_MAX_DISTANCE. */
size_t nd_pairs_plan(const uint64_t *values, size_t count, unsigned distance, uint64_t *masks);

/* The bits of a mask that tell the buckets of `count` values apart: 2 to the power of their number is the number of
   buckets. */
uint64_t nd_pairs_bucket_mask(uint64_t mask, size_t count);

/* Adds to counts[b] the number of values whose bits under `bucket_mask`, drawn together, are b. */
void nd_pairs_count(const uint64_t *values, size_t count, uint64_t bucket_mask, uint64_t *counts);

/* Puts each value to out[cursors[b]++] of its bucket b. */
void nd_pairs_scatter(const uint64_t *values, size_t count, uint64_t bucket_mask, uint64_t *cursors, uint64_t *out);

/* Takes `count` pairs, smaller value first; what it was given is overwritten after it returns. Not 0 stops. */
typedef int (*nd_pair_sink)(void *state, const uint64_t *left, const uint64_t *right, size_t count);

/* Gives every pair of table `table` that lies in one of the buckets first to last - 1 of `values` (as scattered;
   offsets[b] to offsets[b + 1] is bucket b) to the sink, in blocks of at most `block`. ND_NO_MEMORY, ND_STOPPED. */
int nd_pairs_scan(const uint64_t *values, const uint64_t *offsets, size_t first, size_t last, uint64_t bucket_mask,
                  const uint64_t *masks, size_t table, unsigned distance, size_t block, nd_pair_sink sink, void *state);

/* The same without tables: each of the values first to last - 1 with every one behind it. */
int nd_pairs_brute(const uint64_t *values, size_t count, size_t first, size_t last, unsigned distance, size_t block,
                   nd_pair_sink sink, void *state);

/* One table of an index for lookups: bucket b (first_bucket <= b < first_bucket + buckets) holds the values
   values[offsets[b - first_bucket]] up to offsets[b - first_bucket + 1], all those whose bits under `mask`, drawn
   together, are b. The caller makes sure that the offsets rise and end within `values`. */
typedef struct {
    uint64_t mask;
    uint64_t first_bucket;
    uint64_t buckets;
    const uint64_t *offsets;
    const uint64_t *values;
} nd_table;

/* The masks of an index that meets every pair within `distance` bits (at most ND_MAX_DISTANCE): distance + 1 of them,
   with no more bits than tell `count` values apart. */
size_t nd_index_plan(const uint64_t *values, size_t count, unsigned distance, uint64_t *masks);

/* For the queries from *next on, each indexed value within `distance` bits: its query's number and the value, each
   once over all shards of an index. Stops before the query whose finds would pass `room`; *next is where to go on,
   and *found how many were written. */
void nd_index_search(const nd_table *tables, size_t table_count, const uint64_t *queries, size_t count,
                     unsigned distance, size_t *next, uint64_t *found_queries, uint64_t *found_values, size_t room,
                     size_t *found);

/* Where some wanted hashes stand: for every i with values[i] among `wanted` (`wanted_count` distinct ones), in order,
   writes its place in `wanted` and i. `places` and `positions` have room for `room` numbers; gives in `found` how many
   there are, which may be more than were written. ND_NO_MEMORY. */
int nd_find_values(const uint64_t *values, size_t count, const uint64_t *wanted, size_t wanted_count, int64_t *places,
                   int64_t *positions, size_t room, size_t *found);

/* Hashes of a text's features, in the order of the text. Owned by the caller, who gives them back with
   nd_hashes_free. */
typedef struct {
    uint64_t *values;
    size_t count;
} nd_hashes;

/* The hash of every token of a text, as nd_fingerprint adds them up. ND_NO_MEMORY. */
int nd_token_hashes(const uint8_t *text, size_t length, nd_hashes *hashes);

/* The hash of every run of `size` tokens (at least 1): lookup8, initial value 0, of the 8 * size bytes of the tokens'
   hashes, each little-endian. A text of fewer tokens has one shingle, of all its tokens; one without tokens has none. With
   `numbers` (not 0) the tokens are those of nd_tokenise_with_numbers. ND_NO_MEMORY. */
int nd_shingle_hashes(const uint8_t *text, size_t length, size_t size, int numbers, nd_hashes *hashes);

/* Words with their places: the hash of each, as by nd_token_hashes, and its first character in the text as it was given, and
   the one behind its last; both count the bytes that begin a character. The three arrays, NULL without words, are one block,
   `starts` behind `hashes` and `ends` behind `starts`, which the caller gives back with nd_free(hashes). */
typedef struct {
    uint64_t *hashes;
    uint32_t *starts;
    uint32_t *ends;
    size_t count;
} nd_words;

/* The words of a text: the tokens of nd_tokenise, with `numbers` (not 0) those of nd_tokenise_with_numbers, with
   `identifiers` (not 0) also what stands in URLs and the like. `length` is below 2 to the power of 32. Where a character
   becomes several words, each has its place. ND_NO_MEMORY. */
int nd_words_of(const uint8_t *text, size_t length, int numbers, int identifiers, nd_words *words);

/* The words of a text with all that counts between them, in order of their first character: places as in nd_words, and the
   value of each, the hash of a word or (code + 1) * 0x9E3779B97F4A7C15 of a sign; of what begins at one place, words come first. The
   arrays, NULL if there is nothing, are one block: `starts` behind `values`, then `ends`, then `are_words`, 0 for a sign.
   The caller gives it back with nd_free(values). */
typedef struct {
    uint64_t *values;
    uint32_t *starts;
    uint32_t *ends;
    uint8_t *are_words;
    size_t count;
} nd_signed_words;

#define ND_SIGN_CODES 131072
#define ND_SIGN_NEVER 0x20000    /* between words it doesn't count */
#define ND_SIGN_INNER 0x40000    /* it counts between what is no white space, as a point in 1.5 */
#define ND_SIGN_HYPHEN 0x80000   /* it counts beside a word, or before money */
#define ND_SIGN_DASH 0x100000    /* it counts before a digit, or before money */
#define ND_SIGN_MONEY 0x200000
#define ND_SIGN_PRIME 0x400000   /* it counts behind a digit, if no quotation by single marks is open in its line */
#define ND_SIGN_PRIMES 0x800000  /* it counts behind a digit, if no quotation by double marks is open in its line */
#define ND_SIGN_OPENING 0x1000000 /* a single mark that can open a quotation */
#define ND_SIGN_DOUBLE 0x2000000  /* a double quotation mark */
#define ND_SIGN_WHITE 0x4000000
#define ND_SIGN_WITHIN 0x8000000 /* it counts in words too, as it is: a raised digit, a fraction */

/* The words of a text as of nd_words_of, with numbers and identifiers, and its signs. `kinds` has ND_SIGN_CODES numbers: the
   sign that a character stands for, and the bits of its kind. Other characters stand for themselves. ND_NO_MEMORY. */
int nd_signed_words_of(const uint8_t *text, size_t length, const uint32_t *kinds, nd_signed_words *found);

/* The hash, lookup8 with initial value 0, of every run of `size` characters (at least 1) of a line: the tokens
   text[starts[i]] to text[ends[i] - 1], with nothing between two that stand side by side, else one space. A line of
   fewer characters has one shingle, all of it; one without tokens has none. ND_NO_MEMORY. */
int nd_character_hashes(const uint8_t *text, const size_t *starts, const size_t *ends, size_t count, size_t size,
                        nd_hashes *hashes);

/* lookup8 (initial value 0) of text[starts[i]] to text[ends[i] - 1], for `count` spans of a text of `length` bytes. */
void nd_hash_spans(const uint8_t *text, size_t length, const size_t *starts, const size_t *ends, size_t count,
                   uint64_t *hashes);

/* Frees one array of what these or nd_tokenise gave, when it is not freed with the others. */
void nd_free(void *memory);

/* Frees what these gave; the struct itself is the caller's. A zeroed struct is allowed. */
void nd_hashes_free(nd_hashes *hashes);

/* The minhash signature (Broder 1997) of a set of features: value i is the least of a * x + b modulo 2^32 over the low
   32 bits x of all features, which have to be well mixed. With the generator SplitMix64 from seed 0, numbered from 0,
   a is the high half of number 2i, its last bit set; b the high half of number 2i + 1. ND_EMPTY where count is 0. */
int nd_minhash(const uint64_t *features, size_t count, size_t values, uint32_t *signature);

#define ND_MAX_VALUES 4096 /* values of a signature by nd_fast_minhash */
#define ND_ROUNDS 8        /* random rounds of the scheme minhash */

/* A minhash signature by fast similarity sketching (Dahlgaard, Knudsen and Thorup 2017) with an even number of random
   rounds, below 4,096; `values` is a power of 2, 8 to ND_MAX_VALUES. In round r, from 0 on, feature x has the product
   p = x * (m | 1) modulo 2^64, m number r of SplitMix64 from seed 1; p's highest bits, as many as number the values, are
   its place, and r << 52 | p >> 12 its image. The minimum of a place is the least image that came to it in any round; where
   none did, it is the least a * x + b modulo 2^32 over the low 32 bits x of all features, a and b those of nd_minhash for
   value i. Value i is the high half of number i of SplitMix64 from its minimum as the seed. ND_EMPTY where count is 0. */
int nd_fast_minhash(const uint64_t *features, size_t count, size_t values, size_t rounds, uint32_t *signature);

/* A run of `size` equal hashes, from left[left] and right[right] on; those of a chain follow one another in both. */
typedef struct {
    uint32_t left, right, size, chain;
} nd_run;

typedef struct {
    nd_run *items;
    size_t count;
} nd_runs;

/* What two rows of fewer than 2 to the power of 31 hashes have in common: chains of runs, each chain's runs in order, so
   that no more than `gap` hashes lie between two and every four of these gain one that is equal; the best chain first, and
   those left out of which better ones have the most, and all but less than `least`, in both rows. A chain begins with `size` (at least 1) equal hashes in a row
   and reaches over `least` in either row, half of which it has in its runs. What stands often in both is met with some of its places only. Takes time in
   proportion to the hashes, but for sorting, and up to 100 bytes for each. The runs are given back with nd_free.
   ND_NO_MEMORY. */
int nd_common_runs(const uint64_t *left, size_t left_count, const uint64_t *right, size_t right_count, size_t size,
                   size_t gap, size_t least, nd_runs *runs);

/* Leaves of `count` numbers the distinct ones, in the order in which each came first, and writes how many they are. On
   ND_NO_MEMORY the numbers are still the same set. */
int nd_distinct(uint64_t *numbers, size_t *count);

/* Winnowing (Schleimer, Wilkerson and Aiken 2003): leaves of `count` hashes the least of every `window` (at least 1) that
   stand side by side, in order, one that several windows in a row share once; of fewer hashes the least of all. Writes how
   many they are. ND_NO_MEMORY, which leaves them as they were. */
int nd_winnow(uint64_t *hashes, size_t *count, size_t window);

/* The highest `bits` bits (1, 2, 4, 8 or 16) of each value: 16 are two bytes, the lower first; fewer than 8 fill a byte
   from its highest bit on, the last with zeros. */
void nd_pack(const uint32_t *signature, size_t values, unsigned bits, uint8_t *packed);

/* What a sketch of the scheme minhash is made with: `shingle` tokens (at least 1), with `numbers` (not 0) those of
   nd_tokenise_with_numbers, `values` of nd_fast_minhash in ND_ROUNDS rounds, `bits` kept of each, `bands` keys of `rows`.
   With `letters` (not 0) shingles are made as those of nd_passages_form with letters, and `numbers` counts for nothing. */
typedef struct {
    size_t shingle;
    int numbers;
    size_t values;
    unsigned bits;
    size_t bands;
    size_t rows;
    int letters;
} nd_minhash_form;

#define ND_PASSAGE_BITS 40 /* bits of a key of the scheme passages */

/* What the keys of the scheme passages are made with: runs of `shingle` (at least 1) of the tokens of
   nd_tokenise_with_numbers, hashed as by nd_shingle_hashes, or with `letters` (not 0) of the characters of these tokens,
   nothing between them, as by nd_character_hashes; of every `window` (at least 1) of them nd_winnow keeps the least. */
typedef struct {
    size_t shingle;
    size_t window;
    int letters;
} nd_passages_form;

typedef struct {
    uint64_t simhash;  /* as by nd_fingerprint, where there are tokens */
    uint64_t tokens;   /* of nd_fingerprint; with numbers there may be none */
    uint64_t shingles; /* distinct ones of minhash */
    uint64_t passages; /* keys of passages */
} nd_text_features;

/* The sketches of `count` texts that lie behind one another, text i up to ends[i], each from where the one before it ends. All
   are made from one pass over a text, normalised and cut into tokens once: the simhash-doc fingerprint, as nd_fingerprint
   gives it; with a form of minhash, of the signature of the distinct shingles what nd_pack gives, `packed`, and what
   nd_band_keys gives as packed keys, `keys`: of each the lower 32 bits, the band's number above them; and with a form of
   passages the low ND_PASSAGE_BITS bits of what nd_winnow leaves, each once, rising: `passage_keys`, which the caller gives back
   with nd_hashes_free. A form may be NULL, and what it is for too. What a text gives stands behind what the one before it
   gave; zeros, and no keys of passages, where it holds no token. Uses about 1.1 times the length of the longest text, 8 bytes
   for each of its tokens, or 16 with both forms, and with `letters` about 10 for each character. ND_NO_MEMORY, after which what
   was written means nothing and there is nothing to give back. */
int nd_sketch_texts(const uint8_t *texts, const size_t *ends, size_t count, const nd_minhash_form *minhash,
                    const nd_passages_form *passages, nd_text_features *found, uint8_t *packed, uint64_t *keys,
                    nd_hashes *passage_keys);

/* How many of the groups of `bits` bits (1, 2, 4, 8 or 16) differ between one string of `size` bytes and each of
   `count` others of the same length, which lie behind one another. */
void nd_differing(const uint8_t *one, const uint8_t *others, size_t count, size_t size, unsigned bits,
                  uint32_t *differing);

/* The same for pairs of strings, left[p] and right[p], numbers of strings that lie behind one another in `packed`. The
   caller makes sure that there are as many. */
void nd_differing_pairs(const uint8_t *packed, size_t size, unsigned bits, const uint64_t *left, const uint64_t *right,
                        size_t pairs, uint32_t *differing);

/* The sizes of intersections: set s is values[offsets[s]] to values[offsets[s + 1] - 1], rising; sizes[p] is how many
   numbers the sets left[p] and right[p] share. The caller makes sure that all numbers of sets are below that of sets,
   and that the offsets rise and end within the values. */
void nd_intersections(const uint64_t *values, const uint64_t *offsets, const uint64_t *left, const uint64_t *right,
                      size_t pairs, uint64_t *sizes);

/* Where pairs of sketches meet: sketch s holds codes[offsets[s]] to codes[offsets[s + 1] - 1], rising, each 2 * run + side,
   and each run once; run r belongs to table tables[r], which rises with r. Two sketches meet in a run that both hold, not
   both on side 1. firsts[p] is the least run in which left[p] and right[p] meet, ND_NOWHERE where they meet in runs of
   fewer tables than `agreeing` (at least 1). The caller makes sure that all numbers are in range. */
#define ND_NOWHERE 0xFFFFFFFFFFFFFFFF
void nd_meetings(const uint64_t *codes, const uint64_t *offsets, const uint64_t *tables, const uint64_t *left,
                 const uint64_t *right, size_t pairs, size_t agreeing, uint64_t *firsts);

/* The keys of the bands of a signature: band b is the values signature[b * rows] to signature[(b + 1) * rows - 1], and its
   key lookup8 (initial value 0) of their 4 * rows bytes, each value little-endian. `rows` is at most ND_MAX_ROWS. */
#define ND_MAX_ROWS 256
void nd_band_keys(const uint32_t *signature, size_t bands, size_t rows, uint64_t *keys);

/* A signature of improved consistent weighted sampling (Ioffe 2010) over distinct features and their weights, normal
   numbers above 0: value i is the low 32 bits of lookup8 (initial value 0) of the 16 bytes of the sampled feature and of
   its t, a two's complement integer, both little-endian. The random numbers of feature f for value i are numbers 3i to
   3i + 2 of SplitMix64 from seed f: r from the two halves of the first, c from those of the second, beta from the
   high half of the third; a half h stands for (h + 1/2) / 2^32. Logarithms are nd_log; of equal samples the feature that
   comes first is taken. ND_EMPTY where count is 0. */
int nd_weighted_minhash(const uint64_t *features, const double *weights, size_t count, size_t values,
                        uint32_t *signature);

/* The natural logarithm of a positive, normal double, by IEEE 754 additions, multiplications and divisions in one stated
   order only, so that it is the same to the last bit everywhere; within 1e-15 of the true value, or 4e-15 of it in
   proportion. */
double nd_log(double x);

/* Random projection (Charikar 2002; Henzinger 2006) onto 64 * words axes: bit i of word w is 1 where more features,
   counted with repeats, have a 1 there in number w of SplitMix64 from the feature's own value as the seed than a 0.
   ND_EMPTY where count is 0. */
int nd_random_projection(const uint64_t *features, size_t count, size_t words, uint64_t *projection);

/* The alignment of two lines of numbers that leaves the fewest of them out (Myers 1986): the blocks in which they differ,
   in order, four numbers each, left[b[0]] to left[b[1] - 1] against right[b[2]] to right[b[3] - 1], one of which may be
   empty. Between two blocks at least one number is equal. `blocks` has room for 4 * (limit + 1), and both lines are
   shorter than 2 to the power of 31. ND_OVERFLOW where more than `limit` are left out, ND_NO_MEMORY. Takes time and 2
   bytes for each pair of those left out. */
int nd_align(const uint64_t *left, size_t lefts, const uint64_t *right, size_t rights, size_t limit, uint32_t *blocks,
             size_t *count);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
