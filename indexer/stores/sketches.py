"""The part of the stores' contract for secondary schemes and named resources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, overload

from indexer.errors import IncompatibleStoreError, UsageError
from indexer.model import SIMHASH_DOC, Record, Ref, Sketch
from indexer.model.ragged import Ragged
from indexer.schemes import registry
from indexer.schemes.keys.layout import SchemeInfo
from indexer.text.counts import counted

T = TypeVar("T")
Each = TypeVar("Each")

MAX_RESOURCE_BYTES = 64 << 20
COUNTED = 100
"""Of a question's keys that are all common, about this many are counted to find the rarest."""

BOUND = 10_000
"""Of keys that are all common, the rarest are asked for, and about this many documents that hold them compared."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One finder's request to a store: documents with these packed keys in at least `agreeing` tables.

    Keys of more than `common` documents (0: no limit) may be set aside if other keys find as many documents; equal
    documents may count as one. If all keys are common, about BOUND documents with the rarest of them are found, maybe
    not all.
    """

    scheme: str
    keys: Sequence[int]
    agreeing: int = 1
    common: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """A check by the engine itself: simhash-doc payloads differ from this one in at most `distance` bits."""

    payload: bytes
    distance: int
    scheme: str = SIMHASH_DOC


@dataclass(frozen=True, slots=True)
class Found:
    """Some documents of a lookup or a scan, with the requested data.

    `payloads[scheme]` has one row (uint8) for each of `refs`, empty for a document without a sketch with features; so
    has `keys[scheme]` (int64, packed), if keys were asked for. `records` are the same documents without their sketches,
    if the store sent them in the same answer; each is made on demand. `lacking`, with the first answer of a lookup
    only, is Store.lacking() for the lookup's schemes; so is `set_aside`, the number of common keys not asked for, or
    only in part.
    """

    refs: Sequence[Ref]
    payloads: Mapping[str, Ragged]
    keys: Mapping[str, Ragged] = field(default_factory=dict)
    records: Sequence[Record] | None = None
    lacking: Mapping[str, int] | None = None
    set_aside: int = 0


class LazySequence(Sequence[Each]):
    """Records or identities made from a store's answer on demand, each time anew."""

    def __init__(self, rows: Sequence[T], make: Callable[[T], Each]) -> None:
        self._rows: Sequence[Any] = rows
        self._make: Callable[[Any], Each] = make

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Each]:
        return map(self._make, self._rows)

    @overload
    def __getitem__(self, place: int) -> Each: ...
    @overload
    def __getitem__(self, place: slice) -> list[Each]: ...
    def __getitem__(self, place: int | slice) -> Each | list[Each]:
        if isinstance(place, slice):
            return [self._make(row) for row in self._rows[place]]
        return self._make(self._rows[place])


class SketchStore(ABC):
    """The part of a store's contract for secondary schemes; `neardup.stores.base.Store` is all of the contract."""

    @abstractmethod
    def add_scheme(self, scheme: SchemeInfo) -> None:
        """Make room for a scheme; nothing if it exists.

        Raises IncompatibleStoreError if its name has another id; UsageError if the store has no room for it.
        """

    @abstractmethod
    def remove_scheme(self, name: str) -> None:
        """Forget a scheme and all its sketches; nothing if it does not exist."""

    @abstractmethod
    def probe(
        self,
        probes: Sequence[Probe],
        schemes: Sequence[str] = (),
        *,
        check: Check | None = None,
        include_short: bool = False,
    ) -> Iterator[Found]:
        """The documents satisfying at least one of the probes: each once, with no limit, as of one moment.

        A document satisfies a probe if they share a key in `agreeing` (1 or more) tables of its scheme or more; common
        keys may be set aside (see Probe). With the payloads of `schemes`, in bounded memory. The first answer always
        comes, if only with `lacking`; a small result is one answer with its records. `check` leaves out, inside the
        store, documents too far away. Raises UsageError for an unknown scheme, and for a check in an embedded store.
        """

    def probe_many(
        self, questions: Sequence[Sequence[Probe]], schemes: Sequence[str] = (), *, include_short: bool = False
    ) -> Iterator[Iterable[Found]]:
        """The answers of probe() to these questions, in their order; each is as of a moment of its own.

        An answer has to be read before the next is asked for.
        """
        for probes in questions:
            yield self.probe(probes, schemes, include_short=include_short)

    @abstractmethod
    def scan_sketches(
        self, schemes: Sequence[str], *, keys: Sequence[str] = (), include_short: bool = False
    ) -> Iterator[Found]:
        """Every document with features for at least one of these schemes, with the payloads of each; as scan().

        With the packed keys too for the schemes in `keys`. Raises UsageError for an unknown scheme.
        """

    @abstractmethod
    def lacking(self, schemes: Sequence[str]) -> Mapping[str, int]:
        """For each of these schemes the number of documents, not short and with words, without a sketch of it.

        A sketch without features counts as a sketch. Raises UsageError as probe().
        """

    @abstractmethod
    def sketch_counts(self) -> Mapping[str, int]:
        """For each secondary scheme how many documents have a sketch of it, also one without features."""

    @abstractmethod
    def put_resource(self, name: str, data: bytes) -> None:
        """Keep bytes under a name, replacing older ones. Raises UsageError for more than MAX_RESOURCE_BYTES."""

    @abstractmethod
    def get_resource(self, name: str) -> bytes | None:
        """The data kept under a name; None if there is none."""


