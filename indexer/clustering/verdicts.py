"""Relations of documents to their stand-ins, and the decision to remove them."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from indexer.errors import UsageError, shown
from indexer.matching.relating import RelatedTexts
from indexer.model.chunking import chunks
from indexer.relations.relation import COPIES, PARTS, REMOVABLE, SAME_WORK, Relation, RelationWord
from indexer.relations.wording import Wording
from indexer.schemes.base import Positions

NOT_VERIFIED = "not verified"
"""The kind of reason of what could not be read."""

# Characters of the texts of one cluster that stay, and what each of its documents counts beside these.
_STAYING, _EACH = 64_000_000, 200
# A document that would stay is compared with so many others of its cluster, by words that its stand-in lacks.
MOST_TRIED, _LOOKED_AT = 5, 200
_SETTLED_AT_ONCE = 2000

AnyDocument = TypeVar("AnyDocument")


class Reason(NamedTuple):
    """The reason to keep a document: its `kind`, shared by others, and a `sentence` about this one."""

    kind: str
    sentence: str


APART = Reason("called not the same", "somebody called it not the same")
_KEPT = {
    "rendition": "another format or frame",
    "form": "facts differ (forms)",
    "reworded": "sentences are reworded",
}


@dataclass(frozen=True, slots=True)
class Permitted:
    """The relations by which a document may go for another one."""

    relations: frozenset[str] = frozenset(COPIES)

    @classmethod
    def named(cls, names: str | Iterable[str] | None, usual: Sequence[RelationWord] = COPIES) -> Permitted:
        """The relations of these names, in a string with commas between them; `usual` ones for None.

        Raises UsageError for what is no relation, and for parts.
        """
        if names is None:
            return cls(frozenset(usual))
        listed = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
        for name in listed:
            if name == "part":
                raise UsageError(
                    "a part is no copy: neardup prune --parts removes what stands whole in another document"
                )
            if name not in REMOVABLE:
                raise UsageError(f"relation {shown(name)}: say some of {', '.join(REMOVABLE)}")
        if not listed:
            raise UsageError(f"no relation is named: say some of {', '.join(REMOVABLE)}")
        return cls(frozenset(listed))

    @property
    def reads(self) -> bool:
        """False where the digests of texts are enough, and none is read."""
        return self.relations != {"identical"}

    @property
    def only_copies(self) -> bool:
        """True where only documents that say the same may go, so that few texts need a whole comparison."""
        return self.relations <= {*COPIES}

    def reason_to_keep(self, relation: Relation, repeats: str) -> Reason | None:
        reason = self.loses(relation, repeats)
        if reason is None and relation.word in COPIES and relation.cleaner == "left":
            return Reason("cleaner than the repeated document", f"{relation}, beside {repeats}")
        return reason

    def lets_go(self, relation: Relation) -> bool:
        return self.reason_to_keep(relation, "") is None

    def loses(self, relation: Relation, repeats: str) -> Reason | None:
        kind = _KEPT.get(relation.word, f"relation: {relation.word}")
        if relation.word in ("edited", *PARTS):
            kind = "says less than the repeated document"
            if not relation.says_less:
                return Reason("some sentences stand in no document that stays", f"{relation}, beside {repeats}")
        return None if relation.word in self.relations else Reason(kind, f"{relation}, beside {repeats}")


class Verdict(NamedTuple, Generic[AnyDocument]):
    """The stand-in of a document, its `relation` to it, and the reason to keep it all the same, if any."""

    repeats: AnyDocument
    relation: Relation | None
    reason: Reason | None


@dataclass(slots=True)
class _Staying(Generic[AnyDocument]):
    """The kept documents of one cluster, by their digests, their words, and the words a stand-in lacks."""

    cluster: str = ""
    documents: list[AnyDocument] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    characters: int = 0
    by_digest: dict[str, int] = field(default_factory=dict)
    by_words: dict[bytes, int] = field(default_factory=dict)
    by_word: dict[int, list[int]] = field(default_factory=dict)
    stand_ins: set[Hashable] = field(default_factory=set)
    replaced: set[Hashable] = field(default_factory=set)
    works: dict[Hashable, AnyDocument] = field(default_factory=dict)
    """Of those that differ from their stand-in, the first one whose renditions they are, or themselves."""
    waiting: list[tuple[AnyDocument, AnyDocument | None]] = field(default_factory=list)
    """Those that are not taken in yet, with the one that each was compared with; in most clusters none need be."""

    def add(self, document: AnyDocument, wording: Wording | None, digests: Sequence[str], own: Sequence[int]) -> None:
        text = wording.text if wording else ""
        if self.characters + len(text) + _EACH > _STAYING:
            return
        number = len(self.documents)
        self.documents.append(document)
        self.texts.append(text)
        self.characters += len(text) + _EACH
        for digest in digests:
            self.by_digest.setdefault(digest, number)
        if wording is None:
            return
        self.by_words.setdefault(_all_words(wording), number)
        for word in own or (0,):
            self.by_word.setdefault(word, []).append(number)

    def like(self, wording: Wording | None, digests: Sequence[str], own: Sequence[int]) -> Iterator[int]:
        same = [self.by_digest.get(digest) for digest in digests]
        if wording:
            same.append(self.by_words.get(_all_words(wording)))
        yield from (first := dict.fromkeys(number for number in same if number is not None))
        shared: Counter[int] = Counter()
        for word in own or (0,):
            shared.update(self.by_word.get(word, ())[:_LOOKED_AT])
        likely = (number for number, _ in shared.most_common(_LOOKED_AT))
        yield from itertools.islice((number for number in likely if number not in first), MOST_TRIED)


def _all_words(wording: Wording) -> bytes:
    return hashlib.blake2b(wording.values.tobytes(), digest_size=16).digest()


class Relations(Generic[AnyDocument]):
    """The relations of documents to their stand-ins, and of kept documents to each other.

    Give documents cluster by cluster. A document kept for other facts than its stand-in's may still be the copy of
    another one of its cluster kept for the same reason. No mail by `mail` goes for a document that is none. Memory:
    that of `texts`, and some 64 million characters of a cluster.
    """

    def __init__(
        self,
        permitted: Permitted,
        texts: RelatedTexts[AnyDocument],
        mail: Callable[[AnyDocument], bool] = lambda _: False,
    ) -> None:
        self.permitted, self.texts, self._mail = permitted, texts, mail
        self._staying: _Staying[AnyDocument] = _Staying()
        self._found: dict[tuple[Hashable, Hashable], Relation | str] = {}

    def prepare(self, pairs: Iterable[tuple[str, AnyDocument, AnyDocument]]) -> None:
        self._found = {}
        self._take_in()
        if not self.permitted.reads:
            return
        clusters: dict[str, dict[Hashable, AnyDocument]] = {}
        alike: list[tuple[AnyDocument, AnyDocument]] = []
        for cluster, document, stand_in in pairs:
            if self.texts.known(document, stand_in):
                alike.append((document, stand_in))
            else:
                both = {self.texts.key(one): one for one in (stand_in, document)}
                clusters.setdefault(cluster, {}).update(both)
        self.texts.prepare([list(some.values()) for some in clusters.values()], alike=alike)

    def verdicts(
        self,
        cluster: str,
        pairs: Sequence[tuple[AnyDocument, AnyDocument]],
        near: Callable[[AnyDocument, AnyDocument], bool],
        may_go: Callable[[AnyDocument], bool] = lambda _: True,
    ) -> Iterator[tuple[AnyDocument, Verdict[AnyDocument]]]:
        """The verdict on each repeat of a cluster, in (document, stand-in), all prepared.

        A stand-in that is a copy of one of its documents with more misread words goes for that one: its verdict comes
        first, and its other repeats are compared with the kept one. `near` says whether a document is near another one,
        `may_go` is false for one kept whatever it says.
        """
        self._enter(cluster)
        repeating: dict[Hashable, list[tuple[AnyDocument, AnyDocument]]] = {}
        for document, stand_in in pairs:
            repeating.setdefault(self.texts.key(stand_in), []).append((document, stand_in))
        cleaner: dict[Hashable, AnyDocument] = {}
        for key, some in repeating.items():
            # Something has gone for one that was a stand-in before, or it has gone itself.
            seen = key in self._staying.stand_ins or key in self._staying.replaced
            if not seen and may_go(some[0][1]) and (verdict := self._cleaner(some)):
                cleaner[key] = verdict.repeats
                self._staying.replaced.add(key)
                self._stands(verdict.repeats)
                yield some[0][1], verdict
        for document, stand_in in pairs:
            instead = cleaner.get(self.texts.key(stand_in), stand_in)
            if not may_go(document):
                self._stands(instead)
                self._stay(document, instead)
            elif self.texts.key(stand_in) not in self._staying.replaced:
                yield document, self.judge(cluster, document, stand_in, partial(near, document))
            else:
                yield document, self._instead(cluster, document, stand_in, instead, near)

    def _cleaner(self, pairs: Sequence[tuple[AnyDocument, AnyDocument]]) -> Verdict[AnyDocument] | None:
        found: Verdict[AnyDocument] | None = None
        stand_in = pairs[0][1]
        for document, _ in pairs:
            if self.texts.known(document, stand_in):
                continue
            relation = self.between(document, found.repeats if found else stand_in)
            if isinstance(relation, Relation) and relation.may_hold and not self.permitted.lets_go(relation):
                reverse = self.between(stand_in, document)
                if isinstance(reverse, Relation) and self._lets_go(stand_in, document, reverse):
                    found = Verdict(document, reverse, None)
        return found

    def _instead(
        self,
        cluster: str,
        document: AnyDocument,
        stand_in: AnyDocument,
        instead: AnyDocument,
        near: Callable[[AnyDocument, AnyDocument], bool],
    ) -> Verdict[AnyDocument]:
        if self.texts.key(instead) == self.texts.key(document):
            relation = self.between(document, stand_in)
            assert isinstance(relation, Relation)  # noqa: S101 - by it the stand-in goes
            says = f"{relation}, beside {self.texts.name(stand_in)}, which goes in its favour"
            return Verdict(stand_in, relation, Reason("other documents repeat it and go", says))
        if self.texts.key(instead) != self.texts.key(stand_in) and near(document, instead):
            return self.judge(cluster, document, instead, partial(near, document))
        says = f"{self.texts.name(stand_in)}, the document it repeats, goes for a cleaner one that is not near this one"
        self._stay(document, None)
        return Verdict(stand_in, None, Reason("the repeated document goes for a cleaner one", says))

    def judge(
        self, cluster: str, document: AnyDocument, stand_in: AnyDocument, near: Callable[[AnyDocument], bool]
    ) -> Verdict[AnyDocument]:
        """Judge a document of a cluster and its stand-in, both prepared.

        `near` says whether another document is near enough to be a stand-in.
        """
        self.stands(cluster, stand_in)
        relation = self.between(document, stand_in)
        reason = self._reason_to_keep(document, stand_in, relation)
        known = None if isinstance(relation, str) else relation
        if reason is None:
            return Verdict(stand_in, known, None)
        return self.instead(cluster, document, stand_in, near) or Verdict(stand_in, known, reason)

    def instead(
        self,
        cluster: str,
        document: AnyDocument,
        stand_in: AnyDocument,
        near: Callable[[AnyDocument], bool],
        *,
        differs: bool = False,
    ) -> Verdict[AnyDocument] | None:
        """The verdict on a document that can't go for its stand-in but for another one of the cluster that stays.

        None where it stays itself. If it `differs` from the stand-in, as from a corrected version, it may be a
        rendition of another document that does, and stay beside that one.
        """
        self.stands(cluster, stand_in)
        work: AnyDocument | None = None
        for other, found in self._others(document, stand_in):
            if self._lets_go(document, other, found) and near(other):
                return Verdict(other, found, None)
            work = self.work_of(other) if work is None else work
        self._stay(document, stand_in)
        if not differs:
            return None
        # A fact that was corrected may stand elsewhere in the text too, so no word tells of it.
        work = next(iter(self._staying.works.values()), None) if work is None else work
        same = None if work is None else self.texts.between(document, work)
        if work is None or not isinstance(same, Relation) or same.word not in SAME_WORK:
            self._staying.works[self.texts.key(document)] = document
            return None
        self._staying.works[self.texts.key(document)] = work
        return Verdict(work, same, self.permitted.reason_to_keep(same, self.texts.name(work)))

    def work_of(self, document: AnyDocument) -> AnyDocument | None:
        """The first document of its work, for one that differs from its stand-in."""
        return self._staying.works.get(self.texts.key(document))

    def stands(self, cluster: str, stand_in: AnyDocument) -> None:
        """Note that a document stays, for which others of the cluster may go."""
        self._enter(cluster)
        self._stands(stand_in)

    def forget(self) -> None:
        """Let go of all documents."""
        self._staying, self._found = _Staying(), {}

    def _reason_to_keep(self, document: AnyDocument, stand_in: AnyDocument, relation: Relation | str) -> Reason | None:
        name = self.texts.name(stand_in)
        if isinstance(relation, Relation):
            return (
                mail_reason(name)
                if self._is_lost(document, stand_in)
                else self.permitted.reason_to_keep(relation, name)
            )
        if self.permitted.reads:
            return Reason(NOT_VERIFIED, f"not verified: {relation}")
        return Reason("text not identical", f"its text is not identical with that of {name}")

    def _lets_go(self, document: AnyDocument, other: AnyDocument, relation: Relation) -> bool:
        return self.permitted.lets_go(relation) and not self._is_lost(document, other)

    def _is_lost(self, document: AnyDocument, other: AnyDocument) -> bool:
        return self._mail(document) and not self._mail(other)

    def _enter(self, cluster: str) -> None:
        if self._staying.cluster != cluster:
            self._staying = _Staying(cluster)

    def _stands(self, stand_in: AnyDocument) -> None:
        if (key := self.texts.key(stand_in)) not in self._staying.stand_ins:
            self._staying.stand_ins.add(key)
            self._stay(stand_in, None)

    def between(self, document: AnyDocument, other: AnyDocument) -> Relation | str:
        pair = self.texts.key(document), self.texts.key(other)
        if pair not in self._found:
            compared = self.permitted.reads or self.texts.identical(document, other)
            self._found[pair] = self.texts.between(document, other) if compared else "it was not read"
        return self._found[pair]

    def _stay(self, document: AnyDocument, stand_in: AnyDocument | None) -> None:
        self._staying.waiting.append((document, stand_in))

    def _take_in(self) -> None:
        for document, stand_in in self._staying.waiting:
            wording, digests = self.texts.wording(document), self.texts.digests(document)
            if wording or digests:
                self._staying.add(document, wording, digests, self._own(document, stand_in))
        self._staying.waiting.clear()

    def _others(self, document: AnyDocument, stand_in: AnyDocument) -> Iterator[tuple[AnyDocument, Relation]]:
        staying = self._staying
        if not staying.documents and {self.texts.key(one) for one, _ in staying.waiting} <= {self.texts.key(stand_in)}:
            return
        self._take_in()
        wording = self.texts.wording(document)
        own, digests = self._own(document, stand_in), self.texts.digests(document)
        for number in staying.like(wording, digests, own):
            other = staying.documents[number]
            if self.texts.key(other) == self.texts.key(stand_in):
                # That one was asked first.
                continue
            if known := self.texts.known(document, other):
                yield other, known
            elif wording is not None and staying.texts[number]:
                theirs = self.texts.wording(other) or Wording(staying.texts[number])
                only_copies = self.permitted.only_copies
                yield other, self.texts.by_texts(document, other, wording, theirs, only_copies=only_copies)

    def _own(self, document: AnyDocument, stand_in: AnyDocument | None) -> list[int]:
        one, other = self.texts.wording(document), None if stand_in is None else self.texts.wording(stand_in)
        lacking = set[int]() if other is None else {*other.hashes.tolist()}
        return [] if one is None else list({*one.hashes.tolist()} - lacking)


def mail_reason(beside: str) -> Reason:
    """The reason to keep a mail near a document that is none: sender, recipients and date would be lost."""
    return Reason("a mail beside another kind of document", f"it is a mail, and {beside} is none")


def verdicts_of(
    relations: Relations[int],
    of: Positions,
    ranks: Positions,
    together: Positions,
    near: Callable[[int, int], bool],
    may_go: Callable[[int], bool] = lambda _: True,
) -> Iterator[tuple[int, Verdict[int]]]:
    going = np.flatnonzero(of != np.arange(of.size))
    going = going[np.lexsort((ranks[going], together[going]))]
    for page in whole_pages(going, together[going]):
        pairs = [(str(together[document]), document, int(of[document])) for document in page]
        relations.prepare(pairs)
        for name, some in itertools.groupby(pairs, key=itemgetter(0)):
            yield from relations.verdicts(name, [(document, stand_in) for _, document, stand_in in some], near, may_go)


def whole_pages(documents: Positions, together: Positions) -> Iterator[list[int]]:
    ends = [*(np.flatnonzero(together[1:] != together[:-1]) + 1).tolist(), documents.size]
    start = last = 0
    for end in ends:
        if end - start > _SETTLED_AT_ONCE and last > start:
            yield documents[start:last].tolist()
            start = last
        if end - start > _SETTLED_AT_ONCE:
            yield from chunks(documents[start:end].tolist(), _SETTLED_AT_ONCE)
            start = end
        last = end
    if start < last:
        yield documents[start:last].tolist()
