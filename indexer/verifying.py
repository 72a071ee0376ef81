"""Verification of pairs that any scheme found: by the simhash, by a stored sketch, or exactly by the texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from indexer import exact
from indexer.errors import ExtractionError, UsageError
from indexer.model import Fingerprint, Record, Ref, Sketch
from indexer.planning import PREFERRED
from indexer.schemes.minwise import MinwiseScheme
from indexer.sketch_table import runs
from indexer.store_schemes import scheme_of
from indexer.stored_text import stored_text
from indexer.stores.base import Store

Way = Literal["hamming", "sketch", "text"]
Mask = npt.NDArray[np.bool_]

DEFAULT_JACCARD = 0.5
_READ = 500


class Verifier(ABC):
    """Says which pairs pass; what can't be verified does not, and stands in `unread` with the reason."""

    remembered = 20_000
    """So many documents' evidence is kept in memory."""
    with_sketches = False

    def __init__(self, store: Store) -> None:
        self.store = store
        self.unread: dict[Ref, str] = {}
        self._known: OrderedDict[Ref, Any] = OrderedDict()

    @abstractmethod
    def of_record(self, record: Record) -> Any:
        """What a stored document is verified by; None where there is nothing. Raises ExtractionError with why."""

    @abstractmethod
    def of_question(self, text: str | bytes | None, fingerprint: Fingerprint | None) -> Any:
        """What a text that is asked about is verified by; None where there is nothing."""

    @abstractmethod
    def agree(self, one: Any, others: Sequence[Any]) -> Mask:
        """Which of the others are close enough to one; shape (len(others),)."""

    def between(self, left: Sequence[Ref], right: Sequence[Ref]) -> Mask:
        """Which pairs of stored documents pass; shape (len(left),)."""
        known = self._evidence([*left, *right])
        passed = np.zeros(len(left), dtype=np.bool_)
        numbers: dict[Ref, int] = {}
        owners = np.array([numbers.setdefault(ref, len(numbers)) for ref in left], dtype=np.int64)
        order = np.argsort(owners, kind="stable")
        for start, end in runs(owners[order]):
            places = order[start:end]
            passed[places] = self._passing(known[left[places[0]]], [known[right[place]] for place in places])
        return passed

    def against(self, question: Any) -> Callable[[Sequence[Ref]], Mask]:
        """What says which stored documents pass against a question."""
        return lambda refs: self._against(question, refs)

    def _against(self, question: Any, refs: Sequence[Ref]) -> Mask:
        known = self._evidence(refs)
        return self._passing(question, [known[ref] for ref in refs])

    def _passing(self, one: Any, others: Sequence[Any]) -> Mask:
        passed = np.zeros(len(others), dtype=np.bool_)
        there = [place for place, other in enumerate(others) if other is not None]
        if one is not None and there:
            passed[there] = self.agree(one, [others[place] for place in there])
        return passed

    def _evidence(self, refs: Sequence[Ref]) -> dict[Ref, Any]:
        wanted = list(dict.fromkeys(refs))
        found = {ref: self._known[ref] for ref in wanted if ref in self._known}
        missing = [ref for ref in wanted if ref not in found]
        for start in range(0, len(missing), _READ):
            some = missing[start : start + _READ]
            for ref, record in zip(some, self.store.get(some, sketches=self.with_sketches), strict=True):
                found[ref] = self._known[ref] = self._of(ref, record)
        for ref in wanted:
            self._known.move_to_end(ref)
        while len(self._known) > self.remembered:
            self._known.popitem(last=False)
        return found

    def _of(self, ref: Ref, record: Record | None) -> Any:
        try:
            evidence = self.of_record(record) if record else None
            if evidence is None:
                self.unread[ref] = "it has nothing to be verified by"
        except ExtractionError as error:
            self.unread[ref] = error.detail or error.reason
            return None
        return evidence


