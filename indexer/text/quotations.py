"""The words of a mail that are its own: without what it quotes, its signature and the footer of a mailing list."""

from __future__ import annotations

import re
from collections.abc import Sequence

# RFC 3676, section 4.3.
_SIGNATURE = "-- "
_QUOTED = re.compile(r"[ ]{0,3}>")
# The line that mailing lists write above their footer.
_RULE = re.compile(r"[-_=*]{20,}\s*$")
_LONGEST_FOOTER = 8
# The line above a mail that is quoted whole, in any language, and the fields of it that follow.
_DIVIDER = re.compile(r"\s*-{3,}\s?\S.{0,60}\S\s?-{3,}\s*$|\s*_{20,}\s*$")
_FIELD = re.compile(r"\s*\*?\w[\w -]{0,20}\s?:\*?\s+\S")
_LEAST_FIELDS = 2
_LONGEST_INTRODUCTION = 200


def own_words(text: str) -> str:
    """The text of a mail without quoted lines and what introduces them, without a mail quoted whole below it,
    signature and a list's footer; all of the text where nothing else would be left.

    Quoted are lines that begin with ">" (RFC 3676, section 4.5), in any language; the last line before them introduces
    them if it ends with a colon.
    """  # fmt: skip
    lines = _without_end(text.splitlines())
    kept: list[str] = []
    for line in lines:
        if _QUOTED.match(line):
            _take_introduction(kept)
            # Stands for the lines that are left out, so that the next of them looks no further back.
            kept.append("")
            continue
        kept.append(line)
    found = "\n".join(kept).strip()
    return found or text


def _take_introduction(kept: list[str]) -> None:
    while kept and not kept[-1].strip():
        kept.pop()
    if not kept or not kept[-1].rstrip().endswith(":") or len(kept[-1]) > _LONGEST_INTRODUCTION:
        return
    kept.pop()
    # Mail programs break it: "On Monday, Ann Example" / "<ann@example.org> wrote:"
    if kept and kept[-1].strip() and (len(kept) == 1 or not kept[-2].strip()):
        kept.pop()


def _without_end(lines: Sequence[str]) -> Sequence[str]:
    """The lines before a signature, a list's footer and a mail that is quoted whole."""
    for place, line in enumerate(lines):
        if line == _SIGNATURE or (_DIVIDER.match(line) and _is_header(lines[place + 1 : place + 6])):
            return lines[:place]
    for place in range(max(0, len(lines) - _LONGEST_FOOTER), len(lines)):
        if _RULE.match(lines[place]):
            return lines[:place]
    return lines


def _is_header(lines: Sequence[str]) -> bool:
    return sum(bool(_FIELD.match(line)) for line in lines) >= _LEAST_FIELDS
