"""Relations of documents to their kept neighbours, by their texts read again, and the decision to remove them.

One machine spills texts to a file, tasks of Spark get them from others. Both judge them here, with the same result.
"""

from __future__ import annotations

import json
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import (
    arrow,
    column_of,
    column_of_strings,
    compute,
    flags_of,
    numbers_of,
    parquet,
    plain,
    present_in,
    schema_of,
)
from indexer.batch.clusters.describing import TOLD_BY, beside_texts
from indexer.batch.clusters.grouping import payloads_of
from indexer.batch.clusters.spilling import OwnerRows, SpillFiles, table_of
from indexer.batch.form import column_name
from indexer.batch.reading import Sketched
from indexer.batch.texts import Workers, read_texts, text_workers
from indexer.clustering.verdicts import Permitted, Relations, Verdict, verdicts_of
from indexer.core.sketches import sorted_distinct
from indexer.core.text import DIGEST_BYTES
from indexer.errors import ExtractionError
from indexer.matching.measures.tables import Comparer
from indexer.matching.relating import BesideTexts, PartsBeside, RelatedTexts, told_by
from indexer.matching.rule import MatchRule
from indexer.model import SIMHASH_DOC
from indexer.model.chunking import chunks, chunks_by_size
from indexer.model.mails import may_be_one_mail
from indexer.model.ragged import Ragged
from indexer.relations.beside import NOTHING_BESIDE, differing, title_hashes
from indexer.relations.facts import DifferingFact
from indexer.relations.lexicon import Hashes, Lexicon, known_words, shared_words
from indexer.schemes.base import Positions
from indexer.text.words import words_of

NEAR = schema_of(
    "owner int64, id string, component int64, rank int64, stand_in int64, similarity double, stays bool, mail string, "
    "title string, format string, digest binary, text binary, unread string"
)
"""Documents that repeat another one, their `stand_in`, and those that are one, with no `stand_in` (null).

`rank` is their order in a `component`; one that `stays` was kept by an older batch, and `mail` is the head of one that
is a mail, in JSON. `title` is empty for mails, and if it is the name of a file. `digest` has all three. `text` is
compressed, null where none is needed or none could be read: `unread` then says why. The sketches of the rule follow.
"""
VERDICTS = schema_of(
    "owner int64, id string, keep bool, duplicate_of string, duplicate_similarity double, relation string, "
    "evidence string, lost int64, stays_for string"
)
"""The decisions on documents that repeat another one, in columns of files of clusters."""
_TEXT = NEAR.get_field_index("text")
# Where the digits of the first digest end, and those of the last begin.
_TEXT_DIGEST, _BESIDE_DIGEST = 2 * DIGEST_BYTES, 4 * DIGEST_BYTES
# It is not read again with the texts.
_BESIDE = DifferingFact("what was read beside the text", "", "")
_VERDICTS_AT_ONCE = 1 << 14


def near_schema(rule: MatchRule) -> Any:
    kinds = {name: arrow.int64() if name == SIMHASH_DOC else arrow.binary() for name in rule.schemes}
    return arrow.schema([*NEAR, *((column_name(name), kind) for name, kind in kinds.items())])


def near_rows(documents: Any, texts: Sequence[str | ExtractionError | None], rule: MatchRule) -> Any:
    """Documents in NEAR, by a batch with its other columns and TOLD_BY, and the text of each, or why there is none."""
    packed = [zlib.compress(_encoded(text), 1) if isinstance(text, str) else None for text in texts]
    why = [plain(text.detail or text.reason) if isinstance(text, ExtractionError) else None for text in texts]
    columns = dict(zip(documents.schema.names, documents.columns, strict=True)) | beside_texts(documents)
    columns |= {"text": arrow.array(packed, arrow.binary()), "unread": column_of_strings(why)}
    schema = near_schema(rule)
    return arrow.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def lexicon_of(counted: Iterable[tuple[Hashes, npt.NDArray[np.int64]]], components: int) -> Lexicon:
    blocks = [(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)), *counted]
    words, counts = (np.concatenate(each) for each in zip(*blocks, strict=True))
    return Lexicon.of(words, counts, components)


