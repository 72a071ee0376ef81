"""A small scheme for tests: minhash of the set of words, by BLAKE2b, in Python alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.schemes.base import Parameter, Plan, Scheme
from indexer.schemes.keys.layout import KeyLayout


class WordMinhash(Scheme):
    """`bands` tables of `rows` values each; the payload is all values, two bytes of each."""

    family = "word-minhash"
    summary = "Compares sets of words, for tests."
    measure = "Jaccard coefficient of the sets of words"
    default_similarity = 0.5

    def __init__(self, bands: int = 20, rows: int = 2, agreeing: int = 1) -> None:
        self.bands, self.rows, self.agreeing = bands, rows, agreeing
        self.layout = KeyLayout(bands, 32)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return {"bands": self.bands, "rows": self.rows, "agreeing": self.agreeing}

    def sketch(self, text: str | bytes) -> Sketch | None:
        words = {word.encode() for word in (text.decode() if isinstance(text, bytes) else text).split()}
        if not words:
            return None
        least = [
            min(hashlib.blake2b(word, digest_size=8, salt=str(number).encode()).digest() for word in words)
            for number in range(self.bands * self.rows)
        ]
        keys = []
        for band in range(self.bands):
            joined = b"".join(least[band * self.rows : (band + 1) * self.rows])
            key = int.from_bytes(hashlib.blake2b(joined, digest_size=4).digest(), "big")
            keys.append(self.layout.pack(band, key))
        return Sketch(self.id, b"".join(value[:2] for value in least), tuple(keys), len(words))

    def similarities(self, payload: bytes, others: Sequence[bytes]) -> npt.NDArray[np.float64]:
        own = np.frombuffer(payload, dtype=np.uint16)
        rows = np.frombuffer(b"".join(others), dtype=np.uint16).reshape(-1, own.size)
        return np.asarray((rows == own).mean(axis=1), dtype=np.float64)

    def plan(self, similarity: float) -> Plan:
        if not 0 <= similarity <= 1:
            raise UsageError(f"similarity {similarity}: between 0 and 1")
        recall = 1 - (1 - similarity**self.rows) ** self.bands
        return Plan(similarity, self.bands, self.agreeing, recall, False, f"asks for {self.bands} bands.")


class ProbingWordMinhash(WordMinhash):
    """The same, by way of probes."""

    family = "probing-minhash"

    def probes(self, sketch: Sketch, similarity: float) -> Sequence[int]:
        return [*sketch.keys, *(key ^ 1 for key in sketch.keys)]
