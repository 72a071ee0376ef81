/* What two rows of hashes have in common: runs of equal ones, chained as long as little lies between them.

   Runs of `size` hashes (grams) that stand in both rows are seeds; each is extended as far as the rows agree. Runs are
   chained by dynamic programming over the last ones that end shortly before each (H. Li, minimap2, 2018, section 2.1, for
   genomes), so that a chain gains what is equal and pays a part of what is not. Whatever the rows, there are a few seeds for
   each place, a few steps for each run, and a bounded number of comparisons in all. */

#include <stdlib.h>

#include "internal.h"

#define NONE UINT32_MAX
/* A gram that stands n times in one row and m times in the other gives n * m seeds up to this, else some for each place. */
#define ALL_SEEDS 64
/* The last runs that are looked at before each. */
#define LOOK_BACK 64
/* One equal hash pays for so many that lie between two runs. */
#define GAIN 4

/* The places of grams in a row: number `numbers[place]`, and the places of number n are order[offsets[n]] to
   order[offsets[n + 1] - 1], rising. */
typedef struct {
    const uint64_t *hashes;
    size_t grams;
    uint32_t *numbers;
    uint32_t *order;
    uint32_t *offsets;
} row;

typedef struct {
    uint32_t a, b, size; /* places in the two rows */
} run;

typedef struct {
    row a, b; /* the shorter row and the longer one */
    size_t size;
    run *runs;
    size_t count, room;
    uint32_t *latest; /* the last run of each diagonal */
    uint64_t budget;  /* hashes that may still be compared */
} matcher;

static inline uint64_t spread(uint64_t hash) {
    hash = (hash ^ hash >> 32) * ND_GOLDEN_GAMMA;
    return hash ^ hash >> 29;
}

/* A hash of the hashes from `place` on, from that of the place before, which `first` says there is none of. */
static inline uint64_t gram_at(const row *row, size_t size, uint64_t top, size_t place, bool first, uint64_t before) {
    if (!first) return (before - spread(row->hashes[place - 1]) * top) * ND_GOLDEN_GAMMA + spread(row->hashes[place + size - 1]);
    uint64_t gram = 0;
    for (size_t i = 0; i < size; i++) gram = gram * ND_GOLDEN_GAMMA + spread(row->hashes[place + i]);
    return gram;
}

/* Numbers the grams of the shorter row, and gives those of the longer one that are among them the same numbers. */
static bool number_grams(matcher *m, uint32_t *numbers) {
    unsigned bits = 4;
    while ((size_t)1 << bits < 2 * m->a.grams) bits++;
    size_t mask = ((size_t)1 << bits) - 1;
    uint32_t *slots = malloc((mask + 1) * sizeof *slots);
    uint64_t *values = malloc(m->a.grams * sizeof *values), top = 1, gram = 0;
    bool made = slots != NULL && values != NULL;
    if (made) memset(slots, 0xFF, (mask + 1) * sizeof *slots);
    for (size_t i = 1; i < m->size; i++) top *= ND_GOLDEN_GAMMA;
    *numbers = 0;
    for (int side = 0; made && side < 2; side++) {
        row *row = side == 0 ? &m->a : &m->b;
        for (size_t place = 0; place < row->grams; place++) {
            gram = gram_at(row, m->size, top, place, place == 0, gram);
            size_t slot = spread(gram) >> (64 - bits);
            while (slots[slot] != NONE && values[slots[slot]] != gram) slot = (slot + 1) & mask;
            if (slots[slot] == NONE && side == 0) {
                values[*numbers] = gram;
                slots[slot] = (*numbers)++;
            }
            row->numbers[place] = slots[slot];
        }
    }
    free(slots);
    free(values);
    return made;
}

