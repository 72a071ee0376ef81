"""Documents as questions: texts, rows, files, standard input, and stored documents."""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Literal

from indexer.errors import ExtractionError, NotFoundError, UsageError, shown
from indexer.extract.base import REASONS
from indexer.ingest.readers import BadEntry, ColumnNames, ReaderOptions, reader_of_file
from indexer.ingest.regular_files import UnreadableError, read_file
from indexer.ingest.sources import STDIN, Input, Selection, Sources
from indexer.model import CANONICAL_URL, Record, Ref, name_of, own_files, parse_fingerprint, with_declared
from indexer.model.own_files import AnyPath
from indexer.model.paths import printable_path
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.extract import WorkerPool
    from indexer.library.options import Extraction
    from indexer.matching.asking import QuestionSource, Unanswered
    from indexer.matching.question import Question
    from indexer.stores.base import Store


AskedBy = Literal["documents", "paths", "ids", "names", "hashes"]
"""The ways to name the documents of questions."""

# What a text without a name is called.
THE_TEXT = "the text"
_ID = "id:"
# This many of the places of an ambiguous id are named.
_LISTED = 5


def is_id(name: str) -> bool:
    """True if a name means the id of a stored document: it begins with "id:", or is not a file."""
    return name.startswith(_ID) or (name != STDIN and not os.path.lexists(name))


def is_stored(name: str) -> bool:
    is_pattern = glob.has_magic(name) and next(glob.iglob(name, recursive=True), None) is not None
    return is_id(name) and (name.startswith(_ID) or not is_pattern)


def holds_many(name: str) -> bool:
    if os.path.isfile(name):
        reader = reader_of_file(name)
        return reader is not None and not reader.is_document
    return os.path.isdir(name) or not is_stored(name)


def names_of(given: Any) -> list[str]:
    """The given ids, one or several. Raises UsageError for anything but strings."""
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"an id is a string, not {type(name).__name__}")
    return names


def paths_of(given: AnyPath | Iterable[AnyPath]) -> list[str]:
    paths = [given] if isinstance(given, str | os.PathLike) else list(given) if isinstance(given, Iterable) else [given]
    if wrong := [path for path in paths if not isinstance(path, str | os.PathLike)]:
        raise UsageError(f"{shown(wrong[0])} is neither a text nor a path")
    return [os.fspath(path) for path in paths]


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """Reads questions; `folder` is that of an embedded store's file, else empty.

    `workers` are kept for it; None starts some.
    """

    store: Store
    extraction: Extraction
    columns: ColumnNames
    folder: str
    workers: WorkerPool[None] | None = None

    def questions(self, asked: Any, by: AskedBy) -> Iterator[Question | Unanswered]:
        """The documents asked about. Raises UsageError."""
        if by == "ids" and isinstance(asked, str):
            raise UsageError('by="ids" takes a list of ids; for one use similar(id=...)')
        ways: Mapping[AskedBy, Callable[[Any], Iterator[Question | Unanswered]]] = {
            "documents": self.given, "paths": lambda paths: self.paths(paths_of(paths)), "names": self.names,
            "ids": lambda ids: stored(self.store, ids), "hashes": hashes,
        }  # fmt: skip
        if by not in ways:
            raise UsageError(f"by={by!r}: ask by {', '.join(ways)}")
        return ways[by](asked)

    def names(self, names: Iterable[str]) -> Iterator[Question | Unanswered]:
        """The documents behind names, in order: files, folders, patterns, "-", or ids of stored documents."""
        from indexer.matching.asking import stored_questions

        for (stored, named), some in groupby(names, lambda name: (is_stored(name), name.startswith(_ID))):
            if not stored:
                yield from self._read(self._items(some))
            elif named:
                yield from stored_questions(self.store, (name.removeprefix(_ID) for name in some), only)
            else:
                yield from stored_questions(self.store, some, only_or_file)

    def paths(self, paths: Iterable[str]) -> Iterator[Question | Unanswered]:
        from indexer.ingest.outcomes import read

        # By itself each one is answered, a link to another one too.
        sources = [Sources([path], self._selection()) for path in paths]
        return self._read(read(chain.from_iterable(sources), self.extraction.max_size))

    def given(self, documents: Any) -> Iterator[Question | Unanswered]:
        from indexer.ingest.outcomes import read
        from indexer.library.program_documents import documents as inputs

        return self._read(read(inputs(documents, self.columns), self.extraction.max_size))

    def _read(self, items: Iterable[QuestionSource]) -> Iterator[Question | Unanswered]:
        from indexer.ingest.indexing import default_jobs
        from indexer.matching.asking import ReadingSettings, questions_of

        reading = self.extraction.reading(self.store.info.content)  # type: ignore[arg-type]
        how = ReadingSettings(default_jobs(), *reading, self.workers)
        return questions_of(self.store, items, how, self.folder)

    def _selection(self) -> Selection:
        from indexer.ingest.dead_letters import PATTERN
        from indexer.ingest.remembered import KnownColumns

        known = KnownColumns(self.store)
        return self.extraction.selection(self.columns, self.folder, exclude=(PATTERN,), known=known)

    def _items(self, names: Iterable[str]) -> Iterator[QuestionSource]:
        from indexer.ingest.outcomes import read

        limit, chosen = self.extraction.max_size, self._selection()
        for name in names:
            if _is_special(name):
                yield _one(name, limit)
            else:
                yield from read(Sources([name], chosen), limit)


