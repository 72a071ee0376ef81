"""The document that a user asks about: a file, standard input, or one that is stored."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indexer.errors import ExtractionError, NotFoundError, UsageError
from indexer.extract.base import REASONS, Content, Limits, Options
from indexer.model import Fingerprint, Record, Ref, name_of
from indexer.sources import STDIN, UnreadableError, printable_path, read_file

if TYPE_CHECKING:
    from indexer.stores import Store

# So many of the places of an ambiguous id are named.
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A document by its fingerprint; `name` is what the user called it.

    `ref` and `record` are set where it is stored, `text` where its text is at hand.
    """

    name: str
    fingerprint: Fingerprint | None
    title: str = ""
    format: str = ""
    ref: Ref | None = None
    text: str | bytes | None = None
    record: Record | None = None


def reading(given: dict[str, Any], content: Content | None) -> tuple[Options, Limits]:
    """Options and limits of extraction from a command's flags, in the content mode of a store, if there is one."""
    if given["content"] and content and given["content"] != content:
        raise UsageError(
            f"--content {given['content']}: this store holds fingerprints of content {content}, which can't be compared"
        )
    options = Options(
        content=content or given["content"] or "landmarks", engine=given["engine"], format=given["format"]
    )
    return options, Limits(seconds=given["timeout"], memory=given["memory"], input_bytes=given["max_size"])


def octets_of(path: str, limit: int) -> bytes:
    """The content of a file, or of standard input for "-"; NotFoundError or ExtractionError where there is none."""
    if path == STDIN:
        data = sys.stdin.buffer.read(limit + 1)
        if len(data) > limit:
            raise ExtractionError("too-large", f"standard input holds more than {limit:,} octets")
        return data
    if not os.path.lexists(path):
        raise NotFoundError(f"{printable_path(path)}: no such file")
    try:
        return read_file(path, limit, any_kind=not os.path.isdir(path))
    except UnreadableError as error:
        raise ExtractionError(error.reason, f"{printable_path(path)}: {error.detail}") from None


def from_file(path: str, options: Options, limits: Limits) -> Asked:
    """A file's fingerprint. Raises NotFoundError, and ExtractionError that names the file."""
    from indexer.extract import extract
    from indexer.schemes import simhash

    data = octets_of(path, limits.input_bytes)
    try:
        document = extract(data, name="" if path == STDIN else path, options=options, limits=limits)
    except ExtractionError as error:
        detail = error.detail or REASONS.get(error.reason, "")
        raise ExtractionError(error.reason, f"{printable_path(path)}: {detail}") from None
    text = document.text
    return Asked(printable_path(path), simhash.fingerprint(text), document.title, document.format, text=text)


def from_text(text: str) -> Asked:
    """A text's fingerprint; "-" reads the text from standard input, as UTF-8."""
    from indexer.schemes import simhash

    read = sys.stdin.buffer.read() if text == STDIN else text
    return Asked("the text", simhash.fingerprint(read), text=read)


def stored(store: Store, identity: str) -> Asked:
    """A stored document. Raises NotFoundError."""
    record = found(store, identity)
    return Asked(identity, record.fingerprint, record.title, record.format, record.ref, record=record)


def found(store: Store, identity: str) -> Record:
    """The record with this id, or with INDEX/ID. Raises NotFoundError, and UsageError where several have it."""
    [refs] = store.find_each([identity])
    [record] = store.get([only(identity, refs)])
    if record is None:
        raise NotFoundError(f"{identity}: no document with this id is stored")
    return record


def only(identity: str, refs: Sequence[Ref]) -> Ref:
    """The one identity that a name means. Raises NotFoundError for none, and UsageError that lists several."""
    if not refs:
        raise NotFoundError(f"{identity}: no document with this id is stored")
    if len(refs) > 1:
        several = len({(ref.index, ref.id) for ref in refs}) < len(refs)
        named = [name_of(replace(ref, routing=ref.routing or "") if several else ref) for ref in refs[:_LISTED]]
        shown = ", ".join(named) + (", ..." if len(refs) > _LISTED else "")
        raise UsageError(
            f"{identity}: {len(refs)} documents have this id: {shown}; name one of them so, or its index in --store"
        )
    return refs[0]