static bool order_places(row *row, uint32_t numbers) {
    row->offsets = calloc((size_t)numbers + 2, sizeof *row->offsets);
    if (row->offsets == NULL) return false;
    size_t known = 0;
    for (size_t place = 0; place < row->grams; place++) {
        if (row->numbers[place] == NONE) continue;
        row->offsets[row->numbers[place] + 2]++;
        known++;
    }
    for (size_t n = 2; n < (size_t)numbers + 2; n++) row->offsets[n] += row->offsets[n - 1];
    row->order = malloc(known * sizeof *row->order + 1);
    if (row->order == NULL) return false;
    /* One number further on, so that what ends up there is where each begins. */
    for (size_t place = 0; place < row->grams; place++)
        if (row->numbers[place] != NONE) row->order[row->offsets[row->numbers[place] + 1]++] = (uint32_t)place;
    return true;
}

static bool add_run(matcher *m, run added) {
    if (m->count == m->room) {
        size_t room = m->room * 2 + 64;
        run *runs = room > NONE ? NULL : realloc(m->runs, room * sizeof *runs);
        if (runs == NULL) return false;
        m->runs = runs;
        m->room = room;
    }
    m->latest[(size_t)added.b + m->a.grams - added.a] = (uint32_t)m->count;
    m->runs[m->count++] = added;
    return true;
}

/* Takes the seed at two places: its run, unless it belongs to the last one of its diagonal. */
static bool add_seed(matcher *m, uint32_t a, uint32_t b) {
    uint32_t last = m->latest[(size_t)b + m->a.grams - a];
    if (last != NONE && m->runs[last].b <= b && b <= m->runs[last].b + m->runs[last].size) {
        uint32_t size = b + (uint32_t)m->size - m->runs[last].b;
        if (size > m->runs[last].size) m->runs[last].size = size;
        return true;
    }
    const uint64_t *left = m->a.hashes, *right = m->b.hashes;
    if (memcmp(left + a, right + b, m->size * sizeof *left) != 0) return true;
    size_t start = 0, end = m->size, lefts = m->a.grams + m->size - 1, rights = m->b.grams + m->size - 1;
    for (; start < a && start < b && m->budget != 0 && left[a - start - 1] == right[b - start - 1]; start++) m->budget--;
    for (; a + end < lefts && b + end < rights && m->budget != 0 && left[a + end] == right[b + end]; end++) m->budget--;
    return add_run(m, (run){a - (uint32_t)start, b - (uint32_t)start, (uint32_t)(start + end)});
}

/* Which of `count` places in one row a gram meets from its place number `rank` of `all` in the other: the first the first,
   the last the last, and over again where there are fewer. */
static inline bool add_ranked(matcher *m, uint32_t place, const uint32_t *others, size_t rank, size_t all, size_t count,
                              bool turned) {
    size_t back = (all - 1 - rank) % count;
    uint32_t front = others[rank % count], last = others[count - 1 - back];
    if (turned) return add_seed(m, place, front) && add_seed(m, place, last);
    return add_seed(m, front, place) && add_seed(m, last, place);
}

/* The seeds of each place in the longer row, then of those in the shorter one that stand more often there. */
static bool find_runs(matcher *m, uint32_t *ranks) {
    for (size_t b = 0; b < m->b.grams; b++) {
        uint32_t number = m->b.numbers[b];
        if (number == NONE) continue;
        const uint32_t *ours = m->a.order + m->a.offsets[number];
        size_t n = m->a.offsets[number + 1] - m->a.offsets[number], all = m->b.offsets[number + 1] - m->b.offsets[number];
        if (n * all > ALL_SEEDS) {
            if (!add_ranked(m, (uint32_t)b, ours, ranks[number]++, all, n, false)) return false;
            continue;
        }
        for (size_t i = 0; i < n; i++)
            if (!add_seed(m, ours[i], (uint32_t)b)) return false;
    }
    for (size_t a = 0; a < m->a.grams; a++) {
        uint32_t number = m->a.numbers[a];
        size_t n = m->a.offsets[number + 1] - m->a.offsets[number], all = m->b.offsets[number + 1] - m->b.offsets[number];
        if (all == 0 || n <= all || n * all <= ALL_SEEDS) continue;
        /* It has been counted up to `all` already. */
        if (!add_ranked(m, (uint32_t)a, m->b.order + m->b.offsets[number], ranks[number]++ - all, n, all, true)) return false;
    }
    return true;
}

