"""Subtitles, SRT and WebVTT: the spoken words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import groupby
from operator import itemgetter

from indexer.extract.base import EXTRACTOR_VERSION
from indexer.extract.text import cleaned, decode, extract_text, first_line
from indexer.model import Document
from indexer.text.counts import counted

_TIME = r"(?:\d{1,4}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?"
_TIMES = re.compile(rf"\s*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t].*)?", re.ASCII)
_HEAD = re.compile(
    rf"\ufeff?(?:WEBVTT(?:[ \t].*)?(?:\r?\n|\r)|\s*(?:\d{{1,9}}[ \t]*(?:\r?\n|\r))?\s*{_TIME}[ \t]*-->)", re.ASCII
)
_NO_CUES = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
# Tags of both formats, also with the time of a word, and places on the screen, as {\an8}.
_TAGS = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^{}\n]{0,100}\}")

_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,200})?[ \t]+([^<>\n]{1,200})>")


def is_subtitles(head: bytes) -> bool:
    """True for the first bytes of subtitles, in UTF-8 or ASCII."""
    return _HEAD.match(head.decode("utf-8", "replace")) is not None


def extract_subtitles(data: bytes) -> Document:
    text, codec = decode(data)
    notes: list[list[str]] = []
    cues = list(_cues(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), notes))
    if not cues:
        return extract_text(data)
    said, before = list[str](), list[str]()
    for cue in cues:
        lines = [line for line in map(_plain, cue) if line]
        said += [line for line in lines if line not in before]
        # An empty cue is a pause, and what rolls does not roll over it.
        before = lines
    whole = "\n".join(said)
    name = f"subtitles rules {EXTRACTOR_VERSION} ({codec})"
    left_out = [("note", cleaned(" ".join(note))) for note in notes]
    left_out += [("speaker", f"{name}, {counted(words, 'word')}") for name, words in _turns(cues) if name]
    return Document(whole, first_line(whole), extractor=name, left_out=tuple(left_out))


def _turns(cues: list[list[str]]) -> Iterator[tuple[str, int]]:
    """The speakers in turn, each with the number of words until another one speaks."""
    said = list[tuple[str, int]]()
    for cue in cues:
        name = ""
        for line in cue:
            words, *voices = _VOICE.split(line)
            said.append((name, len(_plain(words).split())))
            for voice, words in zip(voices[::2], voices[1::2], strict=True):
                name = cleaned(unescape(voice))
                said.append((name, len(_plain(words).split())))
    for name, turns in groupby((turn for turn in said if turn[1]), itemgetter(0)):
        yield name, sum(words for _, words in turns)


def _cues(lines: list[str], notes: list[list[str]]) -> Iterator[list[str]]:
    starts = [place for place, line in enumerate(lines) if _TIMES.fullmatch(line)]
    _without_notes(["", *lines[: starts[0] if starts else 0]], notes)
    for place, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        cue = lines[place + 1 : end]
        if end < len(lines) and cue and cue[-1].strip() and (len(cue) == 1 or not cue[-2].strip()):
            # What stands alone before the times names the next cue.
            cue.pop()
        yield _without_notes(cue, notes)


def _without_notes(cue: list[str], notes: list[list[str]]) -> list[str]:
    kept, in_note, is_blank = list[str](), False, False
    for line in cue:
        begins = is_blank and _NO_CUES.match(line) is not None
        if begins:
            notes.append([])
        in_note = begins or (in_note and bool(line.strip()))
        is_blank = not line.strip()
        (notes[-1] if in_note else kept).append(line)
    return kept


def _plain(line: str) -> str:
    return cleaned(unescape(_TAGS.sub("", line)))
