"""The frame of a collection of mails: lines that end many of them, such as a disclaimer. No sketch rests on these.

A line is frame if it ends ten mails not near each other. Texts and digests keep it, so every verdict sees it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from indexer.core.text import shingle_hashes
from indexer.errors import StoreError
from indexer.model import Ref

if TYPE_CHECKING:
    from indexer.stores.base import Store

# What a store keeps: the lines, and the last mails, since a line of theirs may become frame later.
FRAME, ENDS = "mail-frame", "mail-ends"
_ENOUGH = 10
# The end of a mail has so many lines; what is above them is known by its least shingles.
_MOST_LINES, _SHINGLE, _KEYS = 20, 3, 4
_LOOKED_AT = 4_000
_MOST_MAILS, _MOST_FRAME = 2_000, 4_000
# Hashes of 48 bits are enough.
_BYTES, _UNUSED = 6, np.uint64(16)
# A line for each attachment stands below the words of a mail.
_ATTACHED = re.compile(r"\S [0-9a-f]{16}\s*$")


class MailEnd(NamedTuple):
    """The hashes of the last lines of a mail, the last first, and for each of them keys of the text above it.

    The sketch was made without the first `cut` of them.
    """

    lines: tuple[int, ...]
    above: tuple[tuple[int, ...], ...]
    cut: int = 0

    def is_unlike(self, other: MailEnd, line: int) -> bool:
        """True if the texts above the lines that both have, from this one upward, have nothing in common."""
        mine, yours = self.lines.index(line), other.lines.index(line)
        shared = zip(self.lines[mine:], other.lines[yours:], strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], shared)) - 1
        one, two = self.above[mine + same], other.above[yours + same]
        return bool(one or two) and not set(one) & set(two)

    def framed(self, frame: Collection[int]) -> int:
        return sum(1 for _ in takewhile(frame.__contains__, self.lines))


def without_frame(text: str, frame: bytes) -> tuple[str, MailEnd]:
    """The text of a mail without its last lines that are frame, and the end of the mail; if nothing is left, all."""
    lines = list(_last_lines(text))
    end = MailEnd(tuple(value for *_, value in lines), _above(text, lines))
    cut = end.framed(_known(frame))
    own = text
    if cut:
        attached = text[lines[0][1] :]
        own = text[: lines[cut - 1][0]]
        own = own + attached if own.strip() else text
    return own, end._replace(cut=cut)


def _last_lines(text: str) -> Iterator[tuple[int, int, int]]:
    end, found = len(text), 0
    while found < _MOST_LINES and end > 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        if line.strip() and (found or not _ATTACHED.search(line)):
            folded = " ".join(line.casefold().split()).encode("utf-8", "surrogatepass")
            yield start, end, int.from_bytes(hashlib.blake2b(folded, digest_size=_BYTES).digest(), "big")
            found += 1
        end = start - 1


def _above(text: str, lines: Sequence[tuple[int, int, int]]) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    start, keys = lines[-1][0] if lines else 0, list[int]()
    more = text[max(0, start - _LOOKED_AT) : start]
    for begin, end, _ in reversed(lines):
        keys = sorted({*keys, *(shingle_hashes(more, _SHINGLE) >> _UNUSED).tolist()})[:_KEYS]
        found.append(tuple(keys))
        more = text[begin : min(end, begin + _LOOKED_AT)]
    return tuple(reversed(found))


@lru_cache(maxsize=4)
def _known(frame: bytes) -> frozenset[int]:
    return frozenset(np.frombuffer(frame, dtype="<u8").tolist())


def frame_of(store: Store) -> bytes:
    """The lines of a store's frame, for `without_frame`."""
    data = store.get_resource(FRAME) or b""
    # In an engine others can have written anything there.
    return data[: len(data) // 8 * 8]


class MailFrame:
    """Learns the frame from the mails of a run and of earlier ones."""

    def __init__(self, store: Store) -> None:
        self.told = frame_of(store)
        self._frame = dict.fromkeys(np.frombuffer(self.told, dtype="<u8").tolist())
        self._ends: dict[Ref, MailEnd] = {}
        self._unlike: dict[int, list[MailEnd]] = {}
        self._late: list[Ref] = []
        for ref, end in _kept(store.get_resource(ENDS) or b"[]"):
            self.note(ref, end)
        self.changed = False

    def note(self, ref: Ref, sent: MailEnd | None) -> None:
        """Note the end of a mail, also as a worker sent it; other documents have none."""
        if sent is None:
            return
        self.changed = True
        self._forget(ref)
        end = self._ends[ref] = MailEnd(*sent)
        for line in dict.fromkeys(end.lines):
            if line in self._frame or len(self._frame) >= _MOST_FRAME:
                continue
            unlike = self._unlike.setdefault(line, [])
            if all(end.is_unlike(other, line) for other in unlike):
                unlike.append(end)
            if len(unlike) == _ENOUGH:
                self._frame[line] = None
                self.told = np.array([*self._frame], dtype="<u8").tobytes()
                del self._unlike[line]
        if len(self._ends) > _MOST_MAILS:
            oldest = next(iter(self._ends))
            self._late += [oldest] * self._is_late(self._ends[oldest])
            self._forget(oldest)

    def repeat(self, ref: Ref, of: Ref) -> None:
        """Note a mail with the sketch of another one."""
        if of in self._ends:
            self.note(ref, self._ends[of])

    def _forget(self, ref: Ref) -> None:
        end = self._ends.pop(ref, None)
        for line in end.lines if end else ():
            if left := [other for other in self._unlike.pop(line, ()) if other is not end]:
                self._unlike[line] = left

    def _is_late(self, end: MailEnd) -> bool:
        return end.cut < end.framed(self._frame)

    def late(self) -> list[Ref]:
        """The mails that came before their last lines were known to be frame; each is named once."""
        return [*self._late, *(ref for ref, end in self._ends.items() if self._is_late(end))]

    def settle(self) -> None:
        """Note that the late mails were sketched anew."""
        self._ends = {ref: end._replace(cut=end.framed(self._frame)) for ref, end in self._ends.items()}
        self._late = []

    def keep(self, store: Store) -> None:
        if self.changed:
            ends = [[ref.id, ref.index, ref.routing, *end] for ref, end in self._ends.items()]
            # A later run learns it anew.
            with suppress(StoreError):
                if self.told:
                    store.put_resource(FRAME, self.told)
                store.put_resource(ENDS, json.dumps(ends).encode("ascii"))
            self.changed = False


def _kept(data: bytes) -> Iterator[tuple[Ref, MailEnd]]:
    with suppress(ValueError, TypeError, OverflowError, RecursionError):
        for name, index, routing, lines, above, cut in json.loads(data):
            end = MailEnd(tuple(map(int, lines)), tuple(tuple(map(int, keys)) for keys in above), int(cut))
            if len(end.lines) == len(end.above) and all(0 <= line < 1 << 8 * _BYTES for line in end.lines):
                yield Ref(str(name), str(index), None if routing is None else str(routing)), end
