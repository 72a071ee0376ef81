"""The versions of a document, with the changes between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
    """The change of a version from the one before it.

    Attributes:
        relation: The relation of the two texts in a word, such as edited or form
        removed: The number of removed words
        added: The number of added words
        facts: The differing facts, each as OLD / NEW
        unread: The reason why the texts could not be compared; else empty
    """

    relation: str = ""
    removed: int = 0
    added: int = 0
    facts: tuple[str, ...] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """A version of a document.

    Attributes:
        id: The name of the document
        ordinal: Its place among the versions, from 1, the oldest; documents of the same version have the same
        is_latest: True if no newer version is known
        title: Its title
        source: Its path or URL
        evidence: The reason for its place after the version before it; empty for the first
        change: The change from the version before it; null for the first
    """

    id: str
    ordinal: int
    is_latest: bool
    title: str
    source: str
    evidence: str
    change: VersionChange | None


@dataclass(frozen=True, slots=True)
class UnplacedMember:
    """Another document of the cluster, not known to be a version.

    Attributes:
        id: The name of the document
        order: Its place in time against the document asked about: newer, older or unknown
        confidence: The confidence in the order, 0 to 1; 0 if unknown
        evidence: The reason; empty if unknown
    """

    id: str
    order: str
    confidence: float
    evidence: str


@dataclass(frozen=True, slots=True, repr=False)
class History(Shown):
    """The versions of a document among the documents of its cluster.

    Attributes:
        id: The name of the document
        cluster: Its cluster; null if it is alone
        confidence: The confidence in the order of its versions, 0 to 1; 0 without any, or for an unknown order
        versions: Its versions, from the oldest; none without any, or for an unknown order
        others: The other documents of the cluster
    """

    id: str
    cluster: str | None
    confidence: float
    versions: tuple[VersionEntry, ...] = field(repr=False)
    others: tuple[UnplacedMember, ...] = field(repr=False)


def history_of(store: Store, name: str, *, changes: bool, time_field: str | None = None) -> History:
    """The history of a stored document, with the change of each version if `changes`, from texts read again."""
    from indexer.clustering.history import version_history
    from indexer.clustering.memory import noted_canonical

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
        from indexer.matching.lexicons import StoredLexicon

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
