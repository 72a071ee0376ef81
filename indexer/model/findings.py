"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    A warning is about answers that are not what they could be, an error about what fails or misleads.

    Attributes:
        check: What was checked
        level: "ok", "warning" or "error"
        says: What was found
        advice: What to do; empty for nothing
    """

    check: str
    level: Level
    says: str
    advice: str = ""
