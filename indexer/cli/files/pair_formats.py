"""Formats of pairs: CSV, JSON lines, Parquet."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from indexer import own_files
from indexer.cli.terminal.output import printable
from indexer.errors import UsageError
from indexer.matching.pairing import Pair
from indexer.matching.rule import MatchRule
from indexer.model.chunking import chunks

_PLAIN = ("id_a", "id_b")
_PLACED = ("id_a", "index_a", "routing_a", "id_b", "index_b", "routing_b")
_AT_ONCE = 50_000

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Form:
    """The columns of a pair that `rule` calls near: the ids, and with `places` indices and routing too.

    By a rule that measures by bits also how many of them differ.
    """

    rule: MatchRule
    places: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of what row() gives."""
        return (_PLACED if self.places else _PLAIN) + (("bits",) if self.rule.width else ()) + ("similarity",)

    def row(self, pair: Pair) -> tuple[Cell, ...]:
        """A pair in these columns."""
        left, right = pair.left, pair.right
        plain = (left.id, right.id)
        names = (left.id, left.index, left.routing, right.id, right.index, right.routing) if self.places else plain
        bits = (self.rule.bits(pair.similarity),) if self.rule.width else ()
        return (*names, *bits, round(pair.similarity, 6))


def written(pairs: Iterable[Pair], kind: str, output: str | None, form: Form) -> int:
    """Write pairs to a file, or to standard output for None; how many.

    A file is there under its name only when it is complete. Raises UsageError where it can't be written, and for
    Parquet without pyarrow or on a terminal.
    """
    with target_of(output, kind) as file:
        return _WRITERS[kind](pairs, file, form)


@contextmanager
def target_of(output: str | None, kind: str) -> Iterator[Any]:
    """A file to write to, of bytes for Parquet and of text for others, or standard output for None; see `written`."""
    binary = kind == "parquet"
    if output is None:
        if binary and sys.stdout.isatty():
            raise UsageError("Parquet is not for a terminal; name a file with -o")
        yield sys.stdout.buffer if binary else sys.stdout
        return
    text: dict[str, Any] = {} if binary else {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}
    try:
        with own_files.written_whole(output, "wb" if binary else "w", **text) as file:
            yield file
    except OSError as error:
        raise UsageError(f"{output}: can't be written: {error.strerror}") from error


def _write_csv(pairs: Iterable[Pair], file: IO[str], form: Form) -> int:
    count = 0
    # A terminal obeys what is in a name; a file keeps it as it is.
    terminal = file.isatty()
    out = csv.writer(file, lineterminator="\n")
    out.writerow(form.columns)
    for pair in pairs:
        row = form.row(pair)
        out.writerow([printable(cell) if isinstance(cell, str) else cell for cell in row] if terminal else row)
        count += 1
    return count


def _write_jsonl(pairs: Iterable[Pair], file: IO[str], form: Form) -> int:
    count = 0
    for pair in pairs:
        file.write(json.dumps(dict(zip(form.columns, form.row(pair), strict=True))) + "\n")
        count += 1
    return count


def _write_parquet(pairs: Iterable[Pair], file: IO[bytes], form: Form) -> int:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow, which is not installed: pip install 'neardup[parquet]'") from None
    kinds = {"bits": pyarrow.uint8(), "similarity": pyarrow.float64()}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in form.columns])
    count = 0
    with pyarrow.parquet.ParquetWriter(file, schema) as out:
        for batch in chunks(pairs, _AT_ONCE):
            rows = [[_utf8(cell) for cell in form.row(pair)] for pair in batch]
            out.write_batch(pyarrow.record_batch(list(map(list, zip(*rows, strict=True))), schema=schema))
            count += len(batch)
    return count


def _utf8(cell: Cell) -> Cell:
    """Parquet's text is UTF-8, which has no lone surrogates."""
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell


_WRITERS: dict[str, Callable[[Iterable[Pair], Any, Form], int]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}
