"""Plain text, and the encodings of all kinds of text."""

from __future__ import annotations

import codecs
import re
from dataclasses import replace

import webencodings

from indexer.core import markup
from indexer.core.markup import CELL_END, PAGE_END, ROW_END
from indexer.model import Document

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# The Encoding Standard reads a declaration of UTF-16 as UTF-8, because the declaration itself was readable as ASCII.
_NOT_AS_DECLARED = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "cp1252"}
_FALLBACK = "cp1252"
# Enough to detect an encoding; the detector's cost grows with its input.
_SAMPLE = 1 << 16
# Under this share of undecodable sequences, a document declared as UTF-8 is UTF-8 with some damage.
_DAMAGE = 0.1
# Under this many characters a call of the core takes longer than the words do.
_SHORT = 200
_TITLE_SIZES = range(3, 201)
# Names of sections, of drafts and of nothing yet, and addresses and numbers: no document is called so.
_NO_TITLE = re.compile(
    r"[\d.\s]*(?:abstract|acknowledge?ments?|appendix|bibliography|confidential|(?:table of )?contents|draft|foreword"
    r"|index|introduction|preface|references|sample|summary|title|untitled)\W*|arxiv:.*|.*(?://|www\.).*",
    re.IGNORECASE,
)
_MARKED = str.maketrans({"\n": ROW_END, "\t": CELL_END, "\f": PAGE_END})
DELETED, DELETION = "deleted", "[\u2026]"
"""The name of text that was deleted in a document, and the mark that stands for it in the text."""
_ROWS = re.compile("\f[ \f]")
# A cell without words, and the beginning or the end of another one.
_EMPTY_CELL = re.compile(r"\f\t(?:[^\S\f]|\f\n)*\f\t(?:[^\S\f]|\f\n)*\f\t")
_LONGEST_CELL = 200
TABLE_CELL = "table cell"
"""The kind of cells that stand behind an empty one in their row."""
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]*[^\s*])\1(?![\w*])")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]+")

# Colours and other sequences for terminals (ECMA-48): with parameters, strings up to an end, and single letters.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[]PX^_][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-Z\\^-~]"
)


def decode(data: bytes, declared: str = "") -> tuple[str, str]:
    """The text of `data` and its Python codec, found as a browser does (WHATWG Encoding Standard).

    In this order: a byte-order mark; the `declared` label; UTF-16 recognised by its zero bytes; valid UTF-8; a
    detector's guess; windows-1252. Never fails: undecodable bytes become U+FFFD.
    """
    for bom, codec in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(codec, "replace"), codec
    codec = codec_of(declared)
    if codec and codec != "utf-8":
        return data.decode(codec, "replace"), codec
    if wide := _utf16(data):
        return data.decode(wide, "replace"), wide
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    if codec or len(data) > _SAMPLE:
        text = data.decode("utf-8", "replace")
        if text.count("\ufffd") < _DAMAGE * sum(1 for c in text[:_SAMPLE] if c > "\x7f"):
            return text, "utf-8"
    codec = _detect(data)
    return data.decode(codec, "replace"), codec


def codec_of(label: str) -> str:
    encoding = webencodings.lookup(label) if label else None
    if encoding is None:
        return ""
    if substitute := _NOT_AS_DECLARED.get(encoding.name):
        return substitute
    return encoding.codec_info.name


def extract_text(data: bytes) -> Document:
    text, codec = decode(data)
    # The check takes a hundredth of the search, and most texts pass it.
    clean = text if codec == "utf-8" and markup.is_clean(data) else printable(text)
    return Document(clean, first_line(clean), extractor=f"plain ({codec})")


def without_markdown(extracted: Document) -> Document:
    """The same document without Markdown's marks of headings, emphasis and code blocks."""
    lines, fenced = [], False
    for line in extracted.text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
            lines.append("")
        else:
            lines.append(line if fenced else _EMPHASIS.sub(r"\2", _HEADING.sub("", line)))
    text = "\n".join(lines)
    return replace(extracted, text=text, title=first_line(text))


def without_mark(extracted: Document) -> Document:
    """The text without a byte order mark left at its beginning by a parser."""
    text = extracted.text
    return replace(extracted, text=text[1:].lstrip()) if text.startswith("\ufeff") else extracted


def first_line(text: str) -> str:
    return next((line.strip() for line in text[:2000].splitlines() if any(map(str.isalnum, line))), "")


def as_title(text: str) -> str:
    title = cleaned(text)
    letters = sum(map(str.isalpha, title))
    if len(title) not in _TITLE_SIZES or 2 * letters < len(title) or "\ufffd" in title or _NO_TITLE.fullmatch(title):
        return ""
    return title


def printable(text: str) -> str:
    """`text` with control characters (except white space), noncharacters and lone surrogates as a space.

    Terminal sequences, such as colours, are removed: they may stand within a word.
    """
    return _CONTROLS.sub(" ", _ESCAPES.sub("", text) if "\x1b" in text or "\x9b" in text else text)


def cleaned(text: str) -> str:
    if len(text) <= _SHORT and (plain := " ".join(text.split())).isprintable():
        return plain
    return markup.collapsed(text)


def in_blocks(text: str) -> str:
    return markup.collapsed(text, marks=True) if "\f" in text else cleaned(text)


def cells_behind_gaps(text: str) -> tuple[tuple[str, str], ...]:
    """The cells of rows with an empty cell before a filled one: a text has no columns to tell their places by.

    `text` has marks at the beginning and the end of each cell and row; cells left open to the next one are not judged.
    """
    found: list[str] = []
    rows = _ROWS.split(text) if _EMPTY_CELL.search(text) else ()
    for row in filter(_EMPTY_CELL.search, rows):
        cells = row.split(CELL_END)[1::2]
        filled = [place for place, cell in enumerate(cells) if cell.strip()]
        if filled and filled[-1] >= len(filled):
            found += (f"column {place + 1}: {cleaned(cells[place])[:_LONGEST_CELL]}" for place in filled)
    return ((TABLE_CELL, ", ".join(found)),) if found else ()


def marked(text: str) -> str:
    return text.translate(_MARKED)


def _utf16(data: bytes) -> str:
    head = data[:2048]
    half = len(head) // 2
    if half < 2:
        return ""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd >= 0.7 * half and even <= 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even >= 0.7 * half and odd <= 0.05 * half else ""


def _detect(data: bytes) -> str:
    # Imported here: few documents need it, and each worker would take milliseconds for it.
    import charset_normalizer

    # The bytes beyond ASCII are what tells encodings apart: begin just before the first of them.
    first = re.search(rb"[\x80-\xff]", data)
    start = max(0, first.start() - 256) if first else 0
    best = charset_normalizer.from_bytes(data[start : start + _SAMPLE]).best()
    if best is None or best.encoding in ("ascii", "utf_8"):
        return _FALLBACK
    return codec_of(best.encoding.replace("_", "-")) or best.encoding