def stored(store: Store, ids: Iterable[str]) -> Iterator[Question | Unanswered]:
    from indexer.matching.asking import stored_questions

    return stored_questions(store, (names_of([name])[0] for name in ids), only)


def hashes(given: Iterable[str]) -> Iterator[Question]:
    """Fingerprints of simhash-doc, in base32 or as 16 hexadecimal digits. Raises UsageError."""
    from indexer.matching.question import Question

    return (Question(text, fingerprint=parse_fingerprint(text)) for text in given)


def _is_special(name: str) -> bool:
    if name == STDIN or not os.path.lexists(name):
        return name == STDIN
    return own_files.is_own(name) or not (os.path.isdir(name) or os.path.isfile(name))


def _one(name: str, limit: int) -> QuestionSource:
    from indexer.extract.base import Failed, Item

    try:
        if name == STDIN:
            return Item(Input("", "", name=name), content_of_file(name, limit))
        place = Input("", printable_path(os.path.abspath(name)), name)
        return Item(place, read_file(name, limit, any_kind=True), name)
    except (UnreadableError, ExtractionError) as error:
        return Failed(Input("", "", "" if name == STDIN else name, name=name), error.reason, error.detail)


# One document


def content_of_file(path: str, limit: int) -> bytes:
    """The content of a file, or of standard input for "-". Raises NotFoundError or ExtractionError."""
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


def from_file(path: str, extraction: Extraction, store: Store | None = None) -> Question:
    """The document in a file.

    Raises NotFoundError, ExtractionError with the file's name, and UsageError for several.
    """
    from indexer.extract import extract
    from indexer.extract.declared import canonical_url
    from indexer.ingest.sketching import read_digest_of
    from indexer.matching.question import Question
    from indexer.text.digests import with_title

    options, limits = extraction.reading(store.info.content if store else None)  # type: ignore[arg-type]
    reader = reader_of_file(path) if path != STDIN and options.format is None and os.path.isfile(path) else None
    if reader and not reader.is_document:
        raise UsageError(
            f"{printable_path(path)}: this file holds many documents; index it, and name one of them by its id "
            "(--format reads it as one document)"
        )
    data = content_of_file(path, limits.input_bytes)
    title, metadata = "", dict[str, Any]()
    try:
        if reader:
            entry = next(reader.entries(io.BytesIO(data), path, ReaderOptions(limits.input_bytes)))
            if isinstance(entry, BadEntry):
                raise ExtractionError(entry.reason, entry.detail)
            data, title, metadata = entry.data, entry.title, dict(entry.metadata)
            options = replace(options, format=entry.format)
        document = extract(data, name="" if path == STDIN else path, options=options, limits=limits)
    except ExtractionError as error:
        raise named_error(error, path) from None
    named = printable_path(path)
    url = canonical_url(data) if document.format == "html" else ""
    return Question(
        named, document.text, title=title or document.title, format=document.format, pages=document.pages,
        source="" if path == STDIN else printable_path(os.path.abspath(path)),
        metadata=with_declared({**metadata, CANONICAL_URL: url} if url else metadata, document.declared),
        read=with_title(read_digest_of(document), title), left_out=document.left_out,
    )  # fmt: skip


