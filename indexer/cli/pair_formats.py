"""How pairs are written: CSV, JSON lines, Parquet."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from indexer import own_files
from indexer.cli.output import printable
from indexer.errors import UsageError
from indexer.store_pairs import StorePair, batched

_PLAIN = ("id_a", "id_b", "distance", "similarity")
_PLACED = ("id_a", "index_a", "routing_a", "id_b", "index_b", "routing_b", "distance", "similarity")
_AT_ONCE = 50_000


def written(pairs: Iterable[StorePair], form: str, output: str | None, *, places: bool) -> int:
    """Write pairs to a file, or to standard output for None; how many.

    A file is there under its name only when it is complete. Raises UsageError where it can't be written, and for
    Parquet without pyarrow or on a terminal.
    """
    writer = _WRITERS[form]
    with _target(output, form) as file:
        return writer(pairs, file, _PLACED if places else _PLAIN)


@contextmanager
def _target(output: str | None, form: str) -> Iterator[Any]:
    binary = form == "parquet"
    if output is None:
        if binary and sys.stdout.isatty():
            raise UsageError("Parquet is not for a terminal; name a file with -o")
        yield sys.stdout.buffer if binary else sys.stdout
        return
    part = Path(f"{output}.{os.getpid()}.part")
    text: dict[str, Any] = {} if binary else {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}
    try:
        own_files.require_free(output)
        with part.open("wb" if binary else "w", **text) as file:
            yield file
        part.replace(output)
    except OSError as error:
        raise UsageError(f"{output}: can't be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _row(pair: StorePair, columns: tuple[str, ...]) -> tuple[Any, ...]:
    left, right = pair.left, pair.right
    if columns == _PLAIN:
        return left.id, right.id, pair.distance, pair.similarity
    return left.id, left.index, left.routing, right.id, right.index, right.routing, pair.distance, pair.similarity


def _write_csv(pairs: Iterable[StorePair], file: IO[str], columns: tuple[str, ...]) -> int:
    count = 0
    # A terminal obeys what is in a name; a file keeps it as it is.
    terminal = file.isatty()
    out = csv.writer(file, lineterminator="\n")
    out.writerow(columns)
    for pair in pairs:
        row = _row(pair, columns)
        out.writerow([printable(cell) if isinstance(cell, str) else cell for cell in row] if terminal else row)
        count += 1
    return count


def _write_jsonl(pairs: Iterable[StorePair], file: IO[str], columns: tuple[str, ...]) -> int:
    count = 0
    for pair in pairs:
        file.write(json.dumps(dict(zip(columns, _row(pair, columns), strict=True))) + "\n")
        count += 1
    return count


def _write_parquet(pairs: Iterable[StorePair], file: IO[bytes], columns: tuple[str, ...]) -> int:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow, which is not installed: pip install 'neardup[parquet]'") from None
    kinds = {"distance": pyarrow.uint8(), "similarity": pyarrow.float64()}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in columns])
    count = 0
    with pyarrow.parquet.ParquetWriter(file, schema) as out:
        for some in batched(pairs, _AT_ONCE):
            rows = [[_utf8(cell) for cell in _row(pair, columns)] for pair in some]
            out.write_batch(pyarrow.record_batch(list(map(list, zip(*rows, strict=True))), schema=schema))
            count += len(some)
    return count


def _utf8(cell: Any) -> Any:
    """Parquet's text is UTF-8, which has no lone surrogates."""
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell


_WRITERS: dict[str, Callable[[Iterable[StorePair], Any, tuple[str, ...]], int]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}
