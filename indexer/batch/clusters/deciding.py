"""Decide on documents of clusters by their texts, in one process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, column_of, numbers_of
from indexer.batch.clusters.judging import NearDocuments, in_blocks, lexicon_of
from indexer.batch.clusters.rereading import compared_texts, near_in_file
from indexer.batch.clusters.spilling import SpillFiles, numbers_in, table_of
from indexer.batch.clusters.writing import FoundClusters
from indexer.batch.reading import Sketched
from indexer.batch.texts import BatchTexts
from indexer.clustering.relations import Permitted
from indexer.matching.rule import MatchRule
from indexer.model.chunking import chunks_by_size
from indexer.relations.lexicon import Hashes, Lexicon, known_words
from indexer.schemes.base import Positions

# Files of clusters whose verdicts are held at once are one of so many parts.
_PARTS = 64
_WORDS_AT_ONCE, _ROWS_AT_ONCE = 1 << 22, 1 << 18


class Decided:
    """The verdicts on documents that repeat another one, by file; `seconds` is the time for reading texts.

    Memory: the sketches, the id and 100 bytes of each document near others, and the verdicts of some files.
    """

    def __init__(
        self,
        sketched: Sketched,
        found: FoundClusters,
        rule: MatchRule,
        permitted: Permitted,
        spill: Path,
        jobs: int,
    ) -> None:
        self._sketched, self._last = sketched, len(sketched.files)
        dealt, begin = SpillFiles(spill, "verdicts"), time.monotonic()
        with NearDocuments(rule, spill) as given:
            for batch in _read(sketched, found, rule, jobs):
                given.add(batch)
            self.seconds, near = time.monotonic() - begin, given.ready()
            verdicts = near.verdicts(permitted, _lexicon(near.words(), spill))
            for some in chunks_by_size(verdicts, _ROWS_AT_ONCE, lambda batch: int(batch.num_rows), _ROWS_AT_ONCE):
                self._deal(arrow.Table.from_batches(some), dealt)
        self._parts = dealt.read()
        self._known: tuple[int, Any] = -1, None

    def _deal(self, verdicts: Any, dealt: SpillFiles) -> None:
        part = self._part(self._files_of(numbers_of(verdicts["owner"].combine_chunks())))
        for number in np.unique(part).tolist():
            dealt.add(number, verdicts.filter(column_of(part == number)))

    def of(self, number: int) -> Any:
        wanted = int(self._part(np.array([number]))[0])
        while self._known[0] < wanted:
            self._known = next(self._parts, (_PARTS, None))
        part, table = self._known
        if part != wanted:
            return None
        owners = numbers_of(table["owner"].combine_chunks())
        inside = np.flatnonzero(self._files_of(owners) == number)
        return table.take(column_of(inside[np.argsort(owners[inside])])).combine_chunks()

    def _files_of(self, places: Positions) -> Positions:
        return np.asarray(np.searchsorted(self._sketched.offsets, places, side="right") - 1, dtype=np.int64)

    def _part(self, files: Positions) -> Positions:
        return files * min(_PARTS, self._last) // self._last


def _read(sketched: Sketched, found: FoundClusters, rule: MatchRule, jobs: int) -> Iterator[Any]:
    owners = np.arange(len(sketched))
    judged, read = compared_texts(owners, found.stand_in, found.identical)
    with BatchTexts(jobs) as reader:
        for number, path in enumerate(sketched.files):
            first, end = sketched.offsets[number : number + 2].tolist()
            inside = first + np.flatnonzero(judged[first:end])
            if inside.size:
                described = _described(found, inside, first, stays=number < sketched.older)
                yield from near_in_file(path, described, read[inside], rule, reader)


def _described(found: FoundClusters, inside: Positions, first: int, *, stays: bool) -> Any:
    arrays = {
        "place": inside - first,
        "owner": inside,
        "component": found.component[inside],
        "rank": found.ranks[inside],
        "stand_in": found.stand_in[inside],
        "similarity": found.to_kept[inside],
        "stays": np.full(inside.size, stays),
    }
    columns = {name: column_of(each) for name, each in arrays.items()}
    columns["stand_in"] = column_of(arrays["stand_in"], arrays["stand_in"] < 0)
    return arrow.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _lexicon(words: Iterable[Hashes], spill: Path) -> Lexicon:
    blocks, components = SpillFiles(spill, "words"), 0
    for count, some in in_blocks(words, _WORDS_AT_ONCE):
        components += count
        for number, inside in some:
            blocks.add(number, table_of(word=inside.view(np.int64)))
    counted = (known_words(numbers_in(table, "word")[0].view(np.uint64)) for _, table in blocks.read())
    return lexicon_of(counted, components)
