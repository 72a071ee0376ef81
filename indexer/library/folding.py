"""Fold the copies among the hits of a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from indexer.errors import NeardupError, UsageError
from indexer.library import asking
from indexer.library.rows import Rows
from indexer.library.rules import AnyRule
from indexer.library.stores import OpenStore
from indexer.model import Ref


@dataclass(frozen=True, slots=True)
class FoldedCopy:
    """A folded hit."""

    position: Annotated[int, "Its place among the hits, from 0"]
    id: Annotated[str | None, "Its id; null for a text without one"]
    similarity: Annotated[float, "The similarity (0 to 1) to the hit it is folded into"]


@dataclass(frozen=True, slots=True)
class DistinctHit:
    """A hit without a near one before it, with later near ones."""

    position: Annotated[int, "Its place among the hits, from 0"]
    id: Annotated[str | None, "Its id; null for a text without one"]
    copies: Annotated[Rows[FoldedCopy], "The later hits near it, in order"]
    error: Annotated[NeardupError | None, "The reason why it could not be compared and stands for itself; null if it "
        "could"] = None  # fmt: skip


class Folding(OpenStore):
    """Hits of searches, folded."""

    def distinct(
        self,
        hits: Iterable[tuple[str | None, str | None] | Mapping[str, str | None]],
        *,
        match: AnyRule = None,
        threads: int | None = None,
    ) -> Rows[DistinctHit]:
        """The hits without a near one before them, with their later near ones.

        Each is a pair (id, text), or a dict with id, text or both. A hit with a text is compared by it, one without by
        the stored sketches of its id; so any ranking, of keys, words or vectors, can be folded. Nothing is removed: a
        form of another hit, with other facts, is folded too and named among the copies. Raises UsageError for a rule of
        parts, and for one that compares texts.
        """
        from indexer.library.making import many_sketches
        from indexer.library.memory import rule_without_store
        from indexer.library.texts import dedupe_sketches

        listed = [_id_and_text(number, hit) for number, hit in enumerate(hits, 1)]
        with self._lock:
            rule = rule_without_store(self.rule(match))
            rule.require_copies()
            errors: dict[int, NeardupError] = {}
            made: list[dict[str, Any]] = [dict.fromkeys(rule.schemes) for _ in listed]
            self._add_stored([(place, id_) for place, (id_, text) in enumerate(listed) if text is None], made, errors)
        texts = [(place, text) for place, (_, text) in enumerate(listed) if text is not None]
        for (place, _), sketches in zip(texts, many_sketches([text for _, text in texts], rule.schemes), strict=True):
            made[place] = sketches
        of, similarity = dedupe_sketches(made, rule, threads=threads)
        copies: dict[int, list[FoldedCopy]] = {}
        for place, kept in enumerate(of.tolist()):
            folded = copies.setdefault(kept, [])
            if kept != place:
                folded.append(FoldedCopy(place, listed[place][0], float(similarity[place])))
        return Rows(
            DistinctHit,
            (
                DistinctHit(place, listed[place][0], Rows(FoldedCopy, folded), errors.get(place))
                for place, folded in sorted(copies.items())
            ),
        )

    def _add_stored(
        self,
        named: Sequence[tuple[int, str | None]],
        made: list[dict[str, Any]],
        errors: dict[int, NeardupError],
    ) -> None:
        refs: dict[int, Ref] = {}
        names = [id_ or "" for _, id_ in named]
        for (place, id_), found in zip(named, self.store.find_each(names), strict=True):
            try:
                refs[place] = asking.only(id_ or "", found)
            except NeardupError as error:
                errors[place] = error
        for (place, ref), record in zip(refs.items(), self.store.get([*refs.values()]), strict=True):
            if record is None:
                errors[place] = asking.missing(ref.id)
            else:
                made[place] = {name: record.sketches.get(name) for name in made[place]}


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