@dataclass(frozen=True, slots=True)
class RareKeys:
    """Probes without their common keys: ready to ask, and with common keys alone.

    Of the latter about BOUND documents are read. `set_aside` keys are not asked for, or only in these.
    """

    whole: Sequence[Probe]
    bounded: Sequence[Probe]
    set_aside: int

    @classmethod
    def of(cls, probes: Sequence[Probe], held: Callable[[Probe, int], Sequence[int]]) -> RareKeys:
        """`held(probe, most)` returns the number of documents with each key of a probe, counted up to `most`."""
        whole: list[Probe] = []
        bounded: list[Probe] = []
        set_aside = 0
        for probe in probes:
            counts = held(probe, probe.common + 1) if probe.common else ()
            rare = [key for key, count in zip(probe.keys, counts, strict=False) if count <= probe.common]
            if not probe.common or len(rare) == len(probe.keys):
                whole.append(probe)
                continue
            set_aside += len(probe.keys) - len(rare)
            if rare:
                whole.append(replace(probe, keys=rare))
            else:
                some = replace(probe, keys=probe.keys[:: len(probe.keys) // COUNTED + 1])
                bounded.append(replace(some, keys=_fewest(some.keys, held(some, BOUND))))
        return cls(whole, bounded, set_aside)


def _fewest(keys: Sequence[int], counts: Sequence[int]) -> list[int]:
    chosen, documents = [], 0
    for count, key in sorted(zip(counts, keys, strict=True)):
        if documents >= BOUND:
            break
        chosen.append(key)
        documents += count
    return chosen


def require_schemes(known: Sequence[SchemeInfo], names: Iterable[str], store: str) -> None:
    """Raise UsageError if the store lacks one of these schemes; it always has simhash-doc."""
    for name in names:
        if name != SIMHASH_DOC:
            scheme_named(known, name, store)


def scheme_named(schemes: Sequence[SchemeInfo], name: str, store: str) -> SchemeInfo:
    """The scheme of a name. Raises UsageError, with the names in the store, for another name."""
    for scheme in schemes:
        if scheme.name == name:
            return scheme
    there = ", ".join(known.name for known in schemes) or "none but its first"
    named = registry.known_class(name)
    advice = f"index with --scheme {name}" if named else "no scheme has this name; neardup schemes lists them"
    raise UsageError(f"{store}: has no sketches of the scheme {name!r} (it has: {there}); {advice}")


def is_new(schemes: Sequence[SchemeInfo], wanted: SchemeInfo, store: str) -> bool:
    """True if a scheme has to be added. Raises IncompatibleStoreError if its name is taken by another id."""
    for scheme in schemes:
        if scheme.name == wanted.name and scheme != wanted:
            raise IncompatibleStoreError(
                f"{store}: has sketches of {scheme.id}, which can't be compared with those of {wanted.id}. Use the "
                f"store's own, remove it first (neardup schemes --remove {scheme.name}), or index into a new store"
            )
    return wanted not in schemes


def check_resource(name: str, data: bytes) -> None:
    """Raise UsageError for a resource beyond the limits of stores."""
    if not 0 < len(name) <= 100 or not all("!" <= c <= "~" and c != "#" for c in name):
        raise UsageError(f"{name!r} is not a valid resource name: at most 100 ASCII characters, no spaces and no #")
    if len(data) > MAX_RESOURCE_BYTES:
        raise UsageError(f"{name}: {counted(len(data), 'byte')}, more than a store keeps ({MAX_RESOURCE_BYTES:,})")


def refusal(schemes: Sequence[SchemeInfo], sketches: Mapping[str, Sketch]) -> str:
    """The reason why sketches can't be stored beside these schemes; empty if they can."""
    known = {scheme.name for scheme in schemes}
    for scheme in schemes:
        sketch = sketches.get(scheme.name)
        if sketch is not None and (reason := _misfit(scheme, sketch)):
            return reason
    if unknown := sketches.keys() - known:
        return f"a sketch of {min(unknown)}, which the store has not"
    return ""


def _misfit(scheme: SchemeInfo, sketch: Sketch) -> str:
    if sketch.scheme != scheme.id:
        return f"a sketch of {sketch.scheme} in a store of {scheme.id}"
    if bool(sketch.keys) != bool(sketch.payload) or sketch.features < 0:
        return f"a sketch of {scheme.name} that has a payload or keys, not both"
    if not sketch.keys and (sketch.features or scheme.name == SIMHASH_DOC):
        return f"a sketch of {scheme.name} without keys"
    if sketch.keys and not (min(sketch.keys) >= 0 and max(sketch.keys) < scheme.layout.end):
        return f"a key outside the key layout of {scheme.name}"
    return ""
