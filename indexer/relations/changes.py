"""The changes between two aligned texts, block by block: facts, misread words, and words added, removed or moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from indexer.relations import facts
from indexer.relations.alignment import Block, equal_words, moved
from indexer.relations.facts import DifferingFact
from indexer.relations.lexicon import Hashes, Lexicon
from indexer.relations.manuals import ManualBesidePage, differing_names
from indexer.relations.misreading import alike, distance_as_read, is_mistyped, look_alike
from indexer.relations.telling import (
    are_in_another_order,
    are_inflected,
    have_same_stem,
    is_named,
    is_plain,
    negates,
    qualifies,
    sentences,
    tells,
)
from indexer.relations.wording import Wording
from indexer.text.vocabulary import GRAMMATICAL, JOINING, NEGATIONS, NUMERALS

# A filling has at most so many words; a longer one, of which less than so much stays, is another passage. Texts of
# which less stays in place have no more in common than their words. In texts of fewer words than that, each one tells.
_FILLING, FEW_WORDS = 3, 50
# In a text of fewer words none of a title may be lost that says more than grammar, nor be replaced elsewhere.
_EACH_TELLS = 300
_LONGEST_UNIT = 4
# What is misread or added by an editor is seldom so in the same way more often.
_REPEATED = 2
_STAYS = 1 / 2
# A doubtful word is misread in a text where so many others are without a doubt: one in lower case, and a name.
_DOUBTFUL, _DOUBTFUL_NAMES = 2.0, 0.25
# Where so many are, a word may be misread once more in the same way.
_AGAIN = 6

# So many words, and so many times the others, are a passage that was added beside them.
_PASSAGE, _LOPSIDED = 8, 4

_FINDERS = (("number", facts.numbers), ("negation", facts.negations), ("name", facts.names))

_GRAMMAR = GRAMMATICAL | NEGATIONS

WordPair = tuple[int, int]


class TextChanges:
    """The differences between two texts; `judge` fills in the rest.

    `added` and `removed` count words, `reworded` says that some were put in other words, `misread` has pairs of words,
    `only_left` what was removed as it stands.
    """

    def __init__(self, left: Wording, right: Wording, blocks: Sequence[Block], lexicon: Lexicon | None) -> None:
        self.left, self.right, self._blocks, self._lexicon = left, right, list(blocks), lexicon
        self.facts: list[DifferingFact] = []
        self.misread: list[tuple[str, str]] = []
        self.lost_facts: list[str] = []
        self.only_left: list[str] = []
        self.added = self.removed = 0
        self.reworded = False
        # In a title each word tells what it is of, and in a list: "X - documentation" is not X.
        words = min(left.told, right.told)
        self._few, self._each_tells = words < FEW_WORDS, words < _EACH_TELLS
        self._clear: list[WordPair] = []
        self._doubtful: list[WordPair] = []
        self._doubtful_names: list[WordPair] = []
        self._unknown_left = self._unknown_right = 0
        # What a few words on the left became on the right, in folded case, and how often.
        self._changed: Counter[tuple[str, str]] = Counter()

    @property
    def cleaner(self) -> Literal["left", "right", ""]:
        """The side with fewer unknown words among those misread; empty where they are as many."""
        if self._unknown_left == self._unknown_right:
            return ""
        return "right" if self._unknown_left > self._unknown_right else "left"

    def judge(self, *, brief: bool = False) -> None:
        """Look at each block; with `brief` not beyond the first fact that differs."""
        # A few words that were moved say another order.
        here, there = (set[int](), set[int]()) if self._few else moved(self.left, self.right, self._blocks)
        manual = ManualBesidePage.of(self.left, self.right)
        if names := differing_names(self.left, self.right):
            self.facts.append(DifferingFact("name", *names))
        self.reworded = bool(here)
        stays = len(self.left) + len(here) - sum(block.end - block.start for block in self._blocks)
        if stays < _STAYS * min(len(self.left), len(self.right)):
            first = self._blocks[0]
            said = self.left.written(first.start, first.end), self.right.written(first.other_start, first.other_end)
            self.facts.append(DifferingFact("order of words", *said))
        for block in self._blocks:
            if brief and self.facts:
                return
            ours, theirs = list(range(block.start, block.end)), list(range(block.other_start, block.other_end))
            if here:
                parts = len(ours) + len(theirs)
                ours = [place for place in ours if place not in here]
                theirs = [place for place in theirs if place not in there]
                if len(ours) + len(theirs) < parts and max(len(ours), len(theirs)) <= _FILLING:
                    # The edges of what was moved.
                    continue
            if manual:
                ours, theirs = manual.without_marks(ours, theirs)
            if ours and theirs:
                self._replaced(ours, theirs)
            elif ours:
                self._only(self.left, ours, lost=True)
            elif theirs:
                self._only(self.right, theirs, lost=False)
        # What differs again and again in the same way is what the text is about, and so is all that differs, twice.
        often = [both for both, count in self._changed.items() if count > _REPEATED or 1 < count == len(self._blocks)]
        self.facts += [DifferingFact("word", *both) for both in often]
        self._settle_doubts()

    def _only(self, wording: Wording, places: list[int], *, lost: bool) -> None:
        """Judge words that stand on one side only."""
        if len(places) == 1 and wording.is_mark(places[0]):
            return
        if self._says_all(wording, places) and self._telling(wording, places):
            said = _said(wording, places)
            self.facts.append(DifferingFact("word", said, "") if lost else DifferingFact("word", "", said))
            return
        begins = places[0] == 0 and facts.is_identifier(wording.word(0))
        if begins or _are_entries(wording, places):
            # A page of a reference begins with the name of what it is about, and may list all that another one does,
            # and a table may have all entries of another one, and more.
            said, kind = _said(wording, places), "name" if begins else "passage"
            self.facts.append(DifferingFact(kind, said, "") if lost else DifferingFact(kind, "", said))
            return
        if not (in_lines := _fills_sentences(wording, places)) and len(places) <= _FILLING:
            for kind, find in _FINDERS:
                if found := find(wording, places):
                    said = wording.written(found[0], found[-1] + 1)
                    self.facts.append(DifferingFact(kind, said, "") if lost else DifferingFact(kind, "", said))
                    return
            if self._telling(wording, places):
                said = _said(wording, places).casefold()
                self._changed[(said, "") if lost else ("", said)] += 1
        if lost:
            self.removed += len(places)
            if not (in_lines and len(places) == 1) or facts.names(wording, places):
                within = self._each_tells and not in_lines
                # A part of a name, as in puppet-master-passenger, makes another one.
                self._lose(places, telling=within and any(map(wording.in_compound, places)))
                lost_lines = (line for line in sentences(wording, places) if not self._stands(line))
                self.lost_facts += [_said(wording, line) for line in lost_lines]
        else:
            self.added += len(places)

    def _says_all(self, wording: Wording, places: Sequence[int]) -> bool:
        """True where each word tells what a text is of: in one of few words, and within the first line of a short one.

        A line more in front of it is none of these.
        """
        in_title = self._each_tells and places[0] < wording.title
        return self._few or (in_title and not _fills_sentences(wording, places))

    def _lose(self, places: Sequence[int], *, telling: bool = False) -> None:
        """Note what stands at some places on the left, and the numbers and names there that the right never says.

        With `telling` also other words that say more than grammar, in a text of a few hundred words also those that the
        right only says less often. A negation has to be said of the same word.
        """
        self.only_left += [_said(self.left, run) for run in _runs(places)]
        here, there = self.left.hashes, self.right.hashes
        negations = facts.negations(self.left, places)
        least = dict.fromkeys((*facts.numbers(self.left, places), *facts.names(self.left, places)), 1)
        for place in _without([*places], negations) if telling else ():
            if tells(self.left, place) and self.left.folded(place) not in JOINING:
                least[place] = int(np.count_nonzero(here == here[place])) if self._each_tells else 1
        for place, times in least.items():
            if np.count_nonzero(there == here[place]) < times:
                self.lost_facts.append(self.left.word(place))
        for place in negations:
            if not self._stands(range(place, min(place + 2, len(self.left)))):
                self.lost_facts.append(self.left.written(place, min(place + 3, len(self.left))))

    def _stands(self, places: Sequence[int]) -> bool:
        """True if the right says these words of the left somewhere, one behind the other."""
        here, there = self.left.hashes[list(places)], self.right.hashes
        starts = np.flatnonzero(there[: max(0, there.size - here.size + 1)] == here[0])
        return any(np.array_equal(there[start : start + here.size], here) for start in starts.tolist())

    def _replaced(self, ours: list[int], theirs: list[int]) -> None:
        """Judge words that stand for others."""
        left, right = self.left, self.right
        ours, theirs = _without_marks(left, ours, right, theirs)
        if not ours or not theirs:
            self._put_otherwise(ours, theirs)
            return
        one, other = _folded(left, ours), _folded(right, theirs)
        if one == other:
            self._signs(ours, theirs)
            return
        joined, joined_other = "".join(one), "".join(other)
        if ("_" in joined or "_" in joined_other) and _emphasised(one) == _emphasised(other):
            return
        if joined == joined_other and facts.digits(" ".join(one)) == facts.digits(" ".join(other)):
            return
        if self._is_passage(ours, theirs):
            return
        ours, theirs = self._without_misread(ours, theirs)
        numbers, others = facts.numbers(left, ours), facts.numbers(right, theirs)
        if ours and theirs and not self._differ(numbers, others, ours, theirs):
            self._put_otherwise(_without(ours, numbers), _without(theirs, others))

    def _is_passage(self, ours: list[int], theirs: list[int]) -> bool:
        """Judge many words that stand beside few; False where they are no more than a few times as many."""
        short, long = min(len(ours), len(theirs)), max(len(ours), len(theirs))
        if long < _PASSAGE or short > long / _LOPSIDED:
            return False
        left, right = self.left, self.right
        gone, new = facts.without_common(left, ours, right, theirs)
        few, wording = (gone, left) if len(ours) == short else (new, right)
        if self._telling(wording, few) or facts.numbers(wording, few) or facts.negations(wording, few):
            self.facts.append(DifferingFact("passage", _said(left, ours), _said(right, theirs)))
        elif len(ours) == short:
            self._only(right, new, lost=False)
        else:
            self._only(left, gone, lost=True)
        return True

    def _signs(self, ours: list[int], theirs: list[int]) -> None:
        """Judge equal words of which the signs differ."""
        left, right = self.left, self.right
        for place, there in zip(ours, theirs, strict=True):
            mine, yours = left.signs(place), right.signs(there)
            if left.values[place] == right.values[there] or mine == yours:
                continue
            if left.suffix(place) != right.suffix(there):
                said = left.word(place) + left.suffix(place), right.word(there) + right.suffix(there)
                self.facts.append(DifferingFact("name", *said))
            elif facts.is_negation(left, place) != facts.is_negation(right, there):
                self.facts.append(DifferingFact("negation", mine + left.word(place), yours + right.word(there)))
            elif left.measures(place) != right.measures(there):
                self.facts += facts.number_difference(left, [place], right, [there])
            elif mine and yours and not {*mine} & {*yours}:
                self.facts.append(DifferingFact("sign", mine, yours))

    def _differ(self, numbers: list[int], others: list[int], ours: list[int], theirs: list[int]) -> bool:
        """Note numbers and negations that differ between two stretches; whether there are any."""
        left, right = self.left, self.right
        before = len(self.facts)
        one, other = facts.without_common(left, numbers, right, others)
        if one or other:
            self.facts += facts.number_difference(left, one, right, other)
        elif [left.values[place] for place in numbers] != [right.values[place] for place in others]:
            self.facts.append(DifferingFact("order of numbers", _said(left, numbers), _said(right, others)))
        elif self._few and are_in_another_order(self._telling(left, ours), self._telling(right, theirs)):
            self.facts.append(DifferingFact("order of words", _said(left, ours), _said(right, theirs)))
        no, yes = facts.negations(left, ours), facts.negations(right, theirs)
        if len(no) != len(yes):
            self.facts.append(DifferingFact("negation", _said(left, ours), _said(right, theirs)))
        return len(self.facts) > before

    def _put_otherwise(self, ours: list[int], theirs: list[int]) -> None:
        """Judge words without numbers that stand for others, and are not misread."""
        left, right = self.left, self.right
        if not ours or not theirs:
            self._only(*((left, ours) if ours else (right, theirs)), lost=bool(ours)) if ours or theirs else None
            return
        one, other = facts.without_common(left, facts.names(left, ours), right, facts.names(right, theirs))
        if one or other:
            both = (_said(left, one or ours), _said(right, other or theirs))
            self.facts.append(DifferingFact("name", *both))
            return
        told, retold = self._telling(left, ours), self._telling(right, theirs)
        says_all = self._says_all(left, ours) or self._says_all(right, theirs)
        if says_all and not are_inflected(told, retold):
            self.facts.append(DifferingFact("word", _said(left, ours), _said(right, theirs)))
            return
        short = max(len(ours), len(theirs)) <= _FILLING
        if other_words := bool(told and retold and not are_inflected(told, retold)):
            stays = len({*told} & {*retold}) / min(len({*told}), len({*retold}))
            few = max(len(told), len(retold)) <= _FILLING
            ordinary = few and self._are_common(left, ours) and self._are_common(right, theirs)
            if not ordinary and (short or stays < _STAYS):
                self.facts.append(
                    DifferingFact("word" if short else "passage", _said(left, ours), _said(right, theirs))
                )
                return
        if other_words and short:
            self._changed[_said(left, ours).casefold(), _said(right, theirs).casefold()] += 1
        self.reworded = True
        new, gone = facts.without_common(right, theirs, left, ours)
        self.added += len(new)
        self.removed += len(gone)
        # Granted stands for denied as often as since for because, and a package of documentation for one of headers.
        self._lose(gone, telling=other_words and (short or self._each_tells))

    def _telling(self, wording: Wording, places: Sequence[int]) -> list[str]:
        """The words, in folded case, that say more than grammar, in a text of few words also how much and how far."""
        few = self._few
        return [
            wording.folded(place) + wording.suffix(place)
            for place in places
            if tells(wording, place) or (few and qualifies(wording, place))
        ]

    def _are_common(self, wording: Wording, places: Sequence[int]) -> bool:
        lexicon = self._lexicon
        if lexicon is None or any(map(wording.in_compound, places)):
            return False
        return all(lexicon.is_common(int(wording.hashes[place])) for place in places)

    def _without_misread(self, ours: list[int], theirs: list[int]) -> tuple[list[int], list[int]]:
        """The words without those that look like a misread or mistyped other one, which are noted."""
        if len(ours) != len(theirs):
            if max(len(ours), len(theirs)) > _FILLING or not self._are_joined(ours, theirs):
                return ours, theirs
            self._clear.append((ours[0], theirs[0]))
            self._unknown_left += len(ours) > len(theirs)
            self._unknown_right += len(ours) < len(theirs)
            return [], []
        of_kind = {"clear": self._clear, "doubtful": self._doubtful, "name": self._doubtful_names}
        others, differ = list[WordPair](), False
        for pair in zip(ours, theirs, strict=True):
            kind = self._doubt(*pair)
            if kind in of_kind:
                of_kind[kind].append(pair)
            else:
                others.append(pair)
                differ = differ or kind == "other"
        return ([place for place, _ in others], [place for _, place in others]) if differ else ([], [])

    def _are_joined(self, ours: Sequence[int], theirs: Sequence[int]) -> bool:
        """True if words of which one side has more are the same but for a lost space and a letter."""
        one, other = _folded(self.left, ours), _folded(self.right, theirs)
        # No space is read as an underscore: a_b.h is another file than a-b.h.
        if any("_" in word.strip("_") for word in (*one, *other)):
            return False
        joined, joined_other = "".join(one), "".join(other)
        if not alike(joined, joined_other) or distance_as_read(joined, joined_other) > 1:
            return False
        if self._few and not is_mistyped(joined, joined_other):
            return False
        known = [
            *(self._knows(self.left, place, word) for place, word in zip(ours, one, strict=True)),
            *(self._knows(self.right, place, word) for place, word in zip(theirs, other, strict=True)),
        ]
        return not all(known)

    def _doubt(self, place: int, there: int) -> Literal["equal", "clear", "doubtful", "name", "other"]:
        """The certainty that one of two words is the other one misread; "other" where it isn't."""
        left, right = self.left, self.right
        if left.values[place] == right.values[there]:
            return "equal"
        mine, yours = left.folded(place), right.folded(there)
        longest, grammar = max(len(mine), len(yours)), mine in _GRAMMAR or yours in _GRAMMAR
        if have_same_stem(mine, yours) or not alike(mine, yours) or negates(mine, yours):
            return "other"
        doubtless = is_mistyped(mine, yours) and is_plain(left, place) and is_plain(right, there)
        if not doubtless if self._few else longest <= _FILLING and not grammar:
            return "other"
        knows = self._knows(left, place, mine), self._knows(right, there, yours)
        unit = longest <= _LONGEST_UNIT and place and facts.has_digit(left.word(place - 1))
        named = is_named(left, place) or is_named(right, there)
        known, at, unknown, odd = (left, place, right, there) if knows[0] else (right, there, left, place)
        often = np.count_nonzero(unknown.hashes == unknown.hashes[odd])
        sure = grammar or (not named and self._reads(known, at)) or self._are_common(known, [at])
        if all(knows) or unit or (often > _REPEATED and not sure and not look_alike(mine, yours)):
            return "other"
        if any(knows) and (sure or (often == 1 and (not named or self._stays(known.hashes[at])))):
            self._unknown_left += not knows[0]
            self._unknown_right += not knows[1]
            return "clear"
        return "name" if named else "doubtful"

    def _reads(self, wording: Wording, place: int) -> bool:
        """True for a word that other documents of the collection have too."""
        return self._lexicon is not None and self._lexicon.knows(int(wording.hashes[place]))

    @cached_property
    def _equal(self) -> Hashes:
        return equal_words(self.left, self._blocks)

    def _stays(self, word: np.uint64) -> bool:
        """True if a word is equal in both texts and in place, by its hash."""
        return bool(np.count_nonzero(self._equal == word))

    def _knows(self, wording: Wording, place: int, word: str) -> bool:
        grammar = word in _GRAMMAR or word in NUMERALS
        return grammar or self._reads(wording, place) or self._stays(wording.hashes[place])

    def _settle_doubts(self) -> None:
        """Take doubtful words for misread ones in texts that are full of these, else for facts."""
        if not (self._clear or self._doubtful or self._doubtful_names):
            return
        self._clear = list(self._without_names(self._clear))
        clear, often = len(self._clear), Counter(map(self._pair_of, (*self._doubtful, *self._doubtful_names)))
        sure = list(self._clear)
        for pairs, share, kind in (
            (self._doubtful, _DOUBTFUL, "word"),
            (self._doubtful_names, _DOUBTFUL_NAMES, "name"),
        ):
            enough = len(pairs) <= share * clear
            for pair in pairs:
                again = kind == "word" and look_alike(self.left.folded(pair[0]), self.right.folded(pair[1]))
                if enough and often[self._pair_of(pair)] <= 1 + again * (clear // _AGAIN):
                    sure.append(pair)
                else:
                    self.facts.append(DifferingFact(kind, self.left.word(pair[0]), self.right.word(pair[1])))
        self.misread = [(self.left.word(place), self.right.word(there)) for place, there in sorted(sure)]

    def _without_names(self, misread: list[WordPair]) -> Iterator[WordPair]:
        """Those of misread words that are not, again and again, more than all others: dir is then no misread vdir."""
        often = Counter(map(self._pair_of, misread))
        for pair in misread:
            here, there = self.left.folded(pair[0]), self.right.folded(pair[1])
            count = often[self._pair_of(pair)]
            if count < _REPEATED or 2 * count <= len(misread) or here in _GRAMMAR or there in _GRAMMAR:
                yield pair
            else:
                self.facts.append(DifferingFact("word", self.left.word(pair[0]), self.right.word(pair[1])))

    def _pair_of(self, pair: WordPair) -> WordPair:
        return int(self.left.hashes[pair[0]]), int(self.right.hashes[pair[1]])


def _folded(wording: Wording, places: Sequence[int]) -> list[str]:
    return [wording.folded(place) for place in places]


def _emphasised(words: Sequence[str]) -> list[str]:
    """The words without the mark of emphasis, "_so_", on both sides of each."""
    return [
        word[1:-1] if len(word) > 2 and word[0] == word[-1] == "_" and word[1:-1].isalpha() else word for word in words
    ]


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Places of words in runs of those that follow each other."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _said(wording: Wording, places: Sequence[int]) -> str:
    return wording.written(places[0], places[-1] + 1) if places else ""


def _without(places: list[int], others: list[int]) -> list[int]:
    return [place for place in places if place not in others] if others else places


def _are_entries(wording: Wording, places: Sequence[int]) -> bool:
    """True if half of the words or more are numbers or names in code, or each line begins with one: a table."""
    starts = [place for place in places if "\n" in wording.before(place)] or places[:1]
    if all(_begins_entry(wording.word(place)) for place in starts) and _fills_sentences(wording, places):
        return True
    whole = [wording.word(place) for place in places if not wording.joins(place)]
    return len(places) > _FILLING and 2 * sum(map(facts.is_entry, whole)) >= len(whole)


def _begins_entry(word: str) -> bool:
    # A shorter number is that of an item in a list.
    return (facts.has_digit(word) and len(word) > _FILLING - 1) or "_" in word.strip("_")


def _without_marks(left: Wording, ours: list[int], right: Wording, theirs: list[int]) -> tuple[list[int], list[int]]:
    """The places without marks of lists, where one side has none of these."""
    one, other = [place for place in ours if left.is_mark(place)], [place for place in theirs if right.is_mark(place)]
    return (ours, theirs) if one and other else (_without(ours, one), _without(theirs, other))


def _fills_sentences(wording: Wording, places: Sequence[int]) -> bool:
    """True if the words are whole lines or sentences, also where equal words let them begin a little earlier."""
    first, last = places[0], places[-1] + 1
    for _ in range(len(places)):
        if wording.opens(first) and wording.opens(last):
            return True
        if not first or wording.values[first - 1] != wording.values[last - 1]:
            break
        first, last = first - 1, last - 1
    return False
