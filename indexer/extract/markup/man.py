"""Manual pages in troff: man(7) and mdoc(7).

A page's own definitions are left out: pages of one generator begin with the same hundreds of words of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from indexer.extract.base import EXTRACTOR_VERSION
from indexer.extract.markup.boilerplate import words
from indexer.extract.text import decode, printable
from indexer.model import Document

NAME = "man"
# How far in the line may be that gives a page its name, after a license and definitions.
_HEAD = 1 << 16
# Definitions and conditions of which no end comes in this many lines have none.
_LONGEST = 500
_STARTS = re.compile(rb"(?:\s*\n)?[.'][ \t]*(?:\\\"|[A-Za-z]{2}\b)")
_TITLED = re.compile(rb"^[.'][ \t]*(?:TH|Dd)[ \t]", re.MULTILINE)
_REQUEST = re.compile(r"[.'][ \t]*([A-Za-z0-9]*)[ \t]*(.*)")
_COMMENT = re.compile(r"(?:^[.'][ \t]*)?\\[\"#].*")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|(\S+)')
_DEFINES = ("de", "de1", "am", "am1", "ig")
_CONDITIONS = ("if", "ie", "el", "while")
# Macros whose arguments are no text: what a page is filed under, and how it is laid out.
_SILENT = frozenset(
    words("TH IX PD RS RE UC AT DT HP Dd Dt Os Bl El Bd Ed Bk Ek Rs Re Sm Bf Ef Hf PP LP P TP Pp TS TE EQ EN Vb Ve")
)
# What ends a paragraph, what ends one on both sides, and what begins and ends text whose lines count.
_BREAKS = frozenset(
    words("PP LP P TP TQ IP HP RS RE br sp ti in ce TS TE Pp It Bl El Bd Ed D1 Dl Lp nf fi EX EE Vb Ve")
)
_HEADINGS = frozenset(words("TH SH SS Dd Dt Os Sh Ss D1 Dl"))
_LINES = {**dict.fromkeys(("nf", "EX", "Vb", "TS"), "\n"), **dict.fromkeys(("fi", "EE", "Ve", "TE", "Bd", "Ed"), " ")}
# Macros whose arguments are one word in several fonts.
_JOINED = frozenset(words("BR RB BI IB IR RI"))
# What mdoc calls within a line.
_CALLED = frozenset(
    words("""
        Ac Ad An Ao Ap Aq Ar At Bc Bo Bq Brc Bro Brq Bsx Bx Cd Cm Dc Do Dq Dv Dx Ec Em En Eo Eq Er Es Ev Fa Fc Fl Fn
        Fo Fr Ft Fx Ic In Lb Li Lk Ms Mt Nd Nm No Ns Nx Oc Oo Op Ot Ox Pa Pc Pf Po Pq Qc Ql Qo Qq Sc So Sq St Sx Sy Ta
        Tn Ux Va Vt Xc Xo Xr""")
)
_ESCAPE = re.compile(
    r"""\\(?:
    [fFmM](?:\[[^\]]{0,80}\]|\(..|.)                                # a font or a colour
    |s(?:[-+]?\[[^\]]{0,80}\]|[-+]?\(?\d\d?|[-+]?'[^']{0,200}')             # a size
    |[bCDhlLNovwxXZ](?:'[^']{0,200}'|"[^"]{0,200}")                          # a movement or a drawing
    |[ngk][-+]?(?:\[[^\]]{0,80}\]|\(..|.)                             # a number
    |\*(?:\[(?P<string>[^\]]{0,80})\]|\((?P<string_2>..)|(?P<string_1>.))
    |\[(?P<special>[^\]]{0,80})\]|\((?P<special_2>..)
    |(?P<other>.)
    )""",
    re.VERBOSE,
)
_STRINGS = {"C+": "C++", "--": "\u2014", 'L"': "\u201c", 'R"': "\u201d", "lq": "\u201c", "rq": "\u201d", "Aq": "'"}
_SPECIAL = {
    "em": "\u2014", "en": "\u2013", "hy": "-", "mi": "\u2212", "lq": "\u201c", "rq": "\u201d", "oq": "\u2018",
    "cq": "\u2019", "aq": "'", "dq": '"', "bu": "\u2022", "co": "\u00a9", "rg": "\u00ae", "ti": "~", "ha": "^",
    "rs": "\\", "ga": "`", "ss": "\u00df", "ae": "\u00e6", "AE": "\u00c6", "oe": "\u0153", "OE": "\u0152",
    "/o": "\u00f8", "/O": "\u00d8", "oa": "\u00e5", "oA": "\u00c5", "Fo": "\u00ab", "Fc": "\u00bb", "->": "\u2192",
    "<-": "\u2190", "mu": "\u00d7", "<=": "\u2264", ">=": "\u2265", "!=": "\u2260", "+-": "\u00b1", "de": "\u00b0",
    "sc": "\u00a7", "eu": "\u20ac", "Eu": "\u20ac", "at": "@", "sh": "#", "Do": "$", "sl": "/", "ba": "|", "lB": "[",
    "rB": "]", "lC": "{", "rC": "}", "or": "|",
}  # fmt: skip
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", ":": "\u0308", "~": "\u0303", ",": "\u0327", "v": "\u030c"}
_CODE_POINT = re.compile(r"u([0-9A-F]{4,6})")
_OTHER = {"e": "\\", "E": "\\", "~": " ", " ": " ", "0": " ", "t": " ", **{mark: mark for mark in "-'`.\\"}}


def is_man(data: bytes) -> bool:
    return bool(_STARTS.match(data)) and bool(_TITLED.search(data[:_HEAD]))


def extract_man(data: bytes) -> Document:
    text, _ = decode(data)
    lines = printable(text).splitlines()
    title = next(filter(None, map(_title, lines)), "")
    return Document("".join(_read(lines))[1:], title, extractor=f"{NAME} rules {EXTRACTOR_VERSION}")


def _title(line: str) -> str:
    request = _REQUEST.match(line)
    if not request or request[1] not in ("TH", "Dt"):
        return ""
    name, *section = [_plain(argument) for argument in _arguments(request[2])][:2] or [""]
    return f"{name}({section[0]})" if section else name


def _read(lines: Sequence[str]) -> Iterator[str]:
    is_mdoc = any(line.startswith(".Dd") for line in lines)
    place = 0
    before, within = "\n", " "
    while place < len(lines):
        line = _COMMENT.sub("", lines[place])
        place += 1
        if not line.strip():
            before = before if lines[place - 1].strip() else "\n"
            continue
        request = _REQUEST.match(line)
        if not request:
            yield ("\n" if line[0].isspace() else before) + _plain(line)
            before = within
            continue
        name, rest = request.groups()
        if name in _BREAKS or name in _HEADINGS:
            before = "\n"
            within = (
                "\n" if name == "Bd" and "-filled" not in rest and "-ragged" not in rest else _LINES.get(name, within)
            )
        if name in _DEFINES:
            place = _after_definition(lines, place)
        elif name in _CONDITIONS:
            place = _after_block(lines, place)
        elif not name.islower() and name not in _SILENT:
            arguments = [_plain(each) for each in _arguments(rest) if not (is_mdoc and each in _CALLED)]
            # Behind its mark stands how far a paragraph is moved in.
            arguments = arguments[:1] if name == "IP" else arguments
            yield before + ("" if name in _JOINED else " ").join(arguments)
            before = "\n" if name in _HEADINGS else within


def _after_definition(lines: Sequence[str], place: int) -> int:
    for end in range(place, min(place + _LONGEST, len(lines))):
        if lines[end].rstrip() == "..":
            return end + 1
    return place


def _after_block(lines: Sequence[str], place: int) -> int:
    depth = 0
    for end in range(place - 1, min(place + _LONGEST, len(lines))):
        depth += lines[end].count("\\{") - lines[end].count("\\}")
        if depth <= 0:
            return end + 1
    return place


def _arguments(rest: str) -> Iterator[str]:
    for quoted, bare in _ARGUMENT.findall(rest):
        yield bare or quoted.replace('""', '"')


def _plain(text: str) -> str:
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(found: re.Match[str]) -> str:
    string = found["string"] or found["string_2"] or found["string_1"]
    if string is not None:
        return _STRINGS.get(string, "")
    special = found["special"] or found["special_2"]
    if special is None:
        return _OTHER.get(found["other"] or "", "")
    if special in _SPECIAL:
        return _SPECIAL[special]
    if point := _CODE_POINT.fullmatch(special):
        code = int(point[1], 16)
        return "" if 0xD800 <= code < 0xE000 or code > 0x10FFFF else chr(code)
    if len(special) == 2 and special[0] in _ACCENTS:
        return unicodedata.normalize("NFC", special[1] + _ACCENTS[special[0]])
    return ""
