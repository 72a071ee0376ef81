"""Actions on documents that come near a stored one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from indexer.clustering.canonical import loses_mail
from indexer.clustering.placing import Neighbour
from indexer.clustering.verdicts import MOST_TRIED, Permitted
from indexer.errors import UsageError, shown
from indexer.matching.relating import StoredLexicon, stored_texts
from indexer.model import Record, Ref
from indexer.model.mails import is_mail
from indexer.relations.relation import COPIES, WORDS, Relation
from indexer.stores.base import Store

ArrivalAction = Literal["store", "skip", "mark", "refuse"]
ACTIONS: tuple[ArrivalAction, ...] = get_args(ArrivalAction)

_LEFT_OUT: tuple[ArrivalAction, ...] = ("skip", "refuse")


class KnownOriginal(NamedTuple):
    """A stored or earlier document that one that comes repeats, by a `relation`, and what becomes of that one."""

    ref: Ref
    similarity: float
    action: ArrivalAction = "skip"
    relation: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """The actions on documents that come, by the relation of their texts to a stored one; all others are stored.

    A document is left out only if the stored one says the same, or all of it.
    """

    actions: Mapping[str, ArrivalAction]

    @classmethod
    def named(cls, skipped: Iterable[str], on: Iterable[str]) -> Policy:
        """Skip some relations unless `on` says otherwise, as "rendition,form=mark". Raises UsageError."""
        said: dict[str, ArrivalAction] = {}
        for choice in on:
            names, _, action = choice.partition("=")
            if action not in ACTIONS:
                raise UsageError(f"on {shown(choice)}: write RELATION=ACTION; an action is one of {', '.join(ACTIONS)}")
            given = [name.strip() for name in names.split(",")]
            if not {*given} <= {*WORDS} or action in _LEFT_OUT:
                Permitted.named(given)
            for name in given:
                if said.setdefault(name, action) != action:
                    raise UsageError(f"on {shown(choice)}: {name} has the action {said[name]} already")
        return cls({**dict.fromkeys(skipped, "skip"), **said})

    @property
    def lossy(self) -> list[str]:
        """The relations by which a document is left out though it says something else."""
        return [name for name, action in self.actions.items() if action in _LEFT_OUT and name not in COPIES]

    @property
    def reads(self) -> bool:
        """False where the digests of texts are enough, and none is read."""
        return any(action != "store" for name, action in self.actions.items() if name != "identical")

    def on(self, relation: Relation) -> ArrivalAction:
        action = self.actions.get(relation.word, "store")
        is_kept = action in _LEFT_OUT and not Permitted(frozenset((relation.word,))).lets_go(relation)
        return "store" if is_kept else action


class StandIns:
    """The choice, by their texts, of a stored or earlier stand-in for a document that comes.

    The closest relation with another action than to store it counts. Without a `policy` no text is read, and the
    nearest document counts if it is a mail or the one that comes is none.
    """

    def __init__(self, store: Store, policy: Policy | None) -> None:
        lexicon = StoredLexicon(store)
        # On arrival nobody looks at what is left out, so frame counts.
        lexicon.frames = False
        self._store, self._policy = store, policy
        self._texts = stored_texts(store, lexicon=lexicon, brief=True)

    def first_of(
        self, record: Record, near: Sequence[Neighbour], earlier: Mapping[Ref, Record]
    ) -> KnownOriginal | None:
        policy = self._policy
        if policy is None and not is_mail(record.source):
            return KnownOriginal(*near[0])
        some = near[:MOST_TRIED]
        stored = zip(some, self._store.get([one.ref for one in some], sketches=False), strict=True)
        others = [(one, other) for one, known in stored if (other := earlier.get(one.ref) or known)]
        others = [
            (one, other)
            for one, other in others
            if not loses_mail(record.source, other.source) and record.may_be_same_mail(other)
        ]
        if policy is None:
            return KnownOriginal(*others[0][0]) if others else None
        for one, other in others:
            known = self._texts.known(record, other)
            if known and (action := policy.on(known)) != "store":
                return KnownOriginal(*one, action, known.word)
        return self._by_texts(policy, record, others) if policy.reads else None

    def _by_texts(
        self, policy: Policy, record: Record, others: Sequence[tuple[Neighbour, Record]]
    ) -> KnownOriginal | None:
        # What was read of a document before may have another text now.
        self._texts.forget()
        self._texts.prepare([[record, *(other for _, other in others)]])
        found: list[KnownOriginal] = []
        for one, other in others:
            relation = self._texts.between(record, other)
            if isinstance(relation, Relation) and (action := policy.on(relation)) != "store":
                found.append(KnownOriginal(*one, action, relation.word))
                if len({*policy.actions.values()}) == 1:
                    break
        order: Sequence[str] = WORDS
        return min(found, key=lambda each: order.index(each.relation), default=None)
