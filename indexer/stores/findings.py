"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: its name, its level, a sentence on it, and `advice`, empty where nothing is to be done.

    A warning is about answers that are not what they could be, an error about what fails or misleads.
    """

    check: str
    level: Level
    says: str
    advice: str = ""