@contextmanager
def near_documents(batches: Iterable[Any], rule: MatchRule, folder: Path | None = None) -> Iterator[NearDocuments]:
    """Documents in NEAR; their texts wait in a file of `folder`."""
    rows, ends = list[Any](), [0]
    with tempfile.TemporaryFile(dir=folder) as file:
        for batch in batches:
            texts = batch["text"].to_pylist()
            file.writelines(filter(None, texts))
            ends += (ends[-1] + np.cumsum([len(text or b"") for text in texts])).tolist()
            rows.append(batch.select([name for name in batch.schema.names if name != "text"]))
        table = arrow.Table.from_batches(rows, schema=near_schema(rule).remove(_TEXT))
        yield NearDocuments(rule, table.combine_chunks(), np.array(ends, dtype=np.int64), file)


class NearDocuments:
    """Documents that repeat others, with the sketches of a rule.

    Memory: their sketches, ids and 100 bytes of each, and that of `Relations`.
    """

    def __init__(self, rule: MatchRule, table: Any, ends: Positions, file: IO[bytes]) -> None:
        self._table, self._ends, self._file = table, ends, file
        self._owners, self._together = self._numbers("owner"), self._numbers("component")
        self._of = self._stand_ins()
        self._comparison = Comparer(
            rule, {name: Ragged.joined([payloads_of(one, name) for one in table.to_batches()]) for name in rule.schemes}
        )

    def _numbers(self, name: str) -> npt.NDArray[Any]:
        return numbers_of(self._table[name])

    def _stand_ins(self) -> Positions:
        order = np.argsort(self._owners, kind="stable")
        of, wanted = np.arange(self._owners.size), self._numbers("stand_in")
        asking = np.flatnonzero(present_in(self._table["stand_in"]))
        of[asking] = order[np.searchsorted(self._owners, wanted[asking], sorter=order)]
        return of

    def _text(self, place: int) -> str | ExtractionError:
        start, end = int(self._ends[place]), int(self._ends[place + 1])
        if start == end:
            return ExtractionError("unreadable", self._table["unread"][place].as_py() or "it was not read")
        self._file.seek(start)
        return zlib.decompress(self._file.read(end - start)).decode("utf-8", "surrogatepass")

    def words(self) -> Iterator[Hashes]:
        there = np.flatnonzero(np.diff(self._ends) > 0)
        there = there[np.argsort(self._together[there], kind="stable")]
        bounds = np.flatnonzero(np.diff(self._together[there])) + 1
        for component in np.split(there, bounds) if there.size else ():
            texts = (self._text(place) for place in component.tolist())
            words = shared_words(words_of(text).hashes for text in texts if isinstance(text, str))
            titles = [title_hashes(self._table["title"][place].as_py() or "") for place in component.tolist()]
            yield sorted_distinct(np.concatenate([words, *titles]))

    def verdicts(self, permitted: Permitted, lexicon: Lexicon) -> Iterator[Any]:
        if not self._owners.size:
            return
        digests = [each.hex() if each else "" for each in self._table["digest"].to_pylist()]
        stays, ids = flags_of(self._table["stays"]), self._table["id"]
        mails = [json.loads(each or "{}") for each in self._table["mail"].to_pylist()]
        titles, formats = ([each or "" for each in self._table[name].to_pylist()] for name in ("title", "format"))

        def beside(one: int, other: int, _: PartsBeside) -> tuple[DifferingFact, ...]:
            if not may_be_one_mail(mails[one], mails[other]):
                return differing(mails[one], mails[other])
            left, right = digests[one][_BESIDE_DIGEST:], digests[other][_BESIDE_DIGEST:]
            if bool(mails[one]) != bool(mails[other]) and NOTHING_BESIDE in (left, right):
                # The subject of a mail says nothing beside a document that is none.
                return ()
            return () if left == right else (_BESIDE,)

        texts = RelatedTexts(
            lambda places: ((place, self._text(place)) for place in places),
            key=int,
            name=lambda place: str(ids[place].as_py()),
            digest=lambda place: digests[place][:_BESIDE_DIGEST],
            lexicon=lexicon,
            beside=BesideTexts(
                lambda place: titles[place],
                beside,
                lambda place: formats[place],
                lambda place: told_by(digests[place][:_TEXT_DIGEST], digests[place][_BESIDE_DIGEST:]),
            ),
        )
        found = verdicts_of(
            Relations(permitted, texts, lambda place: bool(mails[place])),
            self._of, self._numbers("rank"), self._together,
            lambda one, other: self._similarity(one, other) >= 0, lambda place: not stays[place],
        )  # fmt: skip
        for some in chunks(found, _VERDICTS_AT_ONCE):
            yield self._rows(some)

    def _similarity(self, one: int, other: int) -> float:
        return float(self._comparison.judged(np.array([one]), np.array([other]))[0])

    def _rows(self, found: Sequence[tuple[int, Verdict[int]]]) -> Any:
        places = np.array([place for place, _ in found], dtype=np.int64)
        verdicts = [verdict for _, verdict in found]
        goes = np.array([verdict.reason is None for verdict in verdicts], dtype=np.bool_)
        near, ids = self._numbers("similarity"), self._table["id"]
        similarity = [
            near[place] if self._of[place] == verdict.repeats else round(self._similarity(place, verdict.repeats), 4)
            for place, verdict in found
        ]
        lost = [verdict.relation.lost if verdict.relation else 0 for verdict in verdicts]
        return arrow.RecordBatch.from_arrays(
            [
                column_of(self._owners[places]),
                ids.combine_chunks().take(column_of(places)),
                column_of(~goes),
                column_of_strings([None if each.reason else ids[each.repeats].as_py() for each in verdicts]),
                column_of(np.array(similarity, dtype=np.float64), ~goes),
                column_of_strings([verdict.relation.word if verdict.relation else None for verdict in verdicts]),
                column_of_strings([_evidence(verdict) for verdict in verdicts]),
                column_of(np.array(lost, dtype=np.int64), ~goes),
                column_of_strings([verdict.reason.kind if verdict.reason else None for verdict in verdicts]),
            ],
            schema=VERDICTS,
        )


