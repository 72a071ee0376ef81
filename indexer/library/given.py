"""Documents as programs have them: texts, pairs, dicts, DataFrames and Arrow tables, as one stream of inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from indexer.errors import UsageError
from indexer.extract.base import Format
from indexer.ingest.sources import Input, Rejected

_ROWS_AT_ONCE = 1000
# As in a browser, a byte order mark outdoes whatever encoding HTML declares: the text has been decoded already.
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Fields:
    """What the members or columns of a document are called: its id, text, HTML, title, and source (a path or URL).

    All others are its metadata.
    """

    id: str = "id"
    text: str = "text"
    html: str = "html"
    title: str = "title"
    source: str = "source"


def documents(given: Any, named: Fields) -> Iterator[Input | Rejected]:
    """The documents of whatever was given, one at a time; one that can't be read is rejected with its number, from 1.

    Raises UsageError for what is no documents at all.
    """
    for number, one in enumerate(_each(given), 1):
        if isinstance(one, Mapping):
            yield _of_mapping(number, one, named)
        elif isinstance(one, str):
            yield document("", one)
        elif isinstance(one, tuple) and len(one) == 2:
            yield _of_mapping(number, {named.id: one[0], named.text: one[1]}, named)
        else:
            raise UsageError(
                f"document {number}: a document is a text, a pair of id and text, or a dict with {named.text!r}, not "
                f"{type(one).__name__}"
            )


def document(
    identity: str, text: str, *, title: str = "", source: str = "", metadata: Mapping[str, Any] | None = None,
    form: Format = "text",
) -> Input:  # fmt: skip
    """One document; without an id it is named by its content."""
    data = _encoded(text)
    if form == "html" or b"\0" in data:
        data = _MARK + data
    return Input(identity, source, "", data, form, title, plain(metadata or {}))


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has not, as text, and None for what is no number."""
    if isinstance(value, Mapping):
        return {str(name): kept for name, each in value.items() if (kept := plain(each)) is not None}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return None if text in ("NaT", "<NA>") else text


def _each(given: Any) -> Iterable[Any]:
    """What was given, one by one: the rows of tables as dicts."""
    if isinstance(given, str | bytes):
        raise UsageError("one text is no list of texts: put it into a list, or use add()")
    if isinstance(given, Mapping):
        return given.items()
    if hasattr(given, "itertuples") and hasattr(given, "columns"):  # pandas
        names = [str(name) for name in given.columns]
        return (dict(zip(names, row, strict=True)) for row in given.itertuples(index=False, name=None))
    if hasattr(given, "iter_rows"):  # polars
        rows: Iterable[Any] = given.iter_rows(named=True)
        return rows
    if hasattr(given, "to_batches"):  # an Arrow table or data set
        return (row for batch in given.to_batches() for row in _rows(batch))
    if hasattr(given, "to_pylist") and hasattr(given, "schema"):  # a batch
        return _rows(given)
    if not isinstance(given, Iterable):
        raise UsageError(f"{type(given).__name__} is no list of documents")
    # The reader of a file or stream gives batches.
    return (row for one in given for row in (_rows(one) if hasattr(one, "schema") else (one,)))


def _rows(batch: Any) -> Iterator[Any]:
    for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
        yield from batch.slice(start, _ROWS_AT_ONCE).to_pylist()


def _of_mapping(number: int, given: Mapping[str, Any], named: Fields) -> Input | Rejected:
    own = {name: plain(given.get(getattr(named, name))) for name in ("id", "text", "html", "title", "source")}
    identity = own["id"]
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if identity is not None and (not isinstance(identity, str) or not identity):
        return _rejected(number, "", f"{named.id!r} must be a string that is not empty, or an integer")
    form: Format = "html" if own["text"] is None and own["html"] is not None else "text"
    if not isinstance(own[form], str):
        what = f"no {named.text!r}" if own[form] is None else f"{getattr(named, form)!r} must be a string"
        return _rejected(number, identity or "", what)
    for name in ("title", "source"):
        if own[name] is not None and not isinstance(own[name], str):
            return _rejected(number, identity or "", f"{getattr(named, name)!r} must be a string")
    taken = {getattr(named, name) for name in own}
    more = {str(name): value for name, value in given.items() if name not in taken}
    return document(
        identity or "", own[form], title=own["title"] or "", source=own["source"] or "", metadata=more, form=form
    )


def _rejected(number: int, identity: str, detail: str) -> Rejected:
    name = identity or f"document {number}"
    return Rejected(name, name, "malformed", detail)


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # Halves of surrogate pairs are in no encoding.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode("utf-8")
