"""Documents from programs: texts, dicts, DataFrames, Arrow tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from indexer.errors import UsageError
from indexer.ingest.readers.base import MARK, ColumnNames, entry_of, value_at
from indexer.ingest.sources import Input, Rejected

_ROWS_AT_ONCE = 1000


FIELDS = ("id", "text", "html", "title")


def columns_of(fields: Mapping[str, str] | None) -> ColumnNames:
    """The names in `fields`, such as {"text": "body"}, for the id, the text (or HTML) and the title.

    Raises UsageError for other names.
    """
    named = dict(fields or {})
    if wrong := sorted(set(named) - set(FIELDS)):
        raise UsageError(f"fields: {wrong[0]!r} can't be named; id, text or html, and title can")
    if "text" in named and "html" in named:
        raise UsageError("fields: name the text or the HTML, not both")
    html = named.pop("html", "")
    return ColumnNames(named.get("text", html), named.get("id", ""), named.get("title", ""), "html" if html else "text")


def documents(given: Any, columns: ColumnNames) -> Iterator[Input | Rejected]:
    """The given documents, one at a time; an unreadable one is rejected with its number, from 1.

    Raises UsageError for anything else.
    """
    for number, one in enumerate(_each(given), 1):
        if isinstance(one, Mapping):
            yield _of_row(number, one, columns)
        elif isinstance(one, str):
            yield document("", one)
        elif isinstance(one, bytes):
            yield Input("", "", "", one)
        elif isinstance(one, tuple) and len(one) == 2:
            yield _of_row(number, {"id": one[0], "text": one[1]}, ColumnNames())
        else:
            raise UsageError(
                f"document {number}: a document is a text, the bytes of a file, a pair of id and text, or a dict with "
                f"{columns.text or 'text'!r}, not {type(one).__name__}"
            )


def document(
    identity: str, text: str, *, title: str = "", source: str = "", metadata: Mapping[str, Any] | None = None
) -> Input:
    return Input(identity, source, "", _marked(plain(text).encode()), "text", title, _about(metadata or {}))


def _marked(data: bytes) -> bytes:
    # What has zero bytes would be taken for UTF-16.
    return MARK + data if b"\0" in data else data


def _about(value: Any) -> Any:
    """A value as JSON has it. Raises UsageError for one outside JSON."""
    try:
        return plain(value)
    except RecursionError:
        raise UsageError("it is nested too deeply") from None
    except Exception as error:
        # Values of any type are asked for their text.
        raise UsageError(f"a value of it has no text: {type(error).__name__}: {error}"[:300]) from None


def plain(value: Any) -> Any:
    """A value as JSON has it; others as text, and None for NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(name): kept for name, element in value.items() if (kept := plain(element)) is not None}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(element) for element in value]
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return _whole(value) if isinstance(value, str) else value
    text = value.isoformat() if hasattr(value, "isoformat") else _whole(str(value))
    return None if text in ("NaT", "<NA>") else text


def _whole(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Halves of surrogate pairs are in no encoding.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _each(given: Any) -> Iterable[Any]:
    if isinstance(given, str | bytes):
        raise UsageError("one text is not a list of texts: put it into a list, or use add()")
    if isinstance(given, Mapping):
        return given.items()
    if hasattr(given, "itertuples") and hasattr(given, "columns"):  # pandas
        names = [str(name) for name in given.columns]
        return (dict(zip(names, row, strict=True)) for row in given.itertuples(index=False, name=None))
    if hasattr(given, "iter_slices"):  # polars
        rows: Iterable[Any] = given.iter_rows(named=True)
        return rows
    if hasattr(given, "to_pylist") and hasattr(given, "slice") and hasattr(given, "schema"):  # of Arrow
        return _rows(given)
    several = _several(given)
    if not isinstance(several, Iterable):
        raise UsageError(f"{type(given).__name__} is not a list of documents")
    return (row for one in several for row in (_each(one) if hasattr(one, "schema") else (one,)))


def _several(given: Any) -> Any:
    if hasattr(given, "collect") and hasattr(given, "lazy"):  # polars, before anything is computed
        if not hasattr(given, "collect_batches"):
            raise UsageError("a lazy frame has no rows yet: give what its collect() gives")
        return given.collect_batches()
    if hasattr(given, "to_batches"):  # a data set of Arrow
        return given.to_batches()
    if hasattr(given, "__arrow_c_stream__") and hasattr(given, "columns"):  # a relation of DuckDB, among others
        try:
            from pyarrow import RecordBatchReader
        except ImportError as error:
            raise UsageError(f"a {type(given).__name__} takes pyarrow: pip install 'neardup[parquet]'") from error
        return RecordBatchReader.from_stream(given)
    return given


def _rows(batch: Any) -> Iterator[Any]:
    for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
        yield from batch.slice(start, _ROWS_AT_ONCE).to_pylist()


def _of_row(number: int, given: Mapping[str, Any], columns: ColumnNames) -> Input | Rejected:
    known = value_at(given, columns.id or "id")
    try:
        entry = entry_of(number, _about(given), columns)
    except (ValueError, UsageError) as error:
        is_short = isinstance(known, int) and abs(known) < 1 << 64
        name = str(known) if (isinstance(known, str) and known) or is_short else f"document {number}"
        return Rejected(name, name, "malformed", str(error))
    about = (entry.format, entry.title, entry.metadata, entry.again)
    # As it was given: what JSON can't have is another id all the same.
    return Input(
        known if isinstance(known, str) else entry.id, entry.url, "", _marked(entry.data), *about, field=entry.field
    )
