"""SpotSigs: the words after stop-words, compared by their exact Jaccard coefficient (Theobald et al. 2008)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import among, intersection_sizes, sorted_distinct
from indexer.core.text import tokenise
from indexer.errors import PayloadError, UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged, no_payload
from indexer.schemes.base import SLACK, Parameter, Plan, Positions, Scheme, Similarities, Sketches, checked_integer
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.set_joins import least_shared, prefix, similar
from indexer.schemes.simhash_variants import mixed, recipe_parameters
from indexer.text import languages
from indexer.text.counts import counted
from indexer.text.features import Hashes, hashes_of_rows, recipe, rising_hashes

PARTITION_BITS = 12
SPOT_BITS = 40
_SPOT_BYTES = 8
# From here down, half of all keys of a document and more would have to be stored for every lookup.
LOWEST_BOUND = 0.2
HIGHEST_BOUND = 0.99
MAX_SPOTS = 20_000
STEP = np.uint64(0x9E3779B97F4A7C15)


class SpotSigs(Scheme):
    """The spots of a document: each antecedent with the next `chain` words, `distance` apart. docs/reference/schemes.md
    explains parameters, payload and keys.

    Theobald, Siddharth and Paepcke, "SpotSigs: robust and efficient near duplicate detection in large web collections",
    SIGIR 2008, section 3. The payload is the multiset of spots as a set of numbers: for the n-th occurrence of a spot
    (from 0) the spot's hash and n times a constant, sent through the finaliser of SplitMix64. Of n spots the first n -
    ceil(bound n) + 1 are keys, each with the number of n's partition by length (section 4.2).
    """

    family = "spotsigs"
    summary = "Compares the words behind stop-words exactly; finds the same prose between other navigation and notices."
    measure = "Jaccard coefficient of the multisets of spots"

    def __init__(
        self,
        stop: object = "en",
        antecedents: object = "all",
        distance: object = 1,
        chain: object = 3,
        bound: object = 0.5,
        limit: object = 2000,
        **tokens: object,
    ) -> None:
        self.stop = languages.stop_list(stop)
        if self.stop == "none":
            raise UsageError("stop=none: spots need a list of stop-words")
        self.tokens = recipe(**tokens)
        self.antecedents = _antecedents(antecedents)
        self.distance = checked_integer(self.family, "distance", distance, 1, 16)
        self.chain = checked_integer(self.family, "chain", chain, 1, 16)
        self.limit = checked_integer(self.family, "limit", limit, 1, MAX_SPOTS)
        if type(bound) is not float or not LOWEST_BOUND <= bound <= HIGHEST_BOUND:
            raise UsageError(f"bound={bound}: a number from {LOWEST_BOUND} to {HIGHEST_BOUND}")
        self.bound = self.default_similarity = bound
        self.partitions = partitions(bound, self.limit)
        self.layout = KeyLayout(1, PARTITION_BITS + SPOT_BITS)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        left_out = ("features", "size", "stop")
        words = {name: value for name, value in recipe_parameters(self.tokens).items() if name not in left_out}
        return words | {
            "stop": self.stop, "antecedents": ".".join(sorted(self.antecedents)) or "all", "distance": self.distance,
            "chain": self.chain, "bound": self.bound, "limit": self.limit,
        }  # fmt: skip

    def spots(self, text: str | bytes) -> Hashes:
        """The hashes of a text's spots, in order: lookup8 over the 8 bytes, little-endian, of each word's hash."""
        words, folded = self.tokens.folded(text)
        stop = languages.stop_words(self.stop, text)
        stops = among(folded, rising_hashes(stop))
        first = among(folded, rising_hashes(self.antecedents)) if self.antecedents else stops
        other = ~(first | stops)
        others = words[other]
        # How many words that can be in a chain stand before each antecedent.
        before = np.cumsum(other)[first]
        whole = before + self.chain * self.distance <= others.size
        places = before[whole, None] + self.distance * np.arange(1, self.chain + 1) - 1
        return hashes_of_rows(np.column_stack((words[first][whole], others[places])))

    def sketch(self, text: str | bytes) -> Sketch | None:
        elements = numbered(self.spots(text)[: self.limit])
        if not elements.size:
            return None
        first = elements[: prefix(elements.size, self.bound)]
        packed = dict.fromkeys(_packed(first, self._partition(elements.size)))
        return Sketch(self.id, elements.astype(">u8").tobytes(), tuple(packed), int(elements.size))

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        sizes = payloads.sizes // _SPOT_BYTES
        if not np.all(sizes[left]) or not np.all(sizes[right]):
            raise _no_spots(0)
        shared = intersection_sizes(_numbers(payloads), payloads.offsets // _SPOT_BYTES, left, right)
        return np.asarray(shared / (sizes[left] + sizes[right] - shared), dtype=np.float64)

    def join(
        self, sketches: Sketches, similarity: float, *, threads: int | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        del threads
        self._require(similarity)
        numbers = _numbers(sketches.payloads).view(np.int64)
        return similar(Ragged(numbers, sketches.payloads.offsets // _SPOT_BYTES), similarity)

    def plan(self, similarity: float) -> Plan:
        self._require(similarity)
        sizes = np.arange(1, self.limit + 1)
        shortest = np.maximum(1, np.ceil(sizes * similarity - SLACK))
        longest = np.minimum(self.limit, np.floor(sizes / similarity + SLACK))
        first, last = (np.searchsorted(self.partitions, ends, side="right") for ends in (shortest, longest))
        count = int(np.max((sizes - shortest + 1) * (last - first + 1)))
        said = (
            f"asks for as many of a document's spots as must include a shared one, at most {counted(count, 'key')}, "
            f"among documents with a fitting number of spots; misses no pair of similarity {similarity:g} or more."
        )
        return Plan(similarity, count, 1, 1.0, True, said)

    def probes(self, sketch: Sketch, similarity: float) -> Sequence[int]:
        self._require(similarity)
        elements = self._elements(sketch.payload)
        first = elements[: prefix(elements.size, similarity)]
        longest = min(self.limit, math.floor(elements.size / similarity + SLACK))
        shortest = least_shared(elements.size, similarity)
        reachable = range(self._partition(shortest), self._partition(longest) + 1)
        return list(dict.fromkeys(probe for partition in reachable for probe in _packed(first, partition)))

    def _require(self, similarity: float) -> None:
        if not self.bound - SLACK <= similarity <= 1:
            raise UsageError(
                f"similarity {similarity}: spotsigs with bound={self.bound} looks up from {self.bound} to 1"
            )

    def _partition(self, size: int) -> int:
        return int(np.searchsorted(self.partitions, size, side="right")) - 1

    def _elements(self, payload: bytes) -> Hashes:
        if not payload or len(payload) % _SPOT_BYTES:
            raise _no_spots(len(payload))
        return np.frombuffer(payload, dtype=">u8").astype(np.uint64)


def partitions(bound: float, limit: int) -> npt.NDArray[np.int64]:
    """The first lengths of the partitions, up to `limit`; documents match only in one or neighbouring partitions.

    Each partition is as narrow as possible (section 4.2 of the paper): if one begins at length p, the next begins at
    the first length q with p / q < bound.
    """
    starts = [1]
    while (following := math.floor(starts[-1] / bound + SLACK) + 1) <= limit:
        starts.append(following)
    return np.array(starts, dtype=np.int64)


def numbered(spots: Hashes) -> Hashes:
    """The multiset as a set: each occurrence of a spot as a number of its own, sorted. Shape (n,) to (n,)."""
    rising = np.sort(spots)
    first = np.searchsorted(rising, rising, side="left")
    occurrence = (np.arange(rising.size) - first).astype(np.uint64)
    return sorted_distinct(mixed(rising + occurrence * STEP))


def _numbers(payloads: Ragged) -> Hashes:
    if np.any(payloads.offsets % _SPOT_BYTES):
        raise _no_spots(int(payloads.sizes[np.flatnonzero(payloads.sizes % _SPOT_BYTES)[0]]))
    return payloads.values.view(">u8").astype(np.uint64)


def _no_spots(size: int) -> PayloadError:
    return no_payload(f"spotsigs: a payload of {size} bytes, where each spot has {_SPOT_BYTES}")


def _packed(elements: Hashes, partition: int) -> Iterator[int]:
    return (partition << SPOT_BITS | element for element in (elements >> np.uint64(64 - SPOT_BITS)).tolist())


def _antecedents(value: object) -> frozenset[str]:
    words = frozenset() if value == "all" else frozenset(str(value).split("."))
    for word in words:
        if tokenise(word).tokens != (word.encode(),):
            raise UsageError(f"antecedents={value}: {word!r} is not one word in lower case")
    return words
