"""Decide on documents of clusters by their texts, read again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, column_of, compute, flags_of, numbers_of, parquet, scalar
from indexer.batch.clusters.describing import TOLD_BY
from indexer.batch.clusters.judging import VERDICTS, in_blocks, lexicon_of, near_documents, near_rows
from indexer.batch.clusters.spilling import OwnerRows, SpillFiles, numbers_in, table_of
from indexer.batch.form import column_name
from indexer.batch.reading import Sketched
from indexer.batch.texts import Workers, read_texts, text_workers
from indexer.clustering.verdicts import Permitted
from indexer.matching.rule import MatchRule
from indexer.model.chunking import chunks_by_size
from indexer.relations.lexicon import known_words

_WORDS_AT_ONCE, _OWNERS_AT_ONCE = 1 << 22, 1 << 20
# The columns of FOUND that are needed for it.
_FOUND = ["owner", "component", "rank", "stand_in", "near_similarity", "is_read"]
_ROWS, _CHARACTERS = 1 << 14, 1 << 23


def decided(
    sketched: Sketched, found: OwnerRows, rule: MatchRule, permitted: Permitted, spill: Path, jobs: int
) -> tuple[OwnerRows, float]:
    """The verdicts on documents that repeat another one, and the seconds for reading texts.

    Memory: the sketches, the id and 100 bytes of each document near others, and the verdicts of some files.
    """

    def near() -> Iterator[Any]:
        for number, path in enumerate(sketched.files):
            first, end = sketched.offsets[number : number + 2].tolist()
            starts = range(first, end, _OWNERS_AT_ONCE)
            parts = (found.between(start, min(end, start + _OWNERS_AT_ONCE)) for start in starts)
            if rows := [part.filter(part["is_read"].is_valid()).select(_FOUND) for part in parts]:
                stays = number < sketched.older
                yield from near_in_file(path, arrow.concat_tables(rows), first, rule, workers, stays=stays)

    verdicts, begin = OwnerRows(spill, "verdicts", VERDICTS, len(sketched)), time.monotonic()
    with text_workers(jobs, sketched.form.options) as workers, near_documents(near(), rule, spill) as given:
        seconds = time.monotonic() - begin
        blocks, components = SpillFiles(spill, "words"), 0
        for count, some in in_blocks(given.words(), _WORDS_AT_ONCE):
            components += count
            for block, inside in some:
                blocks.add(block, table_of(word=inside.view(np.int64)))
        counted = (known_words(numbers_in(table, "word")[0].view(np.uint64)) for _, table in blocks.read())
        for batch in given.verdicts(permitted, lexicon_of(counted, components)):
            verdicts.add(batch)
    return verdicts, seconds


def near_in_file(path: Path, rows: Any, first: int, rule: MatchRule, workers: Workers, *, stays: bool) -> Iterator[Any]:
    """The documents of a file that are decided on, in NEAR, by their rows of FOUND; its first owner is `first`."""
    if not rows.num_rows:
        return
    places, asked = (numbers_of(rows["owner"].combine_chunks()) - first, flags_of(rows["is_read"].combine_chunks()))
    known = parquet.read_table(path, columns=["id", *TOLD_BY, *map(column_name, rule.schemes)]).take(column_of(places))
    beside = {name: rows[name] for name in ("owner", "component", "rank", "stand_in")} | {
        "similarity": compute.coalesce(rows["near_similarity"], scalar(0.0)),
        "stays": column_of(np.full(places.size, stays)),
    }
    for name, column in beside.items():
        known = known.append_column(name, column)
    known, read = known.combine_chunks(), column_of(places[asked])
    digests = dict(zip(read.to_pylist(), known["text_digest"].filter(column_of(asked)).to_pylist(), strict=True))
    given = read_texts(path, places[asked], digests, workers) if digests else ()
    every = chain(((place, None) for place in places[~asked].tolist()), given)
    for page in chunks_by_size(every, _ROWS, lambda pair: len(str(pair[1])), _CHARACTERS):
        at = np.searchsorted(places, [place for place, _ in page])
        [documents] = known.take(column_of(at)).combine_chunks().to_batches()
        yield near_rows(documents, [text for _, text in page], rule)
