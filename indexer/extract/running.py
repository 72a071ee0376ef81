"""The running text of pages of lines."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indexer.core.markup import BLOCK_END
from indexer.extract.base import PartsLeftOut
from indexer.extract.margins import without_running_lines
from indexer.extract.paragraphs import END
from indexer.extract.text import in_blocks

# PDFium writes a hyphen that it takes for a line's end as U+0002 or U+FFFE, and leaves the line break out.
_BREAK = re.compile(r"[-\u2010\u00ad\x02\ufffe]\n?(?=\w)")
_BREAK_MARKS = "\n\x02\ufffe"
_HYPHENS = "-\u2010\u00ad\x02\ufffe"
_WORD_BEFORE = re.compile(r"[^\W\d_]+$")
_WORD_AFTER = re.compile(r"\w+")
_LONGEST_WORD = 100
# Typesetters break an address after one of these characters, and no reader takes the break for a part of it.
_ADDRESS_BREAKS = "/-_=&?%#"
_ADDRESS = re.compile(r"(?:https?://|www\.|doi:|\b10\.\d{4,9}/)\S*$")
_WORD = re.compile(r"\w++(?:-\w++)*+")


def running_text(pages: Sequence[list[str]]) -> tuple[str, tuple[int, ...], PartsLeftOut]:
    """The text of pages of lines, broken words joined; the first character of each page; the running lines left out."""
    kept, running = without_running_lines(pages)
    parts: list[str] = []
    begins: list[int] = []
    size, spaced = 0, False
    for text in _joined(["".join(map(_ended, page)) for page in kept]):
        clean = in_blocks(text)
        # A word may begin on one page and end on the next.
        spaced = spaced or (clean != "" and not text.startswith(clean[0]))
        if clean and spaced and size:
            parts.append("\f")
            size += 1
        begins.append(size)
        parts.append(clean)
        size += len(clean)
        spaced = not text.endswith(clean[-1]) if clean else spaced or text != ""
    return "".join(parts), tuple(begins), tuple(("page margin", line) for line in running)


def _ended(line: str) -> str:
    text = line.rstrip(END)
    if text[-1] in _ADDRESS_BREAKS and _ADDRESS.search(text):
        return text
    return text + (BLOCK_END if text != line and text[-1] not in _HYPHENS else "\n")


def _joined(texts: list[str]) -> list[str]:
    """The texts of pages, with words hyphenated over two lines joined.

    The document is its own dictionary: a hyphen stays if the word is found with it elsewhere, or if both halves are
    words and the joined word is not found; before capitals and digits it stays anyway.
    """
    text = "".join(texts)
    breaks = list(_breaks(text))
    if not breaks:
        return texts
    # The halves of broken words say nothing of which words there are.
    whole, end = list[str](), 0
    for broken in breaks:
        whole.append(text[end : broken.start - len(broken.left)])
        end = broken.end + len(broken.right)
    whole.append(text[end:])
    # Most words stand there several times, and to look at each once takes less time.
    known = set(_WORD.findall(" ".join(set(" ".join(whole).lower().split()))))
    joined = []
    begin = end = 0
    waiting = deque(breaks)
    for size in map(len, texts):
        end += size
        parts: list[str] = []
        # A break ends at the end of a page at the latest.
        while waiting and waiting[0].end <= end:
            broken = waiting.popleft()
            parts += (text[begin : broken.start], "-" if _keeps_hyphen(broken, known) else "")
            begin = broken.end
        parts.append(text[begin:end])
        begin = end
        joined.append("".join(parts))
    return joined


class _Broken(NamedTuple):
    left: str
    right: str
    soft: bool
    start: int
    end: int


def _breaks(text: str) -> Iterator[_Broken]:
    end = 0
    for matched in _BREAK.finditer(text):
        mark = matched[0]
        soft = mark[0] == "\u00ad"
        if not soft and mark[-1] not in _BREAK_MARKS:
            continue
        left = _WORD_BEFORE.search(text[max(end, matched.start() - _LONGEST_WORD) : matched.start()])
        right = _WORD_AFTER.match(text, matched.end())
        if left and right:
            end = matched.end()
            yield _Broken(left[0], right[0], soft, matched.start(), end)


def _keeps_hyphen(broken: _Broken, known: set[str]) -> bool:
    if broken.soft:
        return False
    if not broken.right[0].islower():
        return True
    left, right = broken.left.lower(), broken.right.lower()
    if left + right in known:
        return False
    return f"{left}-{right}" in known or (left in known and right in known)
