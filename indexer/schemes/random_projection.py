"""random-projection: the cosine of term frequencies by random projections (Charikar 2002; Henzinger 2006)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import acos, comb, isclose, pi

import numpy as np

from indexer.core.sketches import equal_parts_of_pairs, random_projection
from indexer.core.text import token_hashes, without_marks
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import (
    Hashes,
    Parameter,
    Plan,
    Positions,
    Scheme,
    Similarities,
    Weights,
    checked_choice,
    checked_integer,
    checked_share,
)
from indexer.schemes.keys.layout import KeyLayout
from indexer.text.counts import counted

MAX_BITS = 1024
MAX_BLOCK = 48

# Neighbours of a key are asked for until this many of the pairs are expected to be found, or this many bits are
# flipped.
_WANTED_RECALL = 0.95
_MAX_FLIPS = 2


class RandomProjection(Scheme):
    """Signs of the projections of a text's tokens on axes of -1 and +1. docs/reference/schemes.md explains parameters,
    payload and keys.

    Two bits differ with the probability angle / pi, so the share of differing bits estimates the angle of the vectors
    of term frequencies without bias (M. Charikar, Similarity Estimation Techniques from Rounding Algorithms, STOC 2002;
    with axes of -1 and +1, as in M. Henzinger, Finding Near-Duplicate Web Pages, SIGIR 2006, this holds in the limit of
    many different tokens).
    """

    family = "random-projection"
    summary = "Compares words by how often they occur; finds documents of the same wording in few bits."
    measure = "cosine of the vectors of term frequencies"

    # Pages of one site share half of their words and more, so that unrelated ones reach 0.9.
    default_similarity = 0.98

    def __init__(self, bits: int = 256, block: int = 32) -> None:
        self.bits = checked_choice(self.family, "bits", bits, range(64, MAX_BITS + 1, 64))
        self.block = checked_integer(self.family, "block", block, 8, min(MAX_BLOCK, bits))
        self.layout, self.payload_bytes = KeyLayout(bits // block, block), bits // 8

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return {"bits": self.bits, "block": self.block}

    def sketch(self, text: str | bytes) -> Sketch | None:
        return self.sketch_features(token_hashes(without_marks(text)))

    def sketch_features(self, features: Hashes, weights: Weights | None = None) -> Sketch | None:
        counted = features if weights is None else np.repeat(features, weights)
        projection = random_projection(counted, self.bits // 64)
        if projection is None:
            return None
        payload = projection.astype(">u8").tobytes()
        whole = int.from_bytes(payload, "big")
        ones = (1 << self.block) - 1
        keys = (
            self.layout.pack(table, whole >> (self.bits - (table + 1) * self.block) & ones)
            for table in range(self.layout.tables)
        )
        return Sketch(self.id, payload, tuple(keys), counted.size)

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        equal = equal_parts_of_pairs(payloads.matrix(self.payload_bytes), left, right)
        return np.clip(np.cos(np.pi * (1 - equal / self.bits)), 0.0, 1.0)

    def recall(self, similarity: float, flips: int) -> float:
        differs = acos(similarity) / pi
        shared = sum(comb(self.block, n) * differs**n * (1 - differs) ** (self.block - n) for n in range(flips + 1))
        return min(1.0, max(0.0, 1 - (1 - shared) ** self.layout.tables))

    def plan(self, similarity: float) -> Plan:
        asked = checked_share(self.family, "similarity", similarity)
        flips = self._flips(asked)
        recall = self.recall(asked, flips)
        flipped = f" but for {counted(flips, 'bit')}" if flips else ""
        explanation = (
            f"A candidate has one of {self.layout.tables} blocks of {self.block} bits in common{flipped}; "
            f"{recall:.2%} of the pairs of cosine {asked:g} are expected to."
        )
        probes = self.layout.tables * len(self._masks[flips])
        return Plan(similarity, probes, 1, recall, isclose(asked, 1.0), explanation)

    def probes(self, sketch: Sketch, similarity: float) -> Sequence[int]:
        masks = self._masks[self._flips(checked_share(self.family, "similarity", similarity))]
        return [key ^ mask for mask in masks for key in sketch.keys]

    def _flips(self, similarity: float) -> int:
        enough = (flips for flips in range(_MAX_FLIPS) if self.recall(similarity, flips) >= _WANTED_RECALL)
        return next(enough, _MAX_FLIPS)

    @cached_property
    def _masks(self) -> list[list[int]]:
        masks = [[0]]
        for flips in range(1, _MAX_FLIPS + 1):
            further = [sum(1 << bit for bit in chosen) for chosen in combinations(range(self.block), flips)]
            masks.append(masks[-1] + further)
        return masks
