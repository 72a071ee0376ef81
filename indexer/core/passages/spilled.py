"""Words and sorted rows in files, for data too large for memory."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]
WordRows = npt.NDArray[np.uint64]

# The most that rows take in memory before they are dealt to files, in bytes.
_ROOM = 4 << 20
_FILES = 256
_WORDS_AT_ONCE = 1 << 16
_DIGEST = 16


class WordFile:
    """The hashes of the words of all documents added, in a file of 8 bytes a word.

    Memory: 24 bytes for each document.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "words"
        self._file = self._path.open("wb")
        self._ends = array("q", [0])
        self._digests = bytearray()

    def add(self, words: Hashes) -> None:
        """Add the words of a document: hashes of shape (n,), n from 0 on."""
        data = np.ascontiguousarray(words, dtype=np.uint64).tobytes()
        self._file.write(data)
        self._ends.append(self._ends[-1] + words.size)
        self._digests += hashlib.blake2b(data, digest_size=_DIGEST).digest()

    @property
    def offsets(self) -> Positions:
        """The position of each document's first word among all words, and the end: shape (documents + 1,)."""
        return np.array(self._ends, dtype=np.int64)

    @property
    def firsts(self) -> Positions:
        """The first document with the same words, for each document: shape (documents,)."""
        digests = np.frombuffer(bytes(self._digests), dtype=f"V{_DIGEST}")
        _, first, which = np.unique(digests, return_index=True, return_inverse=True)
        return np.asarray(first[which.reshape(-1)], dtype=np.int64)

    @property
    def words(self) -> Hashes:
        self._file.flush()
        if not self._ends[-1]:
            return np.empty(0, dtype=np.uint64)
        return np.memmap(self._path, dtype=np.uint64, mode="r").view(np.ndarray)

    def pieces(self, overlap: int) -> Iterator[tuple[int, Hashes]]:
        self._file.flush()
        at_once = max(_WORDS_AT_ONCE, overlap)
        for start in range(0, self._ends[-1], at_once):
            yield start, np.fromfile(self._path, dtype=np.uint64, count=at_once + overlap, offset=8 * start)

    def close(self) -> None:
        self._file.close()


class SpilledRows:
    """Rows of numbers, uint64 of shape (n, columns), read again in the order of their first column's highest bits.

    Memory: 16 MB, beyond it files in the folder, and then the rows of one of them at a time.
    """

    def __init__(self, folder: Path, name: str, columns: int, bound: int) -> None:
        """`bound` is greater than all numbers in the first column."""
        self._folder, self._name, self._columns = folder, name, columns
        self._shift = np.uint64(max(0, (bound - 1).bit_length() - (_FILES.bit_length() - 1)))
        self._rows: list[WordRows] = []
        self._held = 0
        self._is_dealt = False

    def add(self, *columns: npt.NDArray[np.uint64] | Positions) -> None:
        """Add rows by their columns, each of shape (n,)."""
        rows = np.stack([column.view(np.uint64) for column in columns], axis=1)
        self._rows.append(rows)
        self._held += rows.nbytes
        if self._held > _ROOM:
            self._deal()

    def read(self) -> Iterator[WordRows]:
        if not self._is_dealt:
            yield self._taken()
            return
        self._deal()
        for number in range(_FILES):
            path = self._path(number)
            if path.exists():
                yield np.fromfile(path, dtype=np.uint64).reshape(-1, self._columns)
                path.unlink()

    def _deal(self) -> None:
        self._is_dealt = True
        rows = self._taken()
        numbers = (rows[:, 0] >> self._shift).astype(np.uint8)
        order = np.argsort(numbers, kind="stable")
        rows, ends = rows[order], np.searchsorted(numbers[order], np.arange(_FILES), side="right").tolist()
        for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if start < end:
                with self._path(number).open("ab") as file:
                    rows[start:end].tofile(file)

    def _taken(self) -> WordRows:
        rows = np.concatenate(self._rows) if self._rows else np.empty((0, self._columns), dtype=np.uint64)
        self._rows, self._held = [], 0
        return rows

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._name}-{number:03}"
