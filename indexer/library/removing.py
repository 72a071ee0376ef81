"""The removal of documents for a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexer.errors import UsageError

if TYPE_CHECKING:
    from indexer.clustering.removal import Removal
    from indexer.library.options import RemovalRequest
    from indexer.stores import Store


def removal_of(asked: RemovalRequest, store: Store) -> Removal:
    from indexer.clustering.deciding import DecidedPruning
    from indexer.clustering.decision_file import read_decisions
    from indexer.clustering.older import VersionPruning
    from indexer.clustering.parts import PartPruning

    if asked.ignore_field and not asked.with_documents:
        raise UsageError("ignore_field goes with with_documents")
    if isinstance(asked.ignore_field, str):
        raise UsageError(f"ignore_field {asked.ignore_field!r}: give a tuple of names")
    if asked.last_copies and asked.decisions is None:
        raise UsageError("last_copies goes with decisions")
    instead = [name for name in ("decisions", "parts", "older_versions") if getattr(asked, name)]
    if len(instead) > 1 or (instead and (asked.remove is not None or asked.verify or asked.unverified)):
        raise UsageError(f"{instead[0]} says what goes: nothing else is demanded, or permitted")
    if asked.decisions is not None:
        return DecidedPruning(
            store, read_decisions(asked.decisions), last_copies=asked.last_copies,
            with_documents=asked.with_documents, ignored=asked.ignore_field,
        )  # fmt: skip
    if asked.parts or asked.older_versions:
        chosen = PartPruning if asked.parts else VersionPruning
        return chosen(store, with_documents=asked.with_documents, ignored=asked.ignore_field)
    return _pruning(asked, store)


def _pruning(asked: RemovalRequest, store: Store) -> Removal:
    from indexer.clustering.prune import Pruning, sketch_verification
    from indexer.clustering.relations import Permitted
    from indexer.relations.relation import COPIES

    by_sketch = asked.unverified or asked.verify == "sketch"
    if by_sketch and asked.remove is not None:
        raise UsageError('remove names relations, which texts tell: leave out unverified and verify="sketch"')
    # Documents of an owner go as a whole, so that it takes a word to remove more than what is identical.
    usual = ("identical",) if asked.with_documents and asked.verify is None else COPIES
    return Pruning(
        store, verify=sketch_verification(store) if asked.verify == "sketch" else None, unverified=asked.unverified,
        with_documents=asked.with_documents, ignored=asked.ignore_field,
        permitted=None if by_sketch else Permitted.named(asked.remove, usual),
    )  # fmt: skip
