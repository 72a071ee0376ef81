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
    from indexer.clustering.parts import PartPruning

    if asked.ignore_field and not asked.with_documents:
        raise UsageError("ignore_field goes with with_documents")
    if isinstance(asked.ignore_field, str):
        raise UsageError(f"ignore_field {asked.ignore_field!r}: give a tuple of names")
    if asked.last_copies and asked.decisions is None:
        raise UsageError("last_copies goes with decisions")
    demanded = asked.identical or asked.verify or asked.unverified or asked.forms or asked.edited
    if asked.decisions is not None:
        if asked.parts or demanded:
            raise UsageError("a file of decisions says what goes: nothing else is demanded, or permitted")
        return DecidedPruning(
            store, read_decisions(asked.decisions), last_copies=asked.last_copies,
            with_documents=asked.with_documents, ignored=asked.ignore_field,
        )  # fmt: skip
    if asked.parts:
        if demanded:
            raise UsageError("parts stand whole in another text: nothing else is demanded of them, or permitted")
        return PartPruning(store, with_documents=asked.with_documents, ignored=asked.ignore_field)
    return _pruning(asked, store)


def _pruning(asked: RemovalRequest, store: Store) -> Removal:
    from indexer.clustering.prune import Pruning, sketch_verification
    from indexer.clustering.relations import Permitted

    # Documents of an owner go as a whole, so that it takes a word to remove more than what is identical.
    owners = asked.with_documents and asked.verify is None
    by_text = not (asked.identical or asked.unverified or asked.verify == "sketch" or owners)
    if (asked.forms or asked.edited) and not by_text:
        raise UsageError("forms and edited are for documents whose texts are compared")
    return Pruning(
        store, verify=sketch_verification(store) if asked.verify == "sketch" else None, unverified=asked.unverified,
        identical=asked.identical, with_documents=asked.with_documents, ignored=asked.ignore_field,
        permitted=Permitted(asked.forms, asked.edited) if by_text else None,
    )  # fmt: skip
