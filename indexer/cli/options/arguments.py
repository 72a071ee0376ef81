"""The document that a user asks about: a file, standard input, or one that is stored."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from indexer.cli.options.columns import column_options
from indexer.cli.options.groups import typed
from indexer.cli.options.shared import extraction_options
from indexer.cli.terminal.output import shown_store
from indexer.errors import ExtractionError, NotFoundError, UsageError
from indexer.extract.base import REASONS, Limits, Options
from indexer.ingest.readers import reader_of
from indexer.ingest.sources import STDIN, UnreadableError, read_file
from indexer.model import Record, Ref, name_of
from indexer.model.paths import printable_path, store_file
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.matching.question import Question
    from indexer.stores import Store

# What a text without a name is called.
THE_TEXT = "the text"
# This many of the places of an ambiguous id are named.
_LISTED = 5


def is_id(name: str) -> bool:
    """True if what a user names in the place of a file is the id of a stored document."""
    return name.startswith("id:") or (name != STDIN and not os.path.lexists(name))


def require_some_stored(names: Sequence[str]) -> None:
    """UsageError where a store is named on the command line, and no document of it."""
    if typed("store") and not any(map(is_id, names)):
        named = " and ".join(map(printable_path, names))
        raise UsageError(f"--store does nothing with files alone; {named} are none of its documents (id:ID is one)")


def require_some_file(names: Sequence[str], is_none: Callable[[str], bool] = is_id) -> None:
    """UsageError where the command line says how files are read, and all that it names is stored documents."""
    if names and all(map(is_none, names)):
        for parameter in (*extraction_options.parameters, *column_options.parameters):
            if typed(str(parameter.name)):
                flag, shown = max(parameter.opts, key=len), ", ".join(map(printable_path, names))
                raise UsageError(f"{flag} says how files are read, and there is no file of this name: {shown}")


def any_stored(names: Sequence[str], store: str) -> bool:
    """True if one of the names is an id. Raises NotFoundError where one is, and the store's file is not there."""
    named = next(filter(is_id, names), None)
    if named is not None and store_file(store) and not os.path.exists(store_file(store)):
        raise NotFoundError(
            f"{printable_path(named)}: no such file, and no store at {shown_store(store)} to look for an id in"
        )
    return named is not None


def content_of_file(path: str, limit: int) -> bytes:
    """The content of a file, or of standard input for "-"; NotFoundError or ExtractionError where there is none."""
    if path == STDIN:
        data = sys.stdin.buffer.read(limit + 1)
        if len(data) > limit:
            raise ExtractionError("too-large", f"standard input holds more than {counted(limit, 'byte')}")
        return data
    if not os.path.lexists(path):
        raise NotFoundError(f"{printable_path(path)}: no such file")
    try:
        return read_file(path, limit, any_kind=not os.path.isdir(path))
    except UnreadableError as error:
        raise ExtractionError(error.reason, f"{printable_path(path)}: {error.detail}") from None


def document_file(path: str, options: Options, limits: Limits) -> bytes:
    """As `content_of_file`, of a file that is one document. UsageError for one that holds many, unless as a format."""
    reader = reader_of(path) if path != STDIN and options.format is None and os.path.isfile(path) else None
    if reader:
        raise UsageError(
            f"{printable_path(path)}: this file holds many documents; index it, and name one of them by its id "
            "(--format reads it as one document)"
        )
    return content_of_file(path, limits.input_bytes)


def from_file(path: str, options: Options, limits: Limits) -> Question:
    """A file's text. Raises NotFoundError, and ExtractionError that names the file."""
    from indexer.extract import extract
    from indexer.matching.question import Question

    data = document_file(path, options, limits)
    try:
        document = extract(data, name="" if path == STDIN else path, options=options, limits=limits)
    except ExtractionError as error:
        detail = error.detail or REASONS.get(error.reason, "")
        raise ExtractionError(error.reason, f"{printable_path(path)}: {detail}") from None
    named = printable_path(path)
    return Question(named, document.text, title=document.title, format=document.format, pages=document.pages)


def from_text(text: str) -> Question:
    """A text; "-" reads it from standard input, as UTF-8."""
    from indexer.matching.question import Question

    return Question(THE_TEXT, sys.stdin.buffer.read() if text == STDIN else text)


def stored_or_file(store: Store, name: str) -> Question:
    """The document that a user means in the place of a file, as `meant`."""
    from indexer.matching.question import Question

    record = meant(store, name)
    return Question(name.removeprefix("id:"), record=record, title=record.title, format=record.format, ref=record.ref)


def meant(store: Store, name: str) -> Record:
    """The record that a user means in the place of a file; NotFoundError says that there is no such file either."""
    try:
        return found(store, name.removeprefix("id:"))
    except NotFoundError as error:
        if name.startswith("id:"):
            raise
        raise _neither(name) from error


def found(store: Store, identity: str) -> Record:
    """The record with this id, or with INDEX/ID. Raises NotFoundError, and UsageError where several have it."""
    [refs] = store.find_each([identity])
    [record] = store.get([only(identity, refs)])
    if record is None:
        raise _missing(identity)
    return record


def only(identity: str, refs: Sequence[Ref]) -> Ref:
    """The one identity that a name means. Raises NotFoundError for none, and UsageError that lists several."""
    if not refs:
        raise _missing(identity)
    if len(refs) > 1:
        several = len({(ref.index, ref.id) for ref in refs}) < len(refs)
        named = [name_of(replace(ref, routing=ref.routing or "") if several else ref) for ref in refs[:_LISTED]]
        shown = ", ".join(named) + (", ..." if len(refs) > _LISTED else "")
        raise UsageError(
            f"{identity}: {len(refs)} documents have this id: {shown}; name one of them so, or its index in --store"
        )
    return refs[0]


def only_or_file(name: str, refs: Sequence[Ref]) -> Ref:
    """The same of what may have been meant for a file."""
    if not refs:
        raise _neither(name)
    return only(name, refs)


def _missing(identity: str) -> NotFoundError:
    return NotFoundError(f"{identity or repr(identity)}: no document with this id is stored")


def _neither(name: str) -> NotFoundError:
    return NotFoundError(f"{printable_path(name)}: no such file, and no document with this id is stored")
