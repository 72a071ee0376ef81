"""What the tests ask every store in few words, and what all answers to it have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from indexer.model import SIMHASH_DOC, Ref
from indexer.schemes.keys.simhash64 import simhash_keys
from indexer.stores import Store
from indexer.stores.sketches import Found, Probe


def documents_with_keys(store: Store, keys: Sequence[int], *, include_short: bool = False) -> dict[Ref, int]:
    """The documents that share one of these packed keys of fingerprints, each once, with their values."""
    return _values(store.probe([Probe(SIMHASH_DOC, keys)], [SIMHASH_DOC], include_short=include_short))


def counts_with_keys(store: Store, keys: Sequence[int], *, include_short: bool = False) -> dict[int, int]:
    """The values of those documents, and how many have each."""
    return dict(Counter(documents_with_keys(store, keys, include_short=include_short).values()))


def values_of(store: Store, *, include_short: bool = False) -> dict[Ref, int]:
    """Every document with a fingerprint, each once, with its value."""
    return _values(store.scan_sketches([SIMHASH_DOC], include_short=include_short))


def holders_of(store: Store, values: Sequence[int], *, include_short: bool = False) -> list[Ref]:
    """The documents with one of these values, sorted."""
    found = documents_with_keys(
        store, [key for value in values for key in simhash_keys(value)], include_short=include_short
    )
    return sorted(ref for ref, value in found.items() if value in values)


def _values(answers: Iterator[Found]) -> dict[Ref, int]:
    found: dict[Ref, int] = {}
    for some in answers:
        rows = some.payloads[SIMHASH_DOC]
        assert len(rows) == len(some.refs)
        values = [int.from_bytes(rows.bytes_of(place), "big") for place in range(len(rows))]
        assert set(rows.sizes.tolist()) <= {8}
        if some.records is not None:
            listed = [(each.ref, each.fingerprint and each.fingerprint.value) for each in some.records]
            assert listed == list(zip(some.refs, values, strict=True))
        for ref, value in zip(some.refs, values, strict=True):
            assert ref not in found
            found[ref] = value
    return found