static int by_place(const void *one, const void *other) {
    const run *x = one, *y = other;
    if (x->b != y->b) return x->b < y->b ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->size < y->size) - (x->size > y->size);
}

static void sort_runs(matcher *m) {
    size_t kept = 0;
    if (m->count != 0) qsort(m->runs, m->count, sizeof *m->runs, by_place);
    for (size_t i = 0; i < m->count; i++)
        if (kept == 0 || m->runs[i].a != m->runs[kept - 1].a || m->runs[i].b != m->runs[kept - 1].b) m->runs[kept++] = m->runs[i];
    m->count = kept;
}

typedef struct {
    int64_t score;
    uint32_t end, at; /* where the run ends in the longer row; its number */
} ranked;

static int by_end(const void *one, const void *other) {
    const ranked *x = one, *y = other;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_score(const void *one, const void *other) {
    const ranked *x = one, *y = other;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* How much of the beginning of a run one before it has already. */
static inline uint32_t overlap(const run *before, const run *after) {
    uint32_t a = before->a + before->size, b = before->b + before->size, most = 0;
    if (a > after->a) most = a - after->a;
    return b > after->b && b - after->b > most ? b - after->b : most;
}

/* The best score of a chain that ends with each run, and the run before it there. */
static void chain(const matcher *m, size_t gap, const ranked *ends, int64_t *scores, uint32_t *before) {
    size_t ended = 0;
    for (size_t at = 0; at < m->count; at++) {
        const run *here = &m->runs[at];
        scores[at] = (int64_t)GAIN * here->size;
        before[at] = NONE;
        while (ended < m->count && ends[ended].end <= here->b + m->size) ended++;
        for (size_t i = ended, steps = 0; i-- > 0 && steps < LOOK_BACK && ends[i].end + gap >= here->b; steps++) {
            const run *last = &m->runs[ends[i].at];
            if (ends[i].at >= at || last->a + last->size > here->a + m->size || last->a + last->size + gap < here->a) continue;
            uint32_t common = overlap(last, here);
            if (common >= here->size) continue;
            uint32_t in_a = here->a + common - last->a - last->size, in_b = here->b + common - last->b - last->size;
            int64_t score = scores[ends[i].at] + (int64_t)GAIN * (here->size - common) - (in_a > in_b ? in_a : in_b);
            if (score <= scores[at]) continue;
            scores[at] = score;
            before[at] = ends[i].at;
        }
    }
}

static size_t count_new(const uint8_t *covered, size_t start, size_t size) {
    size_t count = 0;
    for (size_t i = start; i < start + size; i++) count += !covered[i];
    return count;
}

/* The chains, the best first, as far as half of one is new in either row, or `least` of it. `before` is overwritten: what is taken has
   itself there. */
static size_t take_chains(matcher *m, size_t least, const ranked *best, uint32_t *before, uint8_t *covered_a,
                          uint8_t *covered_b, nd_run *found) {
    size_t count = 0;
    uint32_t chains = 0;
    for (size_t i = 0; i < m->count; i++) {
        size_t first = count, all = 0, new_a = 0, new_b = 0;
        for (uint32_t at = best[i].at, next; at != NONE && before[at] != at; at = next) {
            run taken = m->runs[at];
            next = before[at];
            before[at] = at;
            if (next != NONE && before[next] != next) {
                uint32_t common = overlap(&m->runs[next], &taken);
                taken = (run){taken.a + common, taken.b + common, taken.size - common};
            }
            all += taken.size;
            new_a += count_new(covered_a, taken.a, taken.size);
            new_b += count_new(covered_b, taken.b, taken.size);
            found[count++] = (nd_run){taken.a, taken.b, taken.size, chains};
        }
        if (all == 0) continue;
        const nd_run *front = &found[count - 1], *back = &found[first];
        bool enough = back->left + back->size - front->left >= least && back->right + back->size - front->right >= least;
        size_t added = new_a > new_b ? new_a : new_b;
        if (!enough || 2 * all < least || (2 * added < all && added < least)) {
            count = first;
            continue;
        }
        for (size_t low = first, high = count - 1; low < high; low++, high--) {
            nd_run swapped = found[low];
            found[low] = found[high];
            found[high] = swapped;
        }
        for (size_t r = first; r < count; r++) {
            memset(covered_a + found[r].left, 1, found[r].size);
            memset(covered_b + found[r].right, 1, found[r].size);
        }
        chains++;
    }
    return count;
}

static bool chain_runs(matcher *m, size_t gap, size_t least, nd_runs *found) {
    size_t room = m->count + 1;
    ranked *ends = malloc(room * sizeof *ends);
    int64_t *scores = malloc(room * sizeof *scores);
    uint32_t *before = malloc(room * sizeof *before);
    uint8_t *covered_a = calloc(m->a.grams + m->size, 1), *covered_b = calloc(m->b.grams + m->size, 1);
    found->items = malloc(room * sizeof *found->items);
    bool made = ends && scores && before && covered_a && covered_b && found->items;
    if (made && m->count != 0) {
        for (size_t i = 0; i < m->count; i++) ends[i] = (ranked){0, m->runs[i].b + m->runs[i].size, (uint32_t)i};
        qsort(ends, m->count, sizeof *ends, by_end);
        chain(m, gap, ends, scores, before);
        for (size_t i = 0; i < m->count; i++) ends[i] = (ranked){scores[i], 0, (uint32_t)i};
        qsort(ends, m->count, sizeof *ends, by_score);
        found->count = take_chains(m, least, ends, before, covered_a, covered_b, found->items);
    }
    free(ends);
    free(scores);
    free(before);
    free(covered_a);
    free(covered_b);
    return made;
}

static void free_row(row *row) {
    free(row->numbers);
    free(row->order);
    free(row->offsets);
}

int nd_common_runs(const uint64_t *left, size_t left_count, const uint64_t *right, size_t right_count, size_t size,
                   size_t gap, size_t least, nd_runs *runs) {
    nd_runs found = {NULL, 0};
    if (left_count < size || right_count < size) {
        *runs = found;
        return ND_OK;
    }
    bool turned = left_count > right_count;
    matcher m = {{turned ? right : left, (turned ? right_count : left_count) - size + 1, NULL, NULL, NULL},
                 {turned ? left : right, (turned ? left_count : right_count) - size + 1, NULL, NULL, NULL},
                 size, NULL, 0, 0, NULL, 64 * ((uint64_t)left_count + right_count)};
    uint32_t numbers;
    size_t diagonals = m.a.grams + m.b.grams;
    m.a.numbers = malloc(m.a.grams * sizeof *m.a.numbers);
    m.b.numbers = malloc(m.b.grams * sizeof *m.b.numbers);
    m.latest = malloc(diagonals * sizeof *m.latest);
    bool made = m.a.numbers && m.b.numbers && m.latest && number_grams(&m, &numbers) && order_places(&m.a, numbers) &&
                order_places(&m.b, numbers);
    if (made) {
        memset(m.latest, 0xFF, diagonals * sizeof *m.latest);
        uint32_t *ranks = calloc(numbers, sizeof *ranks);
        made = ranks != NULL && find_runs(&m, ranks);
        free(ranks);
    }
    free_row(&m.a);
    free_row(&m.b);
    free(m.latest);
    if (made) {
        sort_runs(&m);
        made = chain_runs(&m, gap, least, &found);
    }
    free(m.runs);
    if (!made) {
        free(found.items);
        return ND_NO_MEMORY;
    }
    for (size_t i = 0; turned && i < found.count; i++) {
        uint32_t place = found.items[i].left;
        found.items[i].left = found.items[i].right;
        found.items[i].right = place;
    }
    *runs = found;
    return ND_OK;
}
