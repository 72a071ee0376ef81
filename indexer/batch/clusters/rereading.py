"""Read the texts of documents near others again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import arrow, both_digests, column_of, column_of_strings, numbers_of, parquet
from indexer.batch.clusters.describing import HEAD_COLUMNS, mail_heads, own_titles
from indexer.batch.clusters.judging import NEAR, near_schema, packed_text
from indexer.batch.form import column_name
from indexer.batch.texts import BatchTexts
from indexer.errors import ExtractionError
from indexer.matching.rule import MatchRule
from indexer.model.chunking import chunks, chunks_by_size
from indexer.schemes.base import Positions

_READ = ("id", "mail", "title", "digest", "text", "unread")
DESCRIBED = [field.name for field in NEAR if field.name not in _READ]
"""The columns of NEAR that are known before anything is read again."""
_ROWS, _AT_ONCE, _CHARACTERS = 1 << 14, 1024, 1 << 23
Text = str | ExtractionError | None


def compared_texts(
    owners: Positions, stand_in: Positions, identical: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    repeating = stand_in >= 0
    judged = repeating | np.isin(owners, stand_in[repeating])
    differing = repeating & ~identical
    return judged, differing | np.isin(owners, stand_in[differing])


def near_in_file(
    path: Path, described: Any, read: npt.NDArray[np.bool_], rule: MatchRule, reader: BatchTexts
) -> Iterator[Any]:
    places = numbers_of(described["place"])
    known = parquet.read_table(
        path, columns=["id", *HEAD_COLUMNS, "text_digest", "read_digest", *map(column_name, rule.schemes)]
    )
    known = known.take(column_of(places)).combine_chunks()
    for some in chunks(np.flatnonzero(~read).tolist(), _ROWS):
        yield _rows(described, known, some, [None] * len(some), rule)
    asked = np.flatnonzero(read)
    digests = dict(zip(places[asked].tolist(), known["text_digest"].take(column_of(asked)).to_pylist(), strict=True))
    texts = reader.read(path, places[asked], digests) if asked.size else ()
    for page in chunks_by_size(texts, _AT_ONCE, lambda pair: len(str(pair[1])), _CHARACTERS):
        at = np.searchsorted(places, [place for place, _ in page]).tolist()
        yield _rows(described, known, at, [text for _, text in page], rule)


def _rows(described: Any, known: Any, at: Sequence[int], texts: Sequence[Text], rule: MatchRule) -> Any:
    taken = column_of(np.array(at, dtype=np.int64))
    sketches, said = known.take(taken).combine_chunks(), described.take(taken)
    columns = {name: said[name] for name in DESCRIBED}
    columns["id"] = sketches["id"].combine_chunks()
    columns |= {"mail": mail_heads(sketches), "title": own_titles(sketches)}
    columns["digest"] = both_digests(sketches["text_digest"], sketches["read_digest"])
    packed = [packed_text(text) if isinstance(text, str) else None for text in texts]
    columns["text"] = arrow.array(packed, arrow.binary())
    columns["unread"] = column_of_strings([_why(text) if isinstance(text, ExtractionError) else None for text in texts])
    columns |= {name: sketches[name].combine_chunks() for name in map(column_name, rule.schemes)}
    schema = near_schema(rule)
    return arrow.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _why(error: ExtractionError) -> str:
    return (error.detail or error.reason).encode("utf-8", "backslashreplace").decode()
