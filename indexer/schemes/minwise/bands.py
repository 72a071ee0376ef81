"""The bands for a similarity, and their recall."""

from __future__ import annotations

from math import comb

from indexer.core.sketches import MAX_ROWS, MAX_VALUES
from indexer.errors import UsageError
from indexer.schemes.base import checked_integer, checked_share

MAX_BANDS = 512

# Bands that a threshold asks for find at least this share of the pairs that are exactly as similar.
WANTED_RECALL = 0.98


def banding_recall(similarity: float, bands: int, rows: int, agreeing: int = 1) -> float:
    """The share of pairs of this similarity with at least `agreeing` equal bands.

    A band of r values is equal with the probability p = s**r; of b bands, at least m are with the sum over i from m to
    b of binomial(b, i) * p**i * (1 - p)**(b - i) (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section
    3.4).
    """
    p = similarity**rows
    missed = sum(comb(bands, i) * p**i * (1 - p) ** (bands - i) for i in range(agreeing))
    return float(min(1.0, max(0.0, 1 - missed)))


def bands_for(family: str, threshold: float, values: int, most: int = MAX_BANDS) -> tuple[int, int]:
    """(bands, rows) for a similarity: the longest bands that find at least 98% of the pairs at it.

    Raises UsageError if not even bands of one value suffice.
    """
    for rows in range(min(values, MAX_ROWS), 0, -1):
        bands = min(values // rows, most)
        if banding_recall(threshold, bands, rows) >= WANTED_RECALL:
            return bands, rows
    raise UsageError(f"{family}: {values} values are too few for the threshold {threshold}; ask for more values")


def banding(
    family: str, values: int, bands: int | None, rows: int | None, threshold: float | None, usual: float,
    most: int = MAX_BANDS,
) -> tuple[int, int]:  # fmt: skip
    if threshold is not None and (bands is not None or rows is not None):
        raise UsageError(f"{family}: give threshold, or bands and rows, not both")
    checked_integer(family, "values", values, 1, MAX_VALUES)
    if bands is None and rows is None:
        wanted = usual if threshold is None else checked_share(family, "threshold", threshold)
        return bands_for(family, wanted, values, most)
    if rows is None:
        return bands or 0, values // checked_integer(family, "bands", bands, 1, min(MAX_BANDS, values))
    checked_integer(family, "rows", rows, 1, min(MAX_ROWS, values))
    return (min(values // rows, MAX_BANDS) if bands is None else bands), rows
