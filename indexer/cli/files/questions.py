"""The documents that a user asks about, as a stream of questions: of files as they are read, and of what is stored."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from indexer import own_files
from indexer.cli.options import arguments
from indexer.errors import ExtractionError
from indexer.ingest.readers import reader_of
from indexer.ingest.sources import STDIN, Input, Selection, Sources, UnreadableError, read_file
from indexer.library.options import Extraction, NamedColumns, content_of
from indexer.model.paths import printable_path

if TYPE_CHECKING:
    from indexer.matching.asking import Given, Unanswered
    from indexer.matching.question import Question
    from indexer.stores import Store


_ID = "id:"


def is_pattern(name: str) -> bool:
    """True if a name that is no file's is a pattern that some file matches."""
    return glob.has_magic(name) and next(glob.iglob(name, recursive=True), None) is not None


def is_stored(name: str) -> bool:
    """True if what a user names is the id of a stored document."""
    return arguments.is_id(name) and (name.startswith(_ID) or not is_pattern(name))


def holds_many(name: str) -> bool:
    """True if what a user names stands for several documents; a file is judged by its name."""
    return os.path.isdir(name) or (reader_of(name) is not None if os.path.isfile(name) else not is_stored(name))


@dataclass(frozen=True, slots=True)
class Files:
    """The options of reading files that are asked about; `folder` is that of an embedded store's file."""

    folder: str
    extraction: Extraction
    columns: NamedColumns

    def questions(self, store: Store, names: Sequence[str]) -> Iterator[Question | Unanswered]:
        """The documents that names stand for, in order."""
        from indexer.ingest.indexing import default_jobs
        from indexer.matching.asking import Reading, questions_of, stored_questions

        how = Reading(default_jobs(), *self.extraction.reading(content_of(store)))
        for (stored, named), some in groupby(names, lambda name: (is_stored(name), name.startswith(_ID))):
            if not stored:
                yield from questions_of(store, self._items(store, some), how, self.folder)
            elif named:
                yield from stored_questions(store, (name.removeprefix(_ID) for name in some), arguments.only)
            else:
                yield from stored_questions(store, some, arguments.only_or_file)

    def _items(self, store: Store, names: Iterable[str]) -> Iterator[Given]:
        from indexer.ingest.dead_letters import PATTERN
        from indexer.ingest.outcomes import read
        from indexer.ingest.readers.named_columns import KnownColumns

        limit = self.extraction.max_size
        columns, known = self.columns.columns(self.extraction), KnownColumns(store)
        chosen = Selection(exclude=(PATTERN,), base=self.folder, line_limit=limit, columns=columns, known=known)
        for name in names:
            if _is_special(name):
                yield _one(name, limit)
            else:
                yield from read(Sources([name], chosen), limit)


def _is_special(name: str) -> bool:
    """True if a name is that of no plain file, folder or pattern, or of a file that is in use here."""
    if name == STDIN or not os.path.lexists(name):
        return name == STDIN
    return own_files.is_own(name) or not (os.path.isdir(name) or os.path.isfile(name))


def _one(name: str, limit: int) -> Given:
    """Standard input, and what is named and is no plain file: a pipe is read, the rest is refused with the reason."""
    from indexer.extract.base import Failed, Item

    try:
        if name == STDIN:
            return Item(Input("", "", name=name), arguments.content_of_file(name, limit))
        place = Input("", printable_path(os.path.abspath(name)), name)
        return Item(place, read_file(name, limit, any_kind=True), name)
    except (UnreadableError, ExtractionError) as error:
        return Failed(Input("", "", "" if name == STDIN else name, name=name), error.reason, error.detail)
