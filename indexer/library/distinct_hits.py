"""Fold the copies among the hits of a search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from indexer.errors import ExtractionError, NeardupError, UsageError
from indexer.library import asking
from indexer.library.rows import Rows
from indexer.library.stores import OpenStore
from indexer.matching.shorthand import AnyRule
from indexer.model import Document, Record, Ref, Sketch

if TYPE_CHECKING:
    from indexer.clustering.verdicts import Relations
    from indexer.relations.facts import DifferingFact
    from indexer.schemes.base import Positions
    from indexer.stores.base import Store


@dataclass(frozen=True, slots=True)
class FoldedCopy:
    """A folded hit."""

    position: Annotated[int, "Its place among the hits, from 0"]
    id: Annotated[str | None, "Its id; null for a text without one"]
    similarity: Annotated[float, "The similarity (0 to 1) to the hit it is folded into"]
    relation: Annotated[
        str, "The relation of its text to that hit's: identical, reflowed, noise, or rendition on request"
    ]


@dataclass(frozen=True, slots=True)
class DistinctHit:
    """A hit without a copy before it, with its later copies."""

    position: Annotated[int, "Its place among the hits, from 0"]
    id: Annotated[str | None, "Its id; null for a text without one"]
    copies: Annotated[Rows[FoldedCopy], "The later hits folded into it, in order"]
    error: Annotated[NeardupError | None, "The reason why it could not be compared and stands for itself; null if it "
        "could"] = None  # fmt: skip


class Folding(OpenStore):
    """Hits of searches, folded."""

    def distinct(
        self,
        hits: Iterable[tuple[str | None, str | None] | Mapping[str, str | None]],
        *,
        match: AnyRule = None,
        renditions: bool = False,
        threads: int | None = None,
    ) -> Rows[DistinctHit]:
        """The hits without a copy before them, with their later copies.

        Each is a pair (id, text), or a dict with id, text or both. A hit with a text is compared by it, one without by
        the stored document of its id; so any ranking, of keys, words or vectors, can be folded. Near hits are aligned,
        stored ones are read again. A hit is a copy if it is identical, reflowed or misread; with `renditions` also the
        same work in another format or frame. All others stand for themselves, also forms and unreadable ones. Raises
        UsageError for a rule of parts, and for one that compares texts.
        """
        from indexer.clustering.verdicts import NOT_VERIFIED
        from indexer.library.making import many_sketches
        from indexer.library.memory import rule_without_store
        from indexer.library.texts import dedupe_sketches

        listed = [_id_and_text(number, hit) for number, hit in enumerate(hits, 1)]
        texts = {place: text for place, (_, text) in enumerate(listed) if text is not None}
        errors: dict[int, NeardupError] = {}
        with self._lock:
            rule = rule_without_store(self.rule(match))
            rule.require_copies()
            named = [(place, id_ or "") for place, (id_, text) in enumerate(listed) if text is None]
            records = self._stored_hits(named, errors)
            made: list[dict[str, Sketch | None]] = [dict.fromkeys(rule.schemes) for _ in listed]
            for place, record in records.items():
                made[place] = {name: record.sketches.get(name) for name in rule.schemes}
            for place, sketches in zip(texts, many_sketches([*texts.values()], rule.schemes), strict=True):
                made[place] = sketches
            related = partial(_relations, self.store, texts, records, renditions=renditions)
            of, similarity, verdicts = dedupe_sketches(made, rule, related, threads=threads)
        copies: dict[int, list[FoldedCopy]] = {}
        for place, kept in enumerate(of.tolist()):
            folded = copies.setdefault(kept, [])
            verdict = verdicts.get(place)
            if kept != place and verdict and verdict.relation:
                copy = FoldedCopy(place, listed[place][0], float(similarity[place]), verdict.relation.word)
                folded.append(copy)
            elif verdict and verdict.reason and verdict.reason.kind == NOT_VERIFIED:
                errors[place] = UsageError(verdict.reason.sentence)
        return Rows(
            DistinctHit,
            (
                DistinctHit(place, listed[place][0], Rows(FoldedCopy, folded), errors.get(place))
                for place, folded in sorted(copies.items())
            ),
        )

    def _stored_hits(self, named: Sequence[tuple[int, str]], errors: dict[int, NeardupError]) -> dict[int, Record]:
        refs: dict[int, Ref] = {}
        for (place, id_), found in zip(named, self.store.find_each([id_ for _, id_ in named]), strict=True):
            try:
                refs[place] = asking.only(id_, found)
            except NeardupError as error:
                errors[place] = error
        records: dict[int, Record] = {}
        for (place, ref), record in zip(refs.items(), self.store.get([*refs.values()]), strict=True):
            if record is None:
                errors[place] = asking.missing(ref.id)
            else:
                records[place] = record
        return records


def _relations(
    store: Store,
    texts: Mapping[int, str],
    records: Mapping[int, Record],
    positions: Positions,
    *,
    renditions: bool,
) -> Relations[int]:
    """The relations of hits, by their places among the compared `positions`."""
    from indexer.clustering.verdicts import Permitted, Relations
    from indexer.core.text import text_digest
    from indexer.ingest.rereading import StoredTexts
    from indexer.matching.relating import (
        BesideTexts,
        PartsBeside,
        RelatedTexts,
        StoredLexicon,
        all_read,
        all_told,
        stored_facts,
    )
    from indexer.model.mails import is_mail
    from indexer.relations.beside import own_title
    from indexer.relations.relation import COPIES, SAME_WORK

    reader = StoredTexts(store)

    def stored(place: int) -> Record | None:
        return records.get(int(positions[place]))

    def read(places: Sequence[int]) -> Iterator[tuple[int, Document | str | ExtractionError]]:
        of: dict[Ref, list[int]] = {}
        for place in places:
            if record := stored(place):
                of.setdefault(record.ref, []).append(place)
            else:
                yield place, texts[int(positions[place])]
        wanted = {record.ref: record for record in map(stored, places) if record}
        for record, document in reader.documents(wanted.values()):
            yield from ((place, document) for place in of.pop(record.ref, ()))

    def beside(one: int, other: int, parts: PartsBeside) -> tuple[DifferingFact, ...]:
        left, right = stored(one), stored(other)
        return stored_facts(left, right, parts) if left and right else ()

    def digest(place: int) -> str:
        if record := stored(place):
            return all_read(record)
        # Nothing else was read of a text that is given alone, so both digests are one.
        return 2 * text_digest(texts[int(positions[place])]).hex()

    related = RelatedTexts(
        read,
        key=int,
        name=lambda place: f"hit {positions[place] + 1}",
        digest=digest,
        lexicon=StoredLexicon(store),
        brief=True,
        beside=BesideTexts(
            lambda place: own_title(record.title, record.source) if (record := stored(place)) else "",
            beside,
            lambda place: record.format if (record := stored(place)) else "",
            lambda place: all_told(record) if (record := stored(place)) else "",
        ),
    )
    folds = Permitted(frozenset((*COPIES, *SAME_WORK) if renditions else COPIES))
    return Relations(folds, related, lambda place: (record := stored(place)) is not None and is_mail(record.source))


def _id_and_text(number: int, hit: Any) -> tuple[str | None, str | None]:
    if isinstance(hit, Mapping) and hit.keys() <= {"id", "text"}:
        hit = (hit.get("id"), hit.get("text"))
    if (
        not isinstance(hit, tuple | list)
        or len(hit) != 2
        or not all(each is None or isinstance(each, str) for each in hit)
        or hit[0] is hit[1] is None
    ):
        raise UsageError(f"hits: hit {number} must be a pair (id, text) or a dict with id, text or both, as strings")
    return hit[0], hit[1]
