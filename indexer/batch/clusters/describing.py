"""Names, origins and order of preference of clustered documents.

The functions take columns of sketches, with the members of a cluster one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import (
    arrow,
    column_of,
    column_of_strings,
    compute,
    flags_of,
    joined_of,
    numbers_of,
    one_array,
    present_in,
)
from indexer.clustering.assign import EarlierNames
from indexer.clustering.canonical import COPY_WORDS, CanonicalRule
from indexer.clustering.versions import PlacedVersion, Succession, by_version
from indexer.core.sketches import cluster_ids, sorted_distinct
from indexer.model import MOST_ORIGINS, Fingerprint, Record, Ref
from indexer.model.mails import MAILS, mail_head
from indexer.model.origins import origin_of
from indexer.model.times import now, time_keys
from indexer.relations.beside import own_title
from indexer.schemes.base import Positions

# Which arrival or the id decides between.
_ANY = Ref("")
HEAD_COLUMNS = ("source", "title", "metadata")
"""The columns of sketches that hold the heads of mails."""
DIGESTS = ("text_digest", "read_digest", "beside_digest")
TOLD_BY = ("format", *HEAD_COLUMNS, *DIGESTS)
"""The columns of sketches that tell how documents stand to each other, beside their texts."""


def ranks_in(rows: Any, canonical: CanonicalRule, arrivals: Positions | None) -> Positions:
    """The place (int64) of each document in the order of a canonical rule: preferred ones come first.

    Raises UsageError for incomparable times.
    """
    times, sources = arrow.array(time_keys(rows["time"].to_pylist()), arrow.string()), rows["source"]
    keys = {
        "preferred": column_of(_preference(rows, canonical)),
        "other": compute.invert(are_mails(sources)),
        "copies": compute.count_substring_regex(_after_slash(sources), COPY_WORDS, ignore_case=True),
        "unknown": compute.equal(times, ""),
        "time": times,
        "last": rows["id"] if arrivals is None else column_of(arrivals),
    }
    # Texts are sorted by their bytes in UTF-8, and so by their characters.
    order = compute.sort_indices(arrow.table(keys), sort_keys=[(name, "ascending") for name in keys])
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[numbers_of(order)] = np.arange(len(order))
    return ranks


def are_mails(sources: Any) -> Any:
    return compute.match_substring_regex(_after_slash(sources), MAILS, ignore_case=True)


def mail_heads(rows: Any) -> Any:
    heads: list[str | None] = [None] * len(rows)
    for place in np.flatnonzero(flags_of(are_mails(rows["source"]))).tolist():
        source, title, metadata = (rows[name][place].as_py() for name in HEAD_COLUMNS)
        heads[place] = json.dumps(mail_head(source, title or "", json.loads(metadata) if metadata else {}))
    return column_of_strings(heads)


def own_titles(rows: Any) -> Any:
    """The titles of documents that say something of them, else empty."""
    titles, sources = (rows[name].to_pylist() for name in ("title", "source"))
    return column_of_strings(
        [own_title(title or "", source or "") for title, source in zip(titles, sources, strict=True)]
    )


def beside_texts(rows: Any) -> dict[str, Any]:
    """The columns mail, title and digest of `indexer.batch.clusters.judging.NEAR`."""
    joined = compute.binary_join_element_wise(*(compute.cast(rows[name], arrow.binary()) for name in DIGESTS), b"")
    return {"mail": mail_heads(rows), "title": own_titles(rows), "digest": one_array(joined)}


def _after_slash(sources: Any) -> Any:
    return compute.binary_join_element_wise("", compute.coalesce(sources, ""), "/")


def _preference(rows: Any, canonical: CanonicalRule) -> Positions:
    if canonical.kind == "earliest":
        return np.zeros(len(rows), dtype=np.int64)
    texts = rows["metadata"].to_pylist() if canonical.reads_metadata else [None] * len(rows)
    keys = []
    for count, source, text in zip(rows["tokens"].to_pylist(), rows["source"].to_pylist(), texts, strict=True):
        metadata = json.loads(text) if text else {}
        keys.append(
            canonical.preferred(
                Record(_ANY, Fingerprint(0, count).sketches(()), source=source or "", metadata=metadata)
            )
        )
    places = {key: place for place, key in enumerate(sorted(set(keys)))}
    return np.array([places[key] for key in keys], dtype=np.int64)


def versions_in(rows: Any, clusters: Positions) -> dict[int, PlacedVersion]:
    """The places of documents among the versions in their clusters, by their rows: see `Succession.placed`.

    `clusters` numbers each document's cluster.
    """
    succession, time = Succession(), now()
    columns = (clusters.tolist(), *(rows[name].to_pylist() for name in ("source", "title", "metadata")))
    for place, (cluster, source, title, metadata) in enumerate(zip(*columns, strict=True)):
        about = Record(
            _ANY, source=source or "", title=title or "", metadata=json.loads(metadata) if metadata else {},
            indexed_at=time,
        )  # fmt: skip
        succession.add(cluster, place, about)
    return succession.placed()


def ranks_by_version(
    placed: Mapping[int, PlacedVersion], clusters: Positions, ranks: Positions, *, newest: bool
) -> tuple[Positions, int]:
    keys = by_version(range(ranks.size), [(rank,) for rank in ranks.tolist()], placed, newest=newest)
    order = sorted(range(ranks.size), key=keys.__getitem__)
    found = np.empty(ranks.size, dtype=np.int64)
    found[order] = np.arange(ranks.size)
    _, firsts, sizes = np.unique(clusters[order], return_index=True, return_counts=True)
    unordered = sum(
        size > 1 and order[first] not in placed for first, size in zip(firsts.tolist(), sizes.tolist(), strict=True)
    )
    return found, unordered


def ids_of(rows: Any, starts: Positions, older: Any) -> list[str]:
    """The ids of clusters with members from `starts` on, named after the canonical documents.

    `older` has the members' earlier clusters, null for new ones; None if all are new.
    """
    found: list[str] = cluster_ids(joined_of(rows["id"].take(column_of(starts)))).astype(str).tolist()
    if older is None:
        return found
    ends = np.append(starts[1:], len(rows)).tolist()
    for number in np.unique(np.searchsorted(starts, np.flatnonzero(present_in(older)), side="right") - 1).tolist():
        earlier, part = EarlierNames(), slice(int(starts[number]), ends[number])
        names, before = rows["id"][part].to_pylist(), older[part].to_pylist()
        for name, known in zip(names, before, strict=True):
            earlier.add(Ref(name), known or None)
        found[number] = earlier.chosen(Ref(names[0]), len(names))
    return found


def origins_of(sources: Any, of: Positions) -> list[int]:
    """The number of origins of each cluster's documents, at most MOST_ORIGINS.

    `of` has the cluster of each, a number in order.
    """
    encoded = compute.coalesce(sources, "").dictionary_encode()
    names: Sequence[str] = [origin_of(source) for source in encoded.dictionary.to_pylist()]
    distinct, number = np.unique(np.array(names, dtype=object), return_inverse=True)
    origins = number[numbers_of(encoded.indices)]
    apart = sorted_distinct(of * max(distinct.size, 1) + origins) // max(distinct.size, 1)
    counts: npt.NDArray[np.int64] = np.bincount(apart, minlength=int(of.max(initial=-1)) + 1)
    most: list[int] = np.minimum(counts, MOST_ORIGINS).tolist()
    return most
