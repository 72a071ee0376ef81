"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    A warning says that answers could be better; an error says that something fails or misleads.
    """

    check: Annotated[str, "The thing checked"]
    level: Annotated[Level, '"ok", "warning" or "error"']
    says: Annotated[str, "The finding"]
    advice: Annotated[str, "The thing to do; empty for nothing"] = ""
