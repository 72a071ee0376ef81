"""Numbers with their nouns, as messages give them."""

from __future__ import annotations


def counted(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: "1 cluster", "1,234 clusters"; `plural` where it isn't the noun with an s.

    Both may go on with a verb: ("document is", "documents are").
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
