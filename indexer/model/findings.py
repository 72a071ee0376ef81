"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    A warning says that answers could be better; an error says that something fails or misleads.

    Attributes:
        check: The thing checked
        level: "ok", "warning" or "error"
        says: The finding
        advice: The thing to do; empty for nothing
    """

    check: str
    level: Level
    says: str
    advice: str = ""
