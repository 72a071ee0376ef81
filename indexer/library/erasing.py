"""Deletion of documents from a collection, alone or with their copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from indexer.errors import NeardupError, NotFoundError, UsageError
from indexer.library import asking
from indexer.library.results import stored_members
from indexer.library.rows import Rows
from indexer.library.stores import OpenStore
from indexer.matching.shorthand import AnyRule
from indexer.model import Ref, name_of
from indexer.model.chunking import chunks

if TYPE_CHECKING:
    from indexer.clustering.copies import Copies
    from indexer.clustering.removal import RedundantDocument
    from indexer.library.removals import Copy, Deleted, Erased

_AT_ONCE = 1000
Unknown = Callable[[NeardupError], object]
"""Called with the error for an id that no document has, or that several have."""


class Erasing(OpenStore):
    """Deletion of documents."""

    def delete(self, ids: str | Iterable[str], *, dry_run: bool = False, unknown: Unknown | None = None) -> Deleted:
        """Delete documents, and the records of failed ones; in a dry run list them.

        In an engine, an owner's documents only lose neardup's part. `unknown` is called with the error for each unknown
        id; without it, UsageError is raised for an ambiguous id.
        """
        from indexer.clustering.versions import Deletion
        from indexer.library.removals import Deleted

        listed: list[str] = []
        deleted = missing = 0
        with self._lock, self.store.turn(wanted=not dry_run):
            before, contended = len(self.store.stripped), self.store.contended.count
            deletion = Deletion(self.store)
            for names in chunks(ids if isinstance(ids, Iterable) and not isinstance(ids, str) else [ids], _AT_ONCE):
                refs = self._known(asking.names_of(names), unknown, failed=True)
                missing += len(names) - len(refs)
                if dry_run:
                    listed += map(name_of, refs)
                else:
                    deleted += deletion.delete(refs)
                    deletion.renew()
            stripped = len(self.store.stripped) - before
            return Deleted(deleted - stripped, stripped, missing, self.tell_contended(contended), tuple(listed))

    def delete_copies(
        self,
        ids: str | Iterable[str],
        *,
        match: AnyRule = None,
        verify: Literal["text", "sketch"] | None = None,
        remove: str | Iterable[str] | None = None,
        dry_run: bool = False,
        unknown: Unknown | None = None,
        confirm: Callable[[Rows[Copy]], object] | None = None,
    ) -> Erased:
        """Delete documents and their copies with the same text, with `match` also near ones; or list them.

        A near document goes if `remove` names the relation of its text, read again, to a named document; by default if
        it says the same. With verify="sketch" all near ones go. As `neardup delete --copies-of`. `confirm` is called
        with the documents to delete, and raises to stop; `unknown` is as for `delete`. Raises UsageError for a text
        without a digest if there is no rule.
        """
        from indexer.clustering.copies import Copies
        from indexer.clustering.verdicts import Permitted

        if verify == "sketch" and remove is not None:
            raise UsageError("remove names relations, which texts tell; leave out --verify sketch")
        with self._lock, self.store.turn(wanted=not dry_run):
            contended, names = self.store.contended.count, asking.names_of(ids)
            refs = self._known(names, unknown)
            permitted = None if verify == "sketch" else Permitted.named(remove)
            copies = Copies(self.store, refs, self.rule_asked(match), permitted=permitted)
            outcomes = {"listed": copies.found}
            if confirm and copies.found and not dry_run:
                confirm(_rows(outcomes))
            if not dry_run:
                outcomes = copies.delete()
            return _erased(copies, outcomes, len(names) - len(refs), self.tell_contended(contended))

    def _known(self, names: Sequence[str], unknown: Unknown | None, *, failed: bool = False) -> list[Ref]:
        found = asking.found_each(self.store, names)
        recorded: frozenset[Ref] = frozenset()
        if failed and not all(found):
            recorded = frozenset(failure.ref for failure in self.store.failures())
        return list(_each_known(names, found, recorded, unknown))


def _each_known(
    names: Sequence[str], found: Sequence[Sequence[Ref]], recorded: frozenset[Ref], unknown: Unknown | None
) -> Iterator[Ref]:
    for name, refs in zip(names, found, strict=True):
        try:
            yield asking.only(name, refs or [Ref(name)] * (Ref(name) in recorded))
        except NotFoundError as error:
            if unknown:
                unknown(error)
        except UsageError as error:
            if unknown is None:
                raise
            unknown(error)


def _erased(
    copies: Copies, outcomes: Mapping[str, Sequence[RedundantDocument]], missing: int, contended: int
) -> Erased:
    from indexer.library.removals import Erased

    deleted, stripped, changed = (len(outcomes.get(name, ())) for name in ("deleted", "stripped", "changed"))
    unseen, tally = copies.uncompared, copies.tally
    examples = tuple(some[0] for some in tally.examples.values())
    return Erased(
        _rows(outcomes), deleted, stripped, changed, dict(tally.kinds), examples, missing,
        contended, unseen.documents, unseen.failures,
    )  # fmt: skip


def _rows(outcomes: Mapping[str, Sequence[RedundantDocument]]) -> Rows[Copy]:
    from indexer.ingest.from_store import origin_of_text
    from indexer.library.removals import Copy

    return Rows(
        Copy,
        (
            Copy(
                **stored_members(one.record), copy_of=name_of(one.repeats), similarity=one.similarity,
                identical=one.identical, relation=one.relation.word if one.relation else "",
                evidence=one.relation.evidence if one.relation else "", outcome=outcome,
                left=origin_of_text(one.record),
            )
            for outcome, some in outcomes.items()
            for one in some
        ),
    )  # fmt: skip
