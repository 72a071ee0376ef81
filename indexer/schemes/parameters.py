"""What parameters of schemes may be; a UsageError names the scheme, the parameter and what fits."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.errors import UsageError


def whole(family: str, name: str, value: object, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(f"{family}: {name} must be a whole number from {low} to {high}, not {value!r}")
    return value


def one_of(family: str, name: str, value: object, allowed: Sequence[int]) -> int:
    """One of some whole numbers."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
        raise UsageError(f"{family}: {name} must be one of {', '.join(map(str, allowed))}, not {value!r}")
    return value


def word(family: str, name: str, value: object, allowed: Sequence[str]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in allowed:
        raise UsageError(f"{family}: {name} must be one of {', '.join(allowed)}, not {value!r}")
    return value


def share(family: str, name: str, value: object) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UsageError(f"{family}: {name} must be a number from 0 to 1, not {value!r}")
    return float(value)
