"""Estimate shares from random samples, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt

# The quantile of the normal distribution for 95%.
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class SampledStratum:
    """A stratum of `documents`; `judged` were drawn at random, and `right` of these count."""

    documents: int
    judged: int
    right: int


@dataclass(frozen=True, slots=True)
class EstimatedShare:
    """An estimated share (0 to 1), and its limits with a confidence of 95%."""

    value: float
    low: float
    high: float


def estimated_share(strata: Sequence[SampledStratum]) -> EstimatedShare | None:
    """The share counted over the documents of all strata; None if a stratum has none judged.

    The limits are those of Zou, Huang and Zhang for linear functions of shares (Computational Statistics & Data
    Analysis 53, 2009), from the Wilson limits of each stratum.
    """
    whole = sum(stratum.documents for stratum in strata)
    if not whole or any(stratum.documents and not stratum.judged for stratum in strata):
        return None
    value, below, above = 0.0, 0.0, 0.0
    for stratum in strata:
        if not stratum.documents:
            continue
        weight, share = stratum.documents / whole, stratum.right / stratum.judged
        low, high = wilson_limits(stratum)
        value += weight * share
        below, above = hypot(below, weight * (share - low)), hypot(above, weight * (high - share))
    return EstimatedShare(min(value, 1.0), max(0.0, value - below), min(1.0, value + above))


def wilson_limits(stratum: SampledStratum) -> tuple[float, float]:
    """The limits of the share of one stratum (Wilson, Journal of the American Statistical Association 22, 1927).

    A draw without repetition from few documents says more of them, so it counts for more; if all were judged, both
    limits are the share itself.
    """
    share, left = stratum.right / stratum.judged, stratum.documents - stratum.judged
    if left <= 0:
        return share, share
    count = stratum.judged * (stratum.documents - 1) / left
    middle = share + _Z**2 / (2 * count)
    reach = _Z * sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2))
    scale = 1 + _Z**2 / count
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)
