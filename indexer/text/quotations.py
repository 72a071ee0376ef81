"""The words of a mail itself: without quotations, signature and mailing-list footer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

# RFC 3676, section 4.3, and as archives of lists keep it, which cut what is blank at the end of a line.
_SIGNATURE, _CUT_SIGNATURE = "-- ", "--"
_LONGEST_SIGNATURE = 10
# Emacs indents what it quotes.
_QUOTED = re.compile(r"[ \t]{0,8}>")
# Some quote by bars; they are told from tables and pipes by an introduction above them.
_BARRED = re.compile(r"[ \t]{0,8}>|[ ]{0,3}\|(?!>)")
# The line that mailing lists write above their footer.
_RULE = re.compile(r"[-_=*]{20,}\s*$")
_LONGEST_FOOTER = 8
# The line above a mail that is quoted whole, in any language, and the fields of it that follow.
_DIVIDER = re.compile(r"\s*-{3,}\s?[^-\s].{0,60}\S\s?-{3,}\s*$|\s*_{20,}\s*$")
_FIELD = re.compile(r"\s*\*?(\w[\w -]{0,20}?)\s?(?::\*?\s+|\uff1a\s*)\S")
_LEAST_FIELDS, _MOST_FIELDS = 2, 5
# Without a line above, a mail's head is known by its first field and its subject.
_FROM = {
    *("from", "von", "de", "da", "van", "från", "fra", "od", "от", "kimden", "lähettäjä"),
    *("发件人", "寄件者", "差出人"),
}
_SUBJECT = {
    *("subject", "betreff", "objet", "assunto", "asunto", "oggetto", "onderwerp", "ämne", "emne", "temat", "předmět"),
    *("тема", "konu", "aihe", "主题", "主旨", "件名"),
}
_LONGEST_INTRODUCTION = 200
# An introduction that names a time and an address is none of the mail's own sentences.
_TIME = re.compile(r"\d[:.h]\d\d")
_ADDRESS = re.compile(r"\w(?:@| at )\w[\w-]*\.\w")


def own_words(text: str) -> str:
    """The text of a mail without quoted lines and their introduction, a mail quoted whole below it, the signature and a
    list's footer. If nothing is left, the whole text.

    Quoted lines begin with ">" (RFC 3676, section 4.5), or with "|" after a line with a time, in any language. The line
    before them introduces them if it ends with a colon.
    """
    lines = _without_end(text.splitlines())
    quoted = _BARRED if _has_bars(lines) else _QUOTED
    kept: list[str] = []
    for line in lines:
        if quoted.match(line):
            _take_introduction(kept)
            # Stands for the lines that are left out, so that the next of them looks no further back.
            kept.append("")
            continue
        kept.append(line)
    found = "\n".join(_without_end(kept)).strip()
    return found or text


def beside(text: str, own: str) -> str:
    """The lines of a mail that are not among its own words."""
    kept = filter(str.strip, own.splitlines())
    following, found = next(kept, "").strip(), list[str]()
    for line in filter(str.strip, text.splitlines()):
        if following and line.strip() == following:
            following = next(kept, "").strip()
        else:
            found.append(line)
    return "\n".join(found)


def introduces(line: str) -> bool:
    return line.endswith(":") and len(line) <= _LONGEST_INTRODUCTION


def is_head(lines: Sequence[str]) -> bool:
    return sum(bool(_FIELD.match(line)) for line in lines[:_MOST_FIELDS]) >= _LEAST_FIELDS


def _has_bars(lines: Sequence[str]) -> bool:
    barred = ((line.rstrip(), after) for line, after in pairwise(lines) if after.startswith("|"))
    return any(introduces(line) and _TIME.search(line) for line, _ in barred)


def _take_introduction(kept: list[str]) -> None:
    while kept and not kept[-1].strip():
        kept.pop()
    if not kept or not introduces(kept[-1].rstrip()):
        return
    kept.pop()
    # Mail programs break it: "On Monday, Ann Example" / "<ann@example.org> wrote:"
    if kept and kept[-1].strip() and (len(kept) == 1 or not kept[-2].strip()):
        kept.pop()


def _without_end(lines: Sequence[str]) -> Sequence[str]:
    for place, line in enumerate(lines):
        if line == _SIGNATURE or _begins_mail(lines, place):
            lines = lines[:place]
            break
    return _without_footer(_without_signature(_without_footer(lines)))


def _without_signature(lines: Sequence[str]) -> Sequence[str]:
    written = [place for place, line in enumerate(lines) if line.strip()]
    last = written[-_LONGEST_SIGNATURE - 1 :]
    return lines[: next((place for place in last if lines[place].rstrip() == _CUT_SIGNATURE), len(lines))]


def _without_footer(lines: Sequence[str]) -> Sequence[str]:
    last = range(max(0, len(lines) - _LONGEST_FOOTER), len(lines))
    return lines[: next((place for place in last if _RULE.match(lines[place])), len(lines))]


def _begins_mail(lines: Sequence[str], place: int) -> bool:
    line = lines[place]
    if _DIVIDER.match(line) and is_head(lines[place + 1 : place + 1 + _MOST_FIELDS]):
        return True
    if _field_name(line) in _FROM:
        return any(_field_name(each) in _SUBJECT for each in lines[place + 1 : place + 1 + _MOST_FIELDS])
    return _introduces_whole(lines, place)


def _field_name(line: str) -> str:
    found = _FIELD.match(line)
    return found[1].strip().casefold() if found else ""


def _introduces_whole(lines: Sequence[str], place: int) -> bool:
    for end in (place, place + 1):
        said = " ".join(lines[place : end + 1]).rstrip()
        if introduces(said) and _TIME.search(said) and _ADDRESS.search(said):
            after = next((line for line in lines[end + 1 : end + 4] if line.strip()), ">")
            return not _BARRED.match(after)
    return False
