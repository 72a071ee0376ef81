"""The subject of a lookup: a text, a stored document, or a fingerprint."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from indexer.core.text import text_digest
from indexer.errors import UsageError
from indexer.ingest.mail_frame import frame_of, without_frame
from indexer.ingest.naming import possible_ids
from indexer.ingest.sketching import NOTHING, sketches_without_words
from indexer.model import SIMHASH_DOC, Fingerprint, Record, Ref, Sketch
from indexer.model.mails import is_mail
from indexer.model.paths import printable_path
from indexer.schemes.base import Scheme
from indexer.schemes.simhash import SimhashDoc, sketched
from indexer.stores.base import Store

if TYPE_CHECKING:
    from indexer.relations.versions.signs import Signs


@dataclass(frozen=True, slots=True)
class Question:
    """A document to find near-duplicates of; `name` is the user's.

    `record` is set for a stored one, `text` for one with its text, `fingerprint` for neither. `ref` is the identity
    left out of answers; `pages` are the first characters of a PDF's pages in the text. `source` and `metadata`, of an
    unstored one, are as in a record; `read` is its `read_digest`, empty for a text. `left_out` are
    the parts left out of the text, None for a text that was given alone. Sketches don't rest on lines of the `frame`.
    """

    name: str
    text: str | bytes | None = None
    record: Record | None = None
    fingerprint: Fingerprint | None = None
    title: str = ""
    format: str = ""
    ref: Ref | None = None
    pages: tuple[int, ...] = ()
    source: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    read: str = ""
    left_out: tuple[tuple[str, str], ...] | None = None
    frame: bytes = b""
    _made: dict[str, Sketch | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def sketch(self, scheme: Scheme) -> Sketch | None:
        """The sketch by a scheme, made once; None if the document has no features of it.

        Raises UsageError if it can't be known: a stored document without it, or a fingerprint of another scheme.
        """
        if scheme.id not in self._made:
            self._made[scheme.id] = self._sketch(scheme)
        return self._made[scheme.id]

    def _sketch(self, scheme: Scheme) -> Sketch | None:
        if self.text is not None:
            if scheme.family == SIMHASH_DOC or self.simhash:
                return scheme.sketch(without_frame(self.readable, self.frame)[0] if self.frame else self.text)
            same, read = self.digests
            return sketches_without_words([scheme], same, read or same)[scheme.family]
        if self.record is not None:
            stored = self.record.sketches.get(scheme.family)
            if stored is None and self.record.has_words:
                raise UsageError(
                    f"{self.name} has no sketch of {scheme.family}: it was stored before the store kept them; index it "
                    f"again, or ask with --match {SIMHASH_DOC}@3bits"
                )
            return stored if stored and stored.payload else None
        if self.fingerprint is None:
            return None
        if scheme.family != SIMHASH_DOC:
            raise UsageError(
                f"a hash is of {SIMHASH_DOC}, and {scheme.family} can't compare it; give a text or file, or ask with "
                f"--match {SIMHASH_DOC}@3bits"
            )
        return sketched(self.fingerprint)[SIMHASH_DOC]

    @property
    def readable(self) -> str:
        return self.text.decode("utf-8", "replace") if isinstance(self.text, bytes) else self.text or ""

    @property
    def signs(self) -> Signs:
        from indexer.relations.versions.signs import signs_of

        own = Record(Ref(self.name), source=self.source, title=self.title, metadata=self.metadata)
        return signs_of(self.record or own)

    @property
    def digests(self) -> tuple[str, str]:
        if self.text is not None:
            return text_digest(self.text).hex(), self.read
        return (self.record.text_digest, self.record.read_digest) if self.record is not None else ("", "")

    @property
    def simhash(self) -> Fingerprint | None:
        if self.record is not None:
            return self.record.fingerprint
        if self.fingerprint is not None or self.text is None:
            return self.fingerprint
        sketch = self.sketch(SimhashDoc())
        return Fingerprint(int.from_bytes(sketch.payload, "big"), sketch.features) if sketch else None

    def is_short(self, least: int) -> bool:
        fingerprint = self.simhash
        return fingerprint is not None and 0 < fingerprint.tokens < least


AnyQuestion = TypeVar("AnyQuestion")


def with_frame(store: Store, questions: Iterable[AnyQuestion]) -> Iterator[AnyQuestion]:
    """The questions; those about mails, or texts that may be mails, with the frame of a store."""
    frame: bytes | None = None
    for each in questions:
        if isinstance(each, Question) and each.text is not None and (not each.source or is_mail(each.source)):
            frame = frame_of(store) if frame is None else frame
            yield replace(each, frame=frame) if frame else each
        else:
            yield each


def stored_as(store: Store, file: str, folder: str) -> Ref | None:
    """The identity under which a file itself is stored, so that it is no answer to itself; None if it is not."""
    [found] = stored_as_each(store, [(printable_path(os.path.abspath(file)), possible_ids(file, folder))])
    return found


def stored_as_each(store: Store, asked: Sequence[tuple[str, Sequence[str]]]) -> list[Ref | None]:
    records = iter(store.get([Ref(identity) for _, ids in asked for identity in ids], sketches=False))
    found = []
    for source, ids in asked:
        named = list(islice(records, len(ids)))
        found.append(next((record.ref for record in named if record and record.source == source), None))
    return found


def are_identical(one: tuple[str, str], other: tuple[str, str]) -> bool | None:
    if not (one[0] and other[0]):
        return None
    # Nothing but its text was read of a text that somebody gives.
    return one[0] == other[0] and (one[1] == other[1] or not (one[1] and other[1]))


def are_equal_without_words(one: Question, other: Question) -> bool:
    if one.simhash is not None or other.simhash is not None:
        return False
    same, read = one.digests
    return (read or same) != NOTHING and are_identical(one.digests, other.digests) is True