def _evidence(verdict: Verdict[int]) -> str | None:
    if verdict.relation is None:
        return plain(verdict.reason.sentence) if verdict.reason else None
    return plain(verdict.relation.evidence) or None


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
        for number in range(len(sketched.files)):
            first, end = sketched.offsets[number : number + 2].tolist()
            starts = range(first, end, _OWNERS_AT_ONCE)
            parts = (found.between(start, min(end, start + _OWNERS_AT_ONCE)) for start in starts)
            if rows := [part.filter(part["is_read"].is_valid()).select(_FOUND) for part in parts]:
                yield from near_in_file(sketched, number, arrow.concat_tables(rows), rule, workers)

    verdicts, begin = OwnerRows(spill, "verdicts", VERDICTS, len(sketched)), time.monotonic()
    with text_workers(jobs, sketched.form.options) as workers, near_documents(near(), rule, spill) as given:
        seconds = time.monotonic() - begin
        blocks, components = SpillFiles(spill, "words"), 0
        for some in chunks_by_size(given.words(), _WORDS_AT_ONCE, len, _WORDS_AT_ONCE):
            components += len(some)
            words = np.concatenate(some)
            blocks.deal(table_of(word=words.view(np.int64)), (words >> np.uint64(58)).astype(np.int64))
        counted = (known_words(numbers_of(table["word"]).view(np.uint64)) for _, table in blocks.read())
        for batch in given.verdicts(permitted, lexicon_of(counted, components)):
            verdicts.add(batch)
    return verdicts, seconds


def near_in_file(sketched: Sketched, number: int, rows: Any, rule: MatchRule, workers: Workers) -> Iterator[Any]:
    """The documents of a file that are decided on, in NEAR, by their rows of FOUND."""
    if not rows.num_rows:
        return
    path = sketched.files[number]
    places, asked = numbers_of(rows["owner"]) - sketched.offsets[number], flags_of(rows["is_read"])
    known = parquet.read_table(path, columns=["id", *TOLD_BY, *map(column_name, rule.schemes)]).take(column_of(places))
    beside = {name: rows[name] for name in ("owner", "component", "rank", "stand_in")} | {
        "similarity": compute.coalesce(rows["near_similarity"], 0.0),
        "stays": column_of(np.full(places.size, number < sketched.older)),
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
