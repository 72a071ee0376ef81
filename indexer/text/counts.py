"""Numbers with their nouns, as messages give them."""

from __future__ import annotations


def counted(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: "1 cluster", "1,234 clusters"; `plural` if it isn't the noun with an s.

    Both may include a verb: ("document is", "documents are").
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def share_shown(similarity: float) -> str:
    percent = round(100 * similarity)
    if percent == 100 and similarity < 1:
        percent = 99
    if percent == 0 and similarity > 0:
        percent = 1
    return f"{percent}%"