def named_error(error: ExtractionError, name: str) -> ExtractionError:
    detail, shown = error.detail or REASONS.get(error.reason, ""), printable_path(name)
    return ExtractionError(error.reason, detail if shown in detail else f"{shown}: {detail}")


def from_store(store: Store, name: str) -> Question:
    from indexer.matching.question import Question

    record = meant(store, name)
    return Question(name.removeprefix(_ID), record=record, title=record.title, format=record.format, ref=record.ref)


def from_text_or_id(store: Store, text: str | None, identity: str | None) -> Question:
    """The document with a text, under its id if it has one; without a text, the stored document with the id."""
    from indexer.matching.question import Question

    return from_store(store, f"{_ID}{identity or ''}") if text is None else Question(identity or THE_TEXT, text)


def meant(store: Store, name: str) -> Record:
    """The record meant by a name other than a file's. NotFoundError mentions that there is no file either."""
    own = name.removeprefix(_ID)
    [refs] = store.find_each([own]) if name.startswith(_ID) else found_each(store, [own])
    choose: Callable[[str, Sequence[Ref]], Ref] = only if name.startswith(_ID) else only_or_file
    [record] = store.get([choose(name.removeprefix(_ID), refs)])
    if record is None:
        raise missing(name.removeprefix(_ID))
    return record


def folder_of(store: Store) -> str:
    path = getattr(store, "path", None)
    return os.path.dirname(os.path.abspath(path)) if isinstance(path, os.PathLike) else ""


def found_each(store: Store, names: Sequence[str]) -> list[list[Ref]]:
    """The possible identities of each name as an id, else the identity of the stored file at this path."""
    from indexer.ingest.naming import possible_ids
    from indexer.matching.question import stored_as_each

    found = store.find_each(names)
    paths = [place for place, refs in enumerate(found) if not refs and names[place] and "\0" not in names[place]]
    folder = folder_of(store)
    asked = [(printable_path(os.path.abspath(names[at])), possible_ids(names[at], folder)) for at in paths]
    for place, ref in zip(paths, stored_as_each(store, asked), strict=True):
        found[place] = [ref] if ref else []
    return found


def only(identity: str, refs: Sequence[Ref]) -> Ref:
    """The one identity a name means. Raises NotFoundError for none, and UsageError listing several."""
    if not refs:
        raise missing(identity)
    if len(refs) > 1:
        several = len({(ref.index, ref.id) for ref in refs}) < len(refs)
        named = [name_of(replace(ref, routing=ref.routing or "") if several else ref) for ref in refs[:_LISTED]]
        shown = ", ".join(named) + (", ..." if len(refs) > _LISTED else "")
        raise UsageError(
            f"{identity}: {len(refs)} documents have this id: {shown}; name one of them so, or open its index alone"
        )
    return refs[0]


def only_or_file(name: str, refs: Sequence[Ref]) -> Ref:
    if not refs:
        raise NotFoundError(f"{printable_path(name)}: no such file, and no document with this id is stored")
    return only(name, refs)


def missing(identity: str) -> NotFoundError:
    return NotFoundError(f"{identity or repr(identity)}: no document with this id is stored")
