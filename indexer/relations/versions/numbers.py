"""Version numbers: 2.3, v1.10.0rc2, 1.8-SNAPSHOT."""

from __future__ import annotations

import re
from typing import NamedTuple

# Longer numbers are addresses, hashes and telephone numbers.
MOST_PARTS, MOST_DIGITS = 4, 6
_STAGES = {"dev": -4, "snapshot": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "m": -2, "milestone": -2}
_STAGES |= {"rc": -1, "c": -1, "pre": -1, "preview": -1, "": 0, "final": 0, "ga": 0, "post": 1, "sp": 1}
_STAGE = "|".join(sorted(filter(None, _STAGES), key=len, reverse=True))
NUMBER = rf"[0-9]{{1,{MOST_DIGITS}}}(?:\.[0-9]{{1,{MOST_DIGITS}}}){{0,{MOST_PARTS - 1}}}"
PATTERN = rf"(?P<number>{NUMBER})(?:[-_.]?(?P<stage>{_STAGE})[-_.]?(?P<step>[0-9]{{0,{MOST_DIGITS}}}))?"
"""The pattern of a version number; what is around it is left to who looks for one. Case does not count."""
_WHOLE = re.compile(rf"[vV]?\s?{PATTERN}", re.IGNORECASE)


class Number(NamedTuple):
    """A version number in the order of releases: its parts without zeros at the end, its stage, and the step of the
    stage.

    The stage is below 0 before the release itself, and above 0 after it.
    """

    parts: tuple[int, ...]
    stage: int = 0
    step: int = 0

    def __str__(self) -> str:
        short = next((name for name, stage in _STAGES.items() if stage == self.stage), "")
        text = ".".join(map(str, self.parts or (0,)))
        if len(self.parts) == 1:
            text += ".0" * (self.stage != 0)
        return f"{text}{short}{self.step or ''}" if short else text


def number_of(match: re.Match[str]) -> Number:
    parts = [int(part) for part in match["number"].split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return Number(tuple(parts), _STAGES[(match["stage"] or "").lower()], int(match["step"] or 0))


def read_number(text: str) -> Number | None:
    match = _WHOLE.fullmatch(text.strip()) if len(text) < 60 else None
    return number_of(match) if match else None
