"""Many texts in one buffer, as Arrow holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError

Ends = npt.NDArray[np.uintp]


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Texts behind one another in a buffer of UTF-8 (bytes, or anything with their interface).

    Text i ends before `ends[i]`, uintp of shape (n,). The first begins at 0, each other at the end of the one before.
    Raises UsageError for ends outside the buffer.
    """

    data: Any
    ends: Ends

    def __post_init__(self) -> None:
        ends = self.ends
        if ends.dtype != np.uintp or ends.ndim != 1 or not ends.flags.c_contiguous:
            raise UsageError("ends of texts must be an array of uintp")
        size = ends.size
        if (size and int(ends[-1]) > memoryview(self.data).nbytes) or (size > 1 and np.any(ends[1:] < ends[:-1])):
            raise UsageError("texts must lie within their buffer, one behind the other")

    def __len__(self) -> int:
        return self.ends.size

    @property
    def starts(self) -> Ends:
        return np.concatenate((np.zeros(1, dtype=np.uintp), self.ends[:-1])) if len(self) else self.ends

    def listed(self) -> list[bytes]:
        data = memoryview(self.data).cast("B")
        return [bytes(data[start:end]) for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]


Texts = Sequence[str | bytes] | Joined


def encoded(text: str | bytes) -> bytes:
    # A lone surrogate becomes three bytes that no UTF-8 has; the core reads ill-formed bytes as U+FFFD.
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def joined_texts(texts: Texts) -> tuple[Any, Ends]:
    """Texts as UTF-8 behind one another, and the end of each: uintp of shape (n,)."""
    if isinstance(texts, Joined):
        return texts.data, texts.ends
    data = [encoded(text) for text in texts]
    return b"".join(data), np.fromiter(accumulate(map(len, data)), dtype=np.uintp, count=len(data))
