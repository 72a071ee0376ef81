"""The comparison of two near texts: their relation, by their sentences."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from indexer.relations.alignment import Block, blocks_between
from indexer.relations.facts import DifferingFact, FactFinder, TypedFact, beyond, canonical, differing
from indexer.relations.frame import frame_bounds
from indexer.relations.lexicon import Lexicon
from indexer.relations.misreading import is_misreading, judge_pairs
from indexer.relations.relation import Relation, RelationWord
from indexer.relations.rendition import ChangedSentences, RenditionCheck, SharedBody, shared_body
from indexer.relations.wording import Wording
from indexer.text.words import marks_differ

# A text contains another one that it has half as many words more than; of less it is an edition.
_CONTAINS = 1.5
# Two sentences with less than so much in common are two sentences, none of them the other one changed.
_VARIANT = 0.5
# Sentences of larger stretches are not paired one by one.
_MOST_PAIRED = 1000
# A stretch of more words is not read letter by letter: layout changes single words, and the time is bounded.
_LONGEST_LAYOUT = 200
_LINE_HYPHEN = re.compile("[-\u2010\u00ad][ \t]*\n\\s*|\u00ad")


def relate(
    left: Wording,
    right: Wording,
    lexicon: Lexicon | None = None,
    *,
    brief: bool = False,
    other_format: bool = False,
) -> Relation:
    """The relation of one text to another, by the known words of a collection, if given.

    `other_format` says that the documents are known to have two formats.
    Time grows with the words and the square of those that differ.
    """
    given = left, right
    if (left.without_targets is left) != (right.without_targets is right):
        # Of a page that has no such links it is not known where its own lead to.
        left, right = left.without_targets, right.without_targets
    blocks = blocks_between(left, right)
    if other_word := _differently_marked(left, right, blocks):
        return Relation("reworded", replaced=(other_word,))
    if not blocks:
        return Relation("identical" if given[0].digest == given[1].digest else "reflowed")
    return _SentenceComparison(left, right, blocks, lexicon, other_format=other_format).relation(brief=brief)


def may_be_copy(left: Wording, right: Wording, lexicon: Lexicon | None = None) -> bool:
    """False where `relate` finds no copy, as the first words that differ tell of most texts."""
    if left.without_targets is not left or right.without_targets is not right:
        return True
    if any(frame_bounds(each, lexicon) != (0, len(each)) for each in (left, right)):
        return True
    return _SentenceComparison(left, right, blocks_between(left, right), lexicon).may_be_copy()


class _SentenceComparison:
    def __init__(
        self,
        left: Wording,
        right: Wording,
        blocks: Sequence[Block],
        lexicon: Lexicon | None,
        *,
        other_format: bool = False,
    ) -> None:
        self._other_format = other_format
        self._left, self._right, self._blocks, self._lexicon = left, right, blocks, lexicon
        self._only: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        self._both_own: list[Block] = []
        self._variants: list[ChangedSentences] = []
        # They are asked for several times.
        self._known_facts: dict[Block, tuple[list[TypedFact], list[TypedFact]]] = {}

    def may_be_copy(self) -> bool:
        def is_read(block: Block) -> bool:
            said = self._said(pairs := self._word_pairs(block))
            return all(is_misreading(*pair) for pair in said) if pairs else False

        return all(is_read(block) or self._is_layout(block) for block in self._blocks)

    def relation(self, *, brief: bool) -> Relation:
        misread, unclear, cleaner = self._read()
        check, told = self._rendition_check(), 0
        for stretch in self._stretches(unclear):
            known = len(self._variants)
            self._compare_sentences(stretch)
            if check and any(map(check.refuted_by, self._variants[known:])):
                check = None
            if brief and check is None:
                if facts := tuple(self._replaced_facts(_changed(self._variants[told:]))):
                    return Relation("form", facts)
                told = len(self._variants)
        if check and any(map(check.are_replaced, self._both_own)):
            check = None
        if check and self._other_format:
            for block in self._both_own:
                check.note_sentences(block)
        return self._told(misread, cleaner, check)

    @cached_property
    def _body(self) -> SharedBody | None:
        return shared_body(self._left, self._right, self._blocks)

    def _rendition_check(self) -> RenditionCheck | None:
        left, right = self._left, self._right
        if max(len(left), len(right)) >= _CONTAINS * min(len(left), len(right)):
            return None
        if self._body is None:
            return None
        check = RenditionCheck(
            left, right, self._blocks, self._body, lambda block: self._replaced_facts([block]),
            other_format=self._other_format,
        )  # fmt: skip
        # Most texts have no lines around what they have in common, and need no check of their sentences.
        return check if check.frames_differ() else None

    def _told(self, misread: tuple[tuple[str, str], ...], cleaner: str, rendition: RenditionCheck | None) -> Relation:
        left, right = self._left, self._right
        facts = tuple(dict.fromkeys(self._differing_facts()))
        gone, new = self._only
        frame = frame_bounds(left, self._lexicon), frame_bounds(right, self._lexicon)
        text_gone = [run for run in gone if not _is_in(run, frame[0])]
        text_new = [run for run in new if not _is_in(run, frame[1])]
        removed, added = (sum(end - start for start, end in runs) for runs in (gone, new))
        replaced, rest = self._sentence_pairs()
        only_left, moved = _apart(left, [*text_gone, *rest[0]], right, [*text_new, *rest[1]])
        only_right, _ = _apart(right, [*text_new, *rest[1]], left, [*text_gone, *rest[0]])
        word: RelationWord
        may_be = self._variants or self._other_format or (only_left and only_right and not moved)
        if rendition and may_be and (self._variants or text_gone or text_new):
            word = "edited" if rendition.adds_sentences else "rendition"
            return Relation(
                word, (), misread, added, removed, only_left=tuple(only_left), only_right=tuple(only_right),
                replaced=tuple(rendition.by_format), moved=tuple(moved), common=rendition.body.words, lost=removed,
            )  # fmt: skip
        if self._variants:
            word = "form" if facts else "reworded"
        elif text_gone or text_new:
            ours, theirs = len(left), len(right)
            word = "contains" if ours >= _CONTAINS * theirs else "part" if theirs >= _CONTAINS * ours else "edited"
        else:
            word = "noise" if misread else "reflowed"
            if removed != added and not cleaner:
                cleaner = "right" if removed > added else "left"
        return Relation(
            word, facts, misread, added, removed,
            only_left=tuple(only_left), only_right=tuple(only_right), replaced=tuple(replaced), moved=tuple(moved),
            cleaner="left" if cleaner == "left" else "right" if cleaner else "", lost=removed + self._replaced_words(),
        )  # fmt: skip

    # Words: what is only laid out otherwise, and what is misread.

    def _read(self) -> tuple[tuple[tuple[str, str], ...], list[Block], str]:
        pairs: list[tuple[int, int]] = []
        owners: list[int] = []
        unclear: dict[int, Block] = {}
        for number, block in enumerate(self._blocks):
            if self._is_layout(block):
                continue
            if some := self._word_pairs(block):
                pairs += some
                owners += [number] * len(some)
            else:
                unclear[number] = block
        said = self._said(pairs)
        alike = [is_misreading(*pair) for pair in said]
        known = [
            (self._known(self._left, one), self._known(self._right, other)) if may_be else (0, 0)
            for may_be, (one, other) in zip(alike, pairs, strict=True)
        ]
        judged = judge_pairs(alike, known)
        other_owners = {owners[number] for number in judged.others}
        unclear |= {number: self._blocks[number] for number in other_owners}
        misread = tuple(dict.fromkeys(said[number] for number in sorted(judged.misread)))
        return misread, [unclear[number] for number in sorted(unclear)], judged.cleaner

    def _said(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[str, str]]:
        return [(self._left.word(one), self._right.word(other)) for one, other in pairs]

    def _is_layout(self, block: Block) -> bool:
        if block.end - block.start + block.other_end - block.other_start > _LONGEST_LAYOUT:
            return False
        one, other = self._left.span(block.start, block.end), self._right.span(block.other_start, block.other_end)
        if _plain(one) == _plain(other):
            return bool(one) and bool(other)
        if not any(map(str.isdigit, self._around(block))):
            return False
        (ours, theirs) = self._widened(block)
        one, other = canonical(self._left.span(*ours)), canonical(self._right.span(*theirs))
        return one == other and ours[1] - ours[0] > 0 < theirs[1] - theirs[0]

    def _around(self, block: Block) -> str:
        left, right = self._left, self._right
        ours = left.span(max(0, block.start - 1), min(len(left), block.end + 1))
        return ours + right.span(block.other_start, block.other_end)

    def _word_pairs(self, block: Block) -> list[tuple[int, int]]:
        if block.end - block.start != block.other_end - block.other_start:
            return []
        pairs = [(place, place + block.other_start - block.start) for place in range(block.start, block.end)]
        plain = all(self._left.is_plain(a) and self._right.is_plain(b) for a, b in pairs)
        return pairs if plain else []

    def _known(self, wording: Wording, place: int) -> int:
        value = int(wording.values[place])
        count = self._lexicon.frequency(value) if self._lexicon is not None else 0
        return max(count, 2) if value in self._equal else count

    @cached_property
    def _equal(self) -> frozenset[int]:
        kept = np.ones(len(self._left), dtype=np.bool_)
        for block in self._blocks:
            kept[block.start : block.end] = False
        return frozenset(self._left.values[kept].tolist())

    # Sentences: which stand in one text only, and which are changed.

    def _note_only(self, block: Block) -> None:
        self._both_own.append(block)
        if block.end > block.start:
            self._only[0].append((block.start, block.end))
        if block.other_end > block.other_start:
            self._only[1].append((block.other_start, block.other_end))

    def _stretches(self, rest: Sequence[Block]) -> Iterator[ChangedSentences]:
        ends = self._common_ends
        current: list[Block] = []
        bounds: tuple[int, int] = (0, 0)
        for block in rest:
            # A bound is a place where a sentence ends in both texts.
            low = bisect_right(ends, (block.start, block.other_start)) - 1
            high = bisect_left(ends, (block.end, block.other_end))
            while low >= 0 and (ends[low][0] > block.start or ends[low][1] > block.other_start):
                low -= 1
            while high < len(ends) and (ends[high][0] < block.end or ends[high][1] < block.other_end):
                high += 1
            if current and low < bounds[1]:
                current, bounds = [*current, block], (bounds[0], max(bounds[1], high))
                continue
            if current:
                yield self._stretch(current, bounds)
            current, bounds = [block], (low, high)
        if current:
            yield self._stretch(current, bounds)

    def _stretch(self, inner: Sequence[Block], bounds: tuple[int, int]) -> ChangedSentences:
        (start, other_start), (end, other_end) = (self._common_ends[bound] for bound in bounds)
        return ChangedSentences(Block(start, end, other_start, other_end), inner)

    @cached_property
    def _common_ends(self) -> list[tuple[int, int]]:
        left, right = self._left, self._right
        found = [(0, 0)]
        place, shift = 0, 0
        ours, theirs = left.sorted_ends, right.sentence_ends
        for block in (*self._blocks, Block(len(left), len(left), len(right), len(right))):
            first, last = bisect_left(ours, place), bisect_right(ours, block.start)
            found += [(each, each + shift) for each in ours[first:last] if each + shift in theirs]
            place, shift = block.end, block.other_end - block.end
        found.append((len(left), len(right)))
        return sorted(dict.fromkeys(found))

    def _compare_sentences(self, stretch: ChangedSentences) -> None:
        ours = _sentences(self._left, stretch.block.start, stretch.block.end)
        theirs = _sentences(self._right, stretch.block.other_start, stretch.block.other_end)
        for mine, yours in _unequal(_keys(self._left, ours), _keys(self._right, theirs)):
            block = Block(*_bounds(ours[slice(*mine)]), *_bounds(theirs[slice(*yours)]))
            in_place = mine[1] - mine[0] == yours[1] - yours[0]
            if (
                block.start == block.end
                or block.other_start == block.other_end
                or not (in_place or self._are_variants(block))
            ):
                self._note_only(block)
            else:
                self._variants.append(
                    ChangedSentences(block, [each for each in stretch.inner if _overlap(each, block)])
                )

    def _replaced_words(self) -> int:
        return sum(each.end - each.start for stretch in self._variants for each in stretch.inner)

    def _are_variants(self, block: Block) -> bool:
        ours = {*self._left.values[block.start : block.end].tolist()}
        theirs = {*self._right.values[block.other_start : block.other_end].tolist()}
        return len(ours & theirs) >= max(1, _VARIANT * min(len(ours), len(theirs)))

    def _sentence_pairs(self) -> tuple[list[tuple[str, str]], tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
        pairs: list[tuple[str, str]] = []
        rest: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for block, _ in self._variants:
            ours = _sentences(self._left, block.start, block.end)
            theirs = _sentences(self._right, block.other_start, block.other_end)
            if len(ours) == len(theirs):
                matched = list(zip(ours, theirs, strict=True))
            elif len(ours) * len(theirs) > _MOST_PAIRED:
                matched, ours, theirs = [((block.start, block.end), (block.other_start, block.other_end))], [], []
            else:
                matched = self._alike(ours, theirs)
            pairs += [(self._left.written(*one), self._right.written(*other)) for one, other in matched]
            rest[0].extend(each for each in ours if each not in {one for one, _ in matched})
            rest[1].extend(each for each in theirs if each not in {other for _, other in matched})
        return pairs, rest

    def _alike(
        self, ours: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]]
    ) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        words = {each: {*self._right.values[slice(*each)].tolist()} for each in theirs}
        found = []
        for each in ours:
            own = {*self._left.values[slice(*each)].tolist()}
            for other, known in words.items():
                if len(own & known) >= max(1, _VARIANT * min(len(own), len(known))):
                    found.append((each, other))
                    del words[other]
                    break
        return found

    # FactFinder.

    @cached_property
    def _finders(self) -> tuple[FactFinder, FactFinder]:
        return FactFinder(self._left), FactFinder(self._right)

    def _widened(self, block: Block) -> tuple[tuple[int, int], tuple[int, int]]:
        one, other = self._finders
        return one.widened(block.start, block.end), other.widened(block.other_start, block.other_end)

    def _facts_of(self, block: Block) -> tuple[list[TypedFact], list[TypedFact]]:
        if block not in self._known_facts:
            self._known_facts[block] = self._found_facts(block)
        return self._known_facts[block]

    def _found_facts(self, block: Block) -> tuple[list[TypedFact], list[TypedFact]]:
        one, other = self._finders
        ours, theirs = self._widened(block)
        before = max(block.start - ours[0], block.other_start - theirs[0])
        behind = max(ours[1] - block.end, theirs[1] - block.other_end)
        if before or behind:
            ours = one.widened(max(0, block.start - before), min(len(self._left), block.end + behind))
            theirs = other.widened(max(0, block.other_start - before), min(len(self._right), block.other_end + behind))
        return one.between(*ours), other.between(*theirs)

    def _replaced_facts(self, blocks: Iterable[Block]) -> Iterator[DifferingFact]:
        for block in blocks:
            one, other = self._facts_of(block)
            if one and other:
                yield from differing(one, other)

    def _differing_facts(self) -> Iterator[DifferingFact]:
        """The facts that differ, those of the body first: a correction tells more than a byline."""
        changed = _changed(self._variants)
        if len(changed) > 1 and (body := self._body) is not None:
            changed.sort(key=lambda block: not body.overlaps(block))
        yield from self._replaced_facts(changed)
        sides: tuple[list[TypedFact], list[TypedFact]] = ([], [])
        for block in changed:
            one, other = self._facts_of(block)
            if not one or not other:
                # A name that only stands there more may as well begin the sentence.
                sides[0].extend(fact for fact in one if fact.kind != "name")
                sides[1].extend(fact for fact in other if fact.kind != "name")
        if any(sides):
            # What stands on one side may have moved there from a sentence that is gone from its place.
            only = [[fact for run in runs for fact in finder.between(*finder.widened(*run))]
                    for runs, finder in zip(self._only, self._finders, strict=True)]  # fmt: skip
            yield from differing(list(beyond(sides[0], only[1])), list(beyond(sides[1], only[0])))


def _differently_marked(left: Wording, right: Wording, blocks: Sequence[Block]) -> tuple[str, str] | None:
    if not (left.has_marks and right.has_marks):
        return None
    ends = [*blocks, Block(len(left), len(left), len(right), len(right))]
    place = other = 0
    for block in ends:
        for mine, yours in zip(range(place, block.start), range(other, block.other_start), strict=True):
            said = left.word(mine), right.word(yours)
            if said[0] != said[1] and marks_differ(*said):
                return said
        place, other = block.end, block.other_end
    return None


def _plain(text: str) -> str:
    if not text.isascii() or "-" in text:
        text = unicodedata.normalize("NFKC", _LINE_HYPHEN.sub("", text))
    return " ".join(text.casefold().split())


def _changed(variants: Iterable[ChangedSentences]) -> list[Block]:
    return [block for stretch in variants for block in stretch.inner or [stretch.block]]


def _overlap(one: Block, other: Block) -> bool:
    return (one.start < other.end or one.other_start < other.other_end) and (
        one.end > other.start or one.other_end > other.other_start
    )


def _is_in(run: tuple[int, int], bounds: tuple[int, int]) -> bool:
    return run[1] <= bounds[0] or run[0] >= bounds[1]


def _bounds(sentences: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return (sentences[0][0], sentences[-1][1]) if sentences else (0, 0)


def _sentences(wording: Wording, start: int, end: int) -> list[tuple[int, int]]:
    ends = wording.sorted_ends
    inside = ends[bisect_right(ends, start) : bisect_left(ends, end)]
    return [each for each in zip([start, *inside], [*inside, end], strict=True) if each[0] < each[1]]


def _apart(
    wording: Wording, runs: Iterable[tuple[int, int]], other: Wording, other_runs: Iterable[tuple[int, int]]
) -> tuple[list[str], list[str]]:
    there = {key for run in other_runs for key in _keys(other, _sentences(other, *run))}
    sides: tuple[list[str], list[str]] = ([], [])
    for run in runs:
        sentences = _sentences(wording, *run)
        for sentence, key in zip(sentences, _keys(wording, sentences), strict=True):
            sides[key in there].append(wording.written(*sentence))
    return sides


def _keys(wording: Wording, sentences: Sequence[tuple[int, int]]) -> list[bytes]:
    return [wording.values[start:end].tobytes() for start, end in sentences]


def _unequal(ours: Sequence[bytes], theirs: Sequence[bytes]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    from rapidfuzz.distance import Indel

    numbers: dict[bytes, int] = {}
    coded = [[numbers.setdefault(key, len(numbers)) for key in side] for side in (ours, theirs)]
    start = other_start = end = other_end = 0
    for step in Indel.opcodes(*coded):
        if step.tag == "equal":
            if (start, other_start) != (end, other_end):
                yield (start, end), (other_start, other_end)
            start, other_start = step.src_end, step.dest_end
        end, other_end = step.src_end, step.dest_end
    if (start, other_start) != (end, other_end):
        yield (start, end), (other_start, other_end)