class HammingVerifier(Verifier):
    """By the simhash of the store's first scheme: at most `distance` bits apart."""

    def __init__(self, store: Store, distance: int) -> None:
        super().__init__(store)
        self.distance = distance

    def of_record(self, record: Record) -> int | None:
        """The simhash."""
        return record.fingerprint.value if record.fingerprint else None

    def of_question(self, text: str | bytes | None, fingerprint: Fingerprint | None) -> int | None:
        """The simhash."""
        del text
        return fingerprint.value if fingerprint else None

    def agree(self, one: int, others: Sequence[int]) -> Mask:
        """Those within the distance."""
        return np.array([(one ^ other).bit_count() <= self.distance for other in others], dtype=np.bool_)


class _Resemblance(Verifier):
    """By the Jaccard coefficient or the containment of the sets of 5-word shingles, whichever are asked for."""

    def __init__(self, store: Store, jaccard: float | None, containment: float | None) -> None:
        super().__init__(store)
        self.jaccard = DEFAULT_JACCARD if jaccard is None and containment is None else jaccard or 0.0
        self.containment = containment or 0.0

    def _enough(self, jaccard: npt.NDArray[np.float64], containment: npt.NDArray[np.float64]) -> Mask:
        return (jaccard >= self.jaccard - 1e-9) & (containment >= self.containment - 1e-9)


class SketchVerifier(_Resemblance):
    """By the estimate from stored minhash sketches; the containment, where it can be told, follows from that."""

    with_sketches = True

    def __init__(self, store: Store, jaccard: float | None, containment: float | None) -> None:
        super().__init__(store, jaccard, containment)
        names = [scheme.name for scheme in store.info.schemes if scheme.name in PREFERRED]
        if not names:
            raise UsageError(
                f"--verify sketch: the store has no sketches to verify by; index with --scheme {PREFERRED[0]}, or use "
                "--verify text"
            )
        found = scheme_of(store, names[0])
        assert isinstance(found, MinwiseScheme)  # noqa: S101 what is preferred is one
        self.scheme = found

    def of_record(self, record: Record) -> Sketch | None:
        """The sketch."""
        return _with_features(record.sketches.get(self.scheme.family))

    def of_question(self, text: str | bytes | None, fingerprint: Fingerprint | None) -> Sketch | None:
        """The text's sketch."""
        del fingerprint
        return None if text is None else _with_features(self.scheme.sketch(text))

    def agree(self, one: Sketch, others: Sequence[Sketch]) -> Mask:
        """Those whose estimates are large enough."""
        jaccard = self.scheme.similarities(one.payload, [other.payload for other in others])
        # What a sketch can't tell is not verified.
        return self._enough(jaccard, np.nan_to_num(self.scheme.containments(one, others), nan=0.0))


class TextVerifier(_Resemblance):
    """Exactly, by the texts, which are read again from where the documents came from."""

    remembered = 2000

    def of_record(self, record: Record) -> exact.ShingleSets | None:
        """The set of shingles of the document's text."""
        return self.of_question(stored_text(self.store, record), None)

    def of_question(self, text: str | bytes | None, fingerprint: Fingerprint | None) -> exact.ShingleSets | None:
        """The set of shingles of a text."""
        del fingerprint
        sets = None if text is None else exact.shingle_sets([text])
        return sets if sets is not None and sets.values.size else None

    def agree(self, one: exact.ShingleSets, others: Sequence[exact.ShingleSets]) -> Mask:
        """Those whose sets of shingles resemble enough."""
        sizes = np.cumsum([0, one.values.size, *(other.values.size for other in others)])
        sets = exact.ShingleSets(np.concatenate([one.values, *(other.values for other in others)]), sizes)
        first, rest = np.zeros(len(others), dtype=np.int64), np.arange(1, len(others) + 1)
        return self._enough(exact.jaccard(sets, first, rest), exact.containment(sets, first, rest))


def verifier(
    store: Store, way: Way, *, jaccard: float | None = None, containment: float | None = None, distance: int = 0
) -> Verifier:
    """What verifies pairs in one of the three ways; UsageError where the store lacks what that takes."""
    if way == "hamming":
        if jaccard is not None or containment is not None:
            raise UsageError("--min-jaccard and --min-containment go with --verify sketch or text")
        return HammingVerifier(store, distance)
    return (SketchVerifier if way == "sketch" else TextVerifier)(store, jaccard, containment)


def _with_features(sketch: Sketch | None) -> Sketch | None:
    return sketch if sketch and sketch.payload else None
