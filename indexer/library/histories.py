"""The versions of a document, with the changes between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from indexer.errors import ExtractionError
from indexer.library import asking
from indexer.library.rows import Shown
from indexer.model import Record, name_of
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.relations.versions.order import Order
    from indexer.stores.base import Store


# Of documents that are not known to be versions, as there may be thousands, so many are read to say which are newer.
_MOST_READ = 20


@dataclass(frozen=True, slots=True)
class VersionChange:
    """The change of a version from the one before it."""

    relation: Annotated[str, "The relation of the two texts in a word, such as edited or form"] = ""
    removed: Annotated[int, "The number of removed words"] = 0
    added: Annotated[int, "The number of added words"] = 0
    facts: Annotated[tuple[str, ...], "The differing facts, each as OLD / NEW"] = ()
    unread: Annotated[str, "The reason why the texts could not be compared; else empty"] = ""


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """A version of a document."""

    id: Annotated[str, "The name of the document"]
    ordinal: Annotated[int, "Its place among the versions, from 1, the oldest; documents of the same version have the "
        "same"]  # fmt: skip
    is_latest: Annotated[bool, "True if no newer version is known"]
    title: Annotated[str, "Its title"]
    source: Annotated[str, "Its path or URL"]
    evidence: Annotated[str, "The reason for its place after the version before it; empty for the first"]
    change: Annotated[VersionChange | None, "The change from the version before it; null for the first"]


@dataclass(frozen=True, slots=True)
class UnplacedMember:
    """Another document of the cluster, not known to be a version."""

    id: Annotated[str, "The name of the document"]
    order: Annotated[str, "Its place in time against the document asked about: newer, older or unknown"]
    confidence: Annotated[float, "The confidence in the order, 0 to 1; 0 if unknown"]
    evidence: Annotated[str, "The reason; empty if unknown"]


@dataclass(frozen=True, slots=True, repr=False)
class History(Shown):
    """The versions of a document among the documents of its cluster."""

    id: Annotated[str, "The name of the document"]
    cluster: Annotated[str | None, "Its cluster; null if it is alone"]
    confidence: Annotated[float, "The confidence in the order of its versions, 0 to 1; 0 without any, or for an "
        "unknown order"]  # fmt: skip
    versions: Annotated[tuple[VersionEntry, ...], "Its versions, from the oldest; none without any, or for an unknown "
        "order"] = field(repr=False)  # fmt: skip
    others: Annotated[tuple[UnplacedMember, ...], "The other documents of the cluster"] = field(repr=False)


def history_of(store: Store, name: str, *, changes: bool, time_field: str | None = None) -> History:
    """The history of a stored document, with the change of each version if `changes`, from texts read again."""
    from indexer.clustering.memory import noted_canonical
    from indexer.clustering.versions import version_history

    [refs] = asking.found_each(store, [name])
    [record] = store.get([asking.only(name, refs)])
    if record is None:
        raise asking.missing(name)
    found = version_history(store, record, noted_canonical(store).time if time_field is None else time_field)
    records = found.records
    entries: list[VersionEntry] = []
    compared = _StoredChanges(store) if changes else None
    steps = found.lineage.steps if found.lineage else ()
    for number, step in enumerate(steps):
        evidence = found.lineage.evidence[number - 1] if found.lineage and number else ""
        for place in step:
            one = records[place]
            change = compared.between(records[steps[number - 1][0]], one) if compared and number else None
            is_latest = found.lineage is not None and place in found.lineage.latest
            entries.append(
                VersionEntry(name_of(one.ref), number + 1, is_latest, one.title, one.source, evidence, change)
            )
    others = []
    for count, (place, known) in enumerate(found.others):
        read = compared if count < _MOST_READ and known.word == "unknown" else None
        order = read.ordered(records[place], records[0]) if read else known
        others.append(UnplacedMember(name_of(records[place].ref), *order))
    confidence = found.lineage.confidence if found.lineage else 0.0
    return History(name_of(records[0].ref), found.cluster, confidence, tuple(entries), tuple(others))


class _StoredChanges:
    """The changes between stored documents, from texts read again, with the last two kept."""

    def __init__(self, store: Store) -> None:
        from indexer.ingest.rereading import StoredTexts
        from indexer.matching.relating import StoredLexicon

        self._texts, self._lexicon = StoredTexts(store), StoredLexicon(store)
        self._known: dict[Any, Any] = {}

    def between(self, older: Record, newer: Record) -> VersionChange:
        from indexer.matching.relating import in_other_format
        from indexer.relations.comparing import relate
        from indexer.text.differences import word_difference

        try:
            left, right = self._wording(older), self._wording(newer)
        except ExtractionError as error:
            return VersionChange(unread=error.detail or error.reason)
        relation = relate(left, right, self._lexicon, other_format=in_other_format(older.format, newer.format))
        facts = tuple(map(str, relation.facts))
        words = word_difference(left.text, right.text)
        return VersionChange(relation.word, words.removed, words.added, facts)

    def ordered(self, one: Record, other: Record) -> Order:
        from indexer.relations.comparing import relate
        from indexer.relations.relation import order_with
        from indexer.relations.versions.order import Order

        try:
            return order_with(Order(), relate(self._wording(one), self._wording(other), self._lexicon))
        except ExtractionError:
            return Order()

    def _wording(self, record: Record) -> Any:
        from indexer.relations.alignment import MOST_WORDS
        from indexer.relations.wording import Wording

        if record.ref not in self._known:
            while len(self._known) > 1:
                del self._known[next(iter(self._known))]
            self._known[record.ref] = Wording(self._texts.of(record))
        if len(self._known[record.ref]) > MOST_WORDS:
            raise ExtractionError("too-large", f"{name_of(record.ref)} has more than {counted(MOST_WORDS, 'word')}")
        return self._known[record.ref]
