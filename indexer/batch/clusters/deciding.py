"""Decide on documents of clusters by their texts, read again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from indexer.batch.arrow import (
    arrow,
    column_of,
    column_of_strings,
    compute,
    flags_of,
    numbers_of,
    parquet,
    scalar,
)
from indexer.batch.clusters.describing import TOLD_BY, beside_texts
from indexer.batch.clusters.judging import VERDICTS, NearDocuments, in_blocks, lexicon_of, near_schema, packed_text
from indexer.batch.clusters.spilling import OwnerRows, SpillFiles, numbers_in, table_of
from indexer.batch.form import column_name
from indexer.batch.reading import Sketched
from indexer.batch.texts import BatchTexts
from indexer.clustering.verdicts import Permitted
from indexer.errors import ExtractionError
from indexer.matching.rule import MatchRule
from indexer.model.chunking import chunks, chunks_by_size
from indexer.relations.lexicon import known_words

_WORDS_AT_ONCE, _OWNERS_AT_ONCE = 1 << 22, 1 << 20
# The columns of FOUND that are needed for it.
_FOUND = ["owner", "component", "rank", "stand_in", "near_similarity", "is_read"]
_ROWS, _AT_ONCE, _CHARACTERS = 1 << 14, 1024, 1 << 23

Text = str | ExtractionError | None


def decided(
    sketched: Sketched, found: OwnerRows, rule: MatchRule, permitted: Permitted, spill: Path, jobs: int
) -> tuple[OwnerRows, float]:
    """The verdicts on documents that repeat another one, and the seconds for reading texts.

    Memory: the sketches, the id and 100 bytes of each document near others, and the verdicts of some files.
    """
    verdicts, begin = OwnerRows(spill, "verdicts", VERDICTS, len(sketched)), time.monotonic()
    with NearDocuments(rule, spill) as given, BatchTexts(jobs) as reader:
        for number, path in enumerate(sketched.files):
            first, end = sketched.offsets[number : number + 2].tolist()
            starts = range(first, end, _OWNERS_AT_ONCE)
            parts = (found.between(start, min(end, start + _OWNERS_AT_ONCE)) for start in starts)
            rows = [part.filter(part["is_read"].is_valid()).select(_FOUND) for part in parts]
            if rows:
                stays = number < sketched.older
                for batch in near_in_file(path, arrow.concat_tables(rows), first, rule, reader, stays=stays):
                    given.add(batch)
        seconds, near = time.monotonic() - begin, given.ready()
        blocks, components = SpillFiles(spill, "words"), 0
        for count, some in in_blocks(near.words(), _WORDS_AT_ONCE):
            components += count
            for block, inside in some:
                blocks.add(block, table_of(word=inside.view(np.int64)))
        counted = (known_words(numbers_in(table, "word")[0].view(np.uint64)) for _, table in blocks.read())
        for batch in near.verdicts(permitted, lexicon_of(counted, components)):
            verdicts.add(batch)
    return verdicts, seconds


def near_in_file(
    path: Path, rows: Any, first: int, rule: MatchRule, reader: BatchTexts, *, stays: bool
) -> Iterator[Any]:
    """The documents of a file that are decided on, in NEAR, by their rows of FOUND; its first owner is `first`."""
    if not rows.num_rows:
        return
    owners, asked = (numbers_of(rows["owner"].combine_chunks()), flags_of(rows["is_read"].combine_chunks()))
    places = owners - first
    described = {
        **{name: rows[name].combine_chunks() for name in ("owner", "component", "rank", "stand_in")},
        "similarity": compute.coalesce(rows["near_similarity"].combine_chunks(), scalar(0.0)),
        "stays": column_of(np.full(owners.size, stays)),
    }
    described = arrow.RecordBatch.from_arrays(list(described.values()), names=list(described))
    known = parquet.read_table(path, columns=["id", *TOLD_BY, *map(column_name, rule.schemes)])
    known = known.take(column_of(places)).combine_chunks()
    for some in chunks(np.flatnonzero(~asked).tolist(), _ROWS):
        yield _rows(described, known, some, [None] * len(some), rule)
    read = np.flatnonzero(asked)
    digests = dict(zip(places[read].tolist(), known["text_digest"].take(column_of(read)).to_pylist(), strict=True))
    texts = reader.read(path, places[read], digests) if read.size else ()
    for page in chunks_by_size(texts, _AT_ONCE, lambda pair: len(str(pair[1])), _CHARACTERS):
        at = np.searchsorted(places, [place for place, _ in page]).tolist()
        yield _rows(described, known, at, [text for _, text in page], rule)


def _rows(described: Any, known: Any, at: Sequence[int], texts: Sequence[Text], rule: MatchRule) -> Any:
    taken = column_of(np.array(at, dtype=np.int64))
    sketches, said = known.take(taken).combine_chunks(), described.take(taken)
    columns = {name: said[name] for name in said.schema.names} | {
        name: sketches[name].combine_chunks() for name in ("id", "format")
    }
    columns |= beside_texts(sketches)
    packed = [packed_text(text) if isinstance(text, str) else None for text in texts]
    columns["text"] = arrow.array(packed, arrow.binary())
    why = [(text.detail or text.reason) if isinstance(text, ExtractionError) else None for text in texts]
    columns["unread"] = column_of_strings([each and each.encode("utf-8", "backslashreplace").decode() for each in why])
    columns |= {name: sketches[name].combine_chunks() for name in map(column_name, rule.schemes)}
    schema = near_schema(rule)
    return arrow.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
