"""Lookup: the stored documents within a distance of a fingerprint, exactly, nearest first."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from indexer import core
from indexer.errors import IncompatibleStoreError, UsageError
from indexer.keys import SIMHASH64_LAYOUT, check_distance, probes
from indexer.model import DEFAULT_DISTANCE, Fingerprint, Match, Record, Ref
from indexer.refs import ref_order
from indexer.stores.base import Candidate, Store

_VERIFY_VALUES = 4096


@dataclass(frozen=True, slots=True)
class Answer:
    """What a lookup found.

    `matches` are the nearest documents, by distance, then by ref; `total` is how many documents lie within `distance`,
    also where fewer are listed. `probes` keys were asked for, and `candidates` distinct values had one of them.
    """

    matches: list[Match]
    total: int
    distance: int
    probes: int
    candidates: int


def similar(
    store: Store,
    fingerprint: Fingerprint | None,
    *,
    distance: int = DEFAULT_DISTANCE,
    limit: int | None = 10,
    include_short: bool = False,
    exclude: Ref | None = None,
    inside: bool = False,
) -> Answer:
    """The stored documents whose fingerprint differs from this one in at most `distance` bits, 0 to 7.

    Exact: no document of the store within the distance is missed, and none beyond it is returned. `limit` is the
    number of matches listed, None for all; memory grows with it and with the distinct values within the distance (8
    octets each), not with the number of documents. Short documents stay out unless asked for; `exclude` leaves one
    document out, as a stored one that is compared with the others. `inside` verifies inside the store, so that only
    what is within the distance leaves it; the answer is the same, and `candidates` counts only those. No fingerprint
    (None) matches nothing.

    A document that is written between the lookup and the reading of records may be counted and not listed. Raises
    UsageError for another distance or a negative limit, and where the store can't verify inside;
    IncompatibleStoreError where the store holds another scheme.
    """
    check_distance(distance)
    if limit is not None and limit < 0:
        raise UsageError(f"limit {limit}: the number of matches can't be negative")
    if fingerprint is None:
        return Answer([], 0, distance, 0, 0)
    require_scheme(store, fingerprint)
    keys = probes(fingerprint.value, distance)
    few = None if inside else store.few_with_keys(keys, include_short=include_short)
    if few is not None:
        near = sorted(_near(few, fingerprint, distance, exclude), key=_nearest)
        distinct = {record.fingerprint.value for record in few if record.fingerprint}
        return Answer(near[:limit], len(near), distance, len(keys), len(distinct))
    candidates = 0
    total = -_counted(store, fingerprint, distance, include_short, exclude)
    within = [array("Q") for _ in range(distance + 1)]
    if inside:
        coming = store.candidates_within(keys, fingerprint.value, distance, include_short=include_short)
    else:
        coming = store.candidates(keys, include_short=include_short)
    for found, candidate in verified(fingerprint.value, coming):
        candidates += 1
        if found <= distance:
            within[found].append(candidate.value)
            total += candidate.documents
    matches: list[Match] = []
    for found, values in enumerate(within):
        left = None if limit is None else limit - len(matches)
        if not values or left == 0:
            continue
        # One more is read, because the excluded document may be among them.
        records = store.with_value(values, include_short=include_short, limit=None if left is None else left + 1)
        listed = (Match(record, found) for record in records if record.ref != exclude)
        matches.extend(islice(listed, left))
    return Answer(matches, total, distance, len(keys), candidates)


def _near(records: Iterable[Record], fingerprint: Fingerprint, distance: int, exclude: Ref | None) -> Iterator[Match]:
    for record in records:
        if record.fingerprint is not None and record.ref != exclude:
            found = record.fingerprint.distance(fingerprint)
            if found <= distance:
                yield Match(record, found)


def _nearest(match: Match) -> tuple[int, str, str, str]:
    return match.distance, *ref_order(match.record.ref)


def verified(value: int, candidates: Iterable[Candidate]) -> Iterator[tuple[int, Candidate]]:
    """Each candidate with its Hamming distance, 0 to 64, to an unsigned 64-bit value, in the order given."""
    iterator = iter(candidates)
    while some := list(islice(iterator, _VERIFY_VALUES)):
        distances = core.hamming_distances(value, np.array([candidate.value for candidate in some], dtype=np.uint64))
        yield from zip(distances.tolist(), some, strict=True)


def require_scheme(store: Store, fingerprint: Fingerprint) -> None:
    """Raise IncompatibleStoreError unless the store's values can be compared with this fingerprint."""
    if store.info.scheme != fingerprint.scheme or store.info.layout != SIMHASH64_LAYOUT:
        raise IncompatibleStoreError(
            f"the store holds fingerprints of {store.info.scheme} in {store.info.layout.describe()}, "
            f"the question is one of {fingerprint.scheme} in {SIMHASH64_LAYOUT.describe()}"
        )


def _counted(store: Store, fingerprint: Fingerprint, distance: int, include_short: bool, exclude: Ref | None) -> int:
    """1 where the excluded document is among those that the store counts, else 0."""
    record = store.get([exclude])[0] if exclude is not None else None
    if record is None or record.fingerprint is None or (record.short and not include_short):
        return 0
    return int(record.fingerprint.distance(fingerprint) <= distance and store.passes(record.ref))
