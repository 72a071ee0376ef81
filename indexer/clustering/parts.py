"""The deletion of documents found whole in a longer kept one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from indexer.clustering.annotations import MARK, READ_AT_ONCE, cluster_of, repeated_by
from indexer.clustering.canonical import loses_mail
from indexer.clustering.removal import RedundantDocument, Removal
from indexer.clustering.verdicts import Reason
from indexer.core.text import digest_of_folded, folded_text
from indexer.errors import ExtractionError, UsageError
from indexer.ingest.rereading import StoredTexts
from indexer.matching.nodes import Nodes, read_nodes
from indexer.matching.rule import Finder, MatchRule
from indexer.model import Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.model.refs import ref_order
from indexer.relations.relation import Relation
from indexer.schemes.base import SLACK, Positions, Scheme
from indexer.stores.base import Store, Versioned
from indexer.stores.schemes import scheme_of
from indexer.text.counts import counted

# Texts that are looked through for one, and those, the longest first, among which these are.
_TRIED, _OTHERS = 20, 200
_READ = 64

_GOING = Reason("its text stands in removed documents only", "the longer document goes itself; prune it first")
_MAIL = Reason("a mail inside another document", "its sender, recipients and date would be lost")
_GONE = Reason("the longer document has changed", "the longer document is gone or has changed")


class _PartOrWhole(NamedTuple):
    ref: Ref
    digest: str
    tokens: int
    leaving: bool


@dataclass(slots=True, eq=False)
class _DistinctText:
    """A text, the documents with it, those preferred to stay, and its place in the file of texts.

    `read` is the document it was read from; without one, `unread` has the reason.
    """

    node: int
    documents: list[_PartOrWhole] = field(default_factory=list)
    start: int = 0
    length: int = 0
    unread: str = ""
    read: _PartOrWhole | None = None

    @property
    def stand_in(self) -> _PartOrWhole | None:
        return self.read if self.read and not self.read.leaving else None


class _JudgedPart(NamedTuple):
    part: _PartOrWhole
    holder: _PartOrWhole
    reason: Reason | None


class PartPruning(Removal):
    """The documents of a store found whole in the text of another one, longer and kept.

    The longer one has all keys of the shorter one by the store's scheme of parts. The texts, read again, verify it: in
    lower case and with white space collapsed, the shorter one is in the longer one between white space or at its ends.
    A document to be removed itself is no holder. Unreadable ones stay. Memory: the store's sketches of the scheme, a
    few hundred bytes for each possible part or holder, and some texts; all their texts lie in a temporary folder
    meanwhile. Raises UsageError if the store has no scheme of parts.
    """

    not_marked = "a part"

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        schemes = (scheme_of(store, known.name) for known in store.info.schemes)
        scheme = next((each for each in schemes if each.of_parts), None)
        if scheme is None:
            raise UsageError(
                "the store has no passages to find parts by; index the documents with --scheme passages (neardup "
                "annotate has it too)"
            )
        # All keys of a part are in the longer document.
        self.rule = MatchRule((Finder(scheme, 1.0),))
        self._unread = ""
        self._read = 0

    def remark(self) -> str:
        if self._unread and not self._read:
            return f"no text to compare could be read, so nothing is removed: {self._unread}"
        short = self.store.stats().short
        return f"{counted(short, 'document')} not looked for: too few words that are no numbers" if short else ""

    def _found(self) -> Iterator[RedundantDocument]:
        nodes = read_nodes(self.store, self.rule)
        smaller, larger = _held_whole(nodes, self.rule.finders[0].scheme)
        texts = self._texts(nodes, smaller, larger)
        del nodes
        with TemporaryDirectory(prefix="neardup-texts-") as folder, Path(folder, "texts").open("w+b") as file:
            self._read_texts(texts, file)
            for page in chunks(_judged(texts, smaller, larger, file), READ_AT_ONCE):
                yield from self._as_they_are(page)

    def _texts(self, nodes: Nodes, smaller: Positions, larger: Positions) -> list[_DistinctText]:
        documents, offsets = nodes.holders()
        asked = np.unique(np.concatenate((smaller, larger))).tolist()
        texts: dict[tuple[int, str, Ref | None], _DistinctText] = {}
        places = (int(place) for node in asked for place in documents[offsets[node] : offsets[node + 1]])
        for page in chunks(places, READ_AT_ONCE):
            refs = nodes.refs.take(page)
            for place, ref, known in zip(page, refs, self.store.described(refs), strict=True):
                if known is not None:
                    record, said = known
                    node, digest = int(nodes.node_of[place]), record.text_digest
                    text = texts.setdefault((node, digest, None if digest else ref), _DistinctText(node))
                    text.documents.append(_PartOrWhole(ref, _digest(record), record.tokens, _is_leaving(ref, said)))
        for text in texts.values():
            text.documents.sort(key=lambda one: (one.leaving, ref_order(one.ref)))
        # Documents that all have one text, and that no other one holds, need not be read.
        with_others = {*smaller[smaller != larger].tolist(), *larger[smaller != larger].tolist()}
        counts = Counter(text.node for text in texts.values())
        return [text for text in texts.values() if counts[text.node] > 1 or text.node in with_others]

    def _read_texts(self, texts: Sequence[_DistinctText], file: BinaryIO) -> None:
        reader, waiting, turn = StoredTexts(self.store), texts, 0
        while waiting:
            failed = []
            for page in chunks(waiting, _READ):
                owners = {text.documents[turn].ref: text for text in page}
                records = self.store.get(list(owners), sketches=False)
                for ref, record in zip(owners, records, strict=True):
                    if record is None:
                        owners[ref].unread = "it is gone"
                for record, read in reader.read(filter(None, records)):
                    owner = owners[record.ref]
                    folded = read if isinstance(read, ExtractionError) else _folded(read, record)
                    if isinstance(folded, ExtractionError):
                        owner.unread = folded.detail or folded.reason
                    else:
                        owner.start, owner.length, owner.unread = file.tell(), len(folded), ""
                        file.write(b" " + folded + b" ")
                        owner.read = owner.documents[turn]
                for text in page:
                    if text.read is not None:
                        self._read += 1
                    elif turn + 1 < min(len(text.documents), _TRIED):
                        failed.append(text)
                    else:
                        self._unread = self._unread or f"{name_of(text.documents[turn].ref)}: {text.unread}"
            waiting, turn = failed, turn + 1

    def _as_they_are(self, page: Sequence[_JudgedPart]) -> Iterator[RedundantDocument]:
        stand_ins = list(dict.fromkeys(one.holder.ref for one in page))
        versions = self.store.versioned([*stand_ins, *(one.part.ref for one in page)])
        known = dict(zip(stand_ins, versions, strict=False))
        for one, stored in zip(page, versions[len(stand_ins) :], strict=True):
            if stored is None or stored.record is None or _digest(stored.record) != one.part.digest:
                # Gone, or another one: it stays without a word, as any that came meanwhile.
                continue
            reason = one.reason or _reason_to_keep(stored.record, one.holder, known[one.holder.ref])
            added = max(0, one.holder.tokens - one.part.tokens)
            yield RedundantDocument(
                stored.record, cluster_of(stored.annotations) or "", one.holder.ref, -1.0 if reason else 1.0, reason,
                version=stored.version, relation=None if reason else Relation("part", added=added),
            )  # fmt: skip


def _reason_to_keep(record: Record, holder: _PartOrWhole, whole: Versioned | None) -> Reason | None:
    if whole is None or whole.record is None or _digest(whole.record) != holder.digest:
        return _GONE
    if _is_leaving(holder.ref, whole.annotations):
        return _GONE
    mail_goes = loses_mail(record.source, whole.record.source) or not record.may_be_same_mail(whole.record)
    return _MAIL if mail_goes else None


def _text_in(file: BinaryIO, text: _DistinctText) -> bytes:
    file.seek(text.start)
    return file.read(text.length + 2)


def _held_whole(nodes: Nodes, scheme: Scheme) -> tuple[Positions, Positions]:
    sketches = nodes.sketches[scheme.family]
    sizes, (there, present) = sketches.payloads.sizes, nodes.having(scheme.family)
    several = np.flatnonzero(nodes.weights > 1)
    found = [(several, several)]
    for one, other in scheme.join(there, 1.0):
        left, right = present[one], present[other]
        swapped = sizes[left] > sizes[right]
        left, right = np.where(swapped, right, left), np.where(swapped, left, right)
        # A single key is what both were found by; for the measure it is a phrase that many texts may have.
        whole = sketches.keys.sizes[left] == 1
        rest = np.flatnonzero(~whole)
        whole[rest] = scheme.shares(sketches.payloads, left[rest], right[rest])[:, 0] >= 1 - SLACK
        found.append(_longest(left[whole], right[whole], sizes))
    smaller, larger = (np.concatenate(column) for column in zip(*found, strict=True))
    return _longest(smaller, larger, sizes)


def _longest(smaller: Positions, larger: Positions, sizes: Positions) -> tuple[Positions, Positions]:
    order = np.lexsort((larger, -sizes[larger], smaller))
    smaller, larger = smaller[order], larger[order]
    place = np.arange(smaller.size) - np.searchsorted(smaller, smaller, side="left")
    return smaller[place < _OTHERS], larger[place < _OTHERS]


def _judged(
    texts: Sequence[_DistinctText], smaller: Positions, larger: Positions, file: BinaryIO
) -> Iterator[_JudgedPart]:
    """The verdict on each possible part, the longest texts first, so that the holders are decided before their
    parts.
    """
    staying: dict[int, list[_DistinctText]] = {}
    never: dict[int, _DistinctText] = {}
    for text in texts:
        if text.unread:
            never.setdefault(text.node, text)
    order = sorted(
        (text for text in texts if not text.unread), key=lambda text: (-text.length, ref_order(text.documents[0].ref))
    )
    for text in [*order, *(text for text in texts if text.unread)]:
        start, end = np.searchsorted(smaller, [text.node, text.node + 1])
        beside = larger[start:end].tolist()
        longer = [other for node in beside for other in staying.get(node, ()) if other.length > text.length]
        unsure = next((never[node] for node in beside if node in never and never[node] is not text), None)
        few = len(longer) <= _TRIED and end - start < _OTHERS
        verdict = _verdict(text, longer, unsure, file, every=bool(few))
        if verdict is None or verdict[1] is not None:
            if not text.unread and text.stand_in is not None:
                kept = staying.setdefault(text.node, [])
                if len(kept) < _OTHERS:
                    kept.append(text)
            elif not text.unread:
                never.setdefault(text.node, text)
        if verdict is not None:
            by, reason = verdict
            yield from (_JudgedPart(part, by, reason) for part in text.documents if reason is None or not part.leaving)


def _verdict(
    text: _DistinctText, longer: Sequence[_DistinctText], unsure: _DistinctText | None, file: BinaryIO, *, every: bool
) -> tuple[_PartOrWhole, Reason | None] | None:
    others = [*longer, *([unsure] if unsure else [])]
    if not others:
        return None
    if text.unread:
        return others[0].documents[0], Reason("unreadable", f"not verified: {text.unread}")
    own = _text_in(file, text)
    for other in longer[:_TRIED]:
        by = other.stand_in
        if by is not None and own in _text_in(file, other):
            return by, None
    by = others[-1].documents[0]
    name = name_of(by.ref)
    if unsure is not None:
        kind = "not compared with every document that has its keys"
        reason = Reason(kind, f"not verified: {name}: {unsure.unread}") if unsure.unread else _GOING
    elif not every:
        says = f"looked for in the longest {_TRIED} of more than these that have all its keys"
        reason = Reason("very many documents have its keys", says)
    else:
        reason = Reason("not whole in another document", f"its text does not stand whole in {name}")
    return by, reason


def _folded(text: str, record: Record) -> bytes | ExtractionError:
    folded = folded_text(text)
    if record.text_digest and digest_of_folded(folded).hex() != record.text_digest:
        return ExtractionError("unreadable", "it no longer holds the indexed text")
    return folded


def _digest(record: Record) -> str:
    return f"{record.text_digest}/{record.source_digest}"


def _is_leaving(ref: Ref, annotations: Mapping[str, Any]) -> bool:
    return MARK in annotations or repeated_by(ref, annotations) is not None
