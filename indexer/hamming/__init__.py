"""Arrays of hashes: all pairs within a Hamming distance, and an index for batched lookups."""

from __future__ import annotations

from indexer.hamming.index import HammingHits, HammingIndex
from indexer.hamming.pairs import Pairs, find_pairs, iter_pairs

__all__ = ["HammingHits", "HammingIndex", "Pairs", "find_pairs", "iter_pairs"]
