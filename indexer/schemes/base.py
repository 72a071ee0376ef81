"""The contract of every scheme: fingerprint, keys, candidates, verification (tests/schemes/scheme_contract.py)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from indexer.keys import KeyLayout, SchemeInfo
from indexer.model import Fingerprint, Sketch
from indexer.schemes import simhash

Parameter = int | float | str | bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What a lookup for a similarity asks, and what it finds.

    `probes` is the largest number of keys that are asked for, of which `agreeing` tables must match; `recall` the
    expected share found of the pairs that are exactly as similar as asked (1.0 where nothing is missed), `guaranteed`
    whether that is certain and not an expectation; `explanation` says it in one or two sentences.
    """

    similarity: float
    probes: int
    agreeing: int
    recall: float
    guaranteed: bool
    explanation: str


class Scheme(ABC):
    """One scheme with its parameters; immutable, picklable, free of state between calls.

    Made by `indexer.schemes.registry.scheme`. The constructor raises UsageError, naming the parameter, its value and
    what is allowed, for parameters that don't fit.
    """

    family: ClassVar[str]
    """The name by which users ask for it, and the name of its fields in a store: letters, digits and hyphens."""
    summary: ClassVar[str]
    """One sentence: what it compares, and what it is good for."""
    measure: ClassVar[str]
    """What its similarity estimates, such as "Jaccard coefficient of the sets of 5-word shingles"."""
    layout: KeyLayout
    agreeing: int = 1
    """How many tables must agree for a document to be a candidate."""
    one_pass: bool = False
    """Whether `fingerprint_and_sketch` reads the text once only."""
    default_similarity: float
    """From where on two documents count as near-duplicates unless the user says otherwise."""

    @classmethod
    def needed(cls, parameters: Mapping[str, Parameter]) -> str:  # noqa: ARG003 some schemes need none
        """The name of the corpus (see `indexer.corpus`) that a scheme of these parameters takes; empty for none."""
        return ""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Parameter]:
        """Every parameter that a fingerprint depends on, with its value."""

    @cached_property
    def id(self) -> str:
        """The family and every parameter, sorted by name: "minhash:bands=20,rows=6"; equal ids, comparable sketches."""
        written = ",".join(f"{name}={_written(value)}" for name, value in sorted(self.parameters.items()))
        return f"{self.family}:{written}" if written else self.family

    @property
    def info(self) -> SchemeInfo:
        """What a store keeps of the scheme."""
        return SchemeInfo(self.family, self.id, self.layout)

    @abstractmethod
    def sketch(self, text: str | bytes) -> Sketch | None:
        """The fingerprint of a text (octets are read as UTF-8) with its keys; None where it has no features."""

    def fingerprint_and_sketch(self, text: str | bytes) -> tuple[Fingerprint | None, Sketch | None]:
        """The simhash-doc fingerprint of a text and its sketch; each may be None where the other is not."""
        return simhash.fingerprint(text), self.sketch(text)

    @abstractmethod
    def similarities(self, payload: bytes, others: Sequence[bytes]) -> npt.NDArray[np.float64]:
        """The similarity, 0 to 1, of one payload to each of the others: shape (len(others),).

        Raises UsageError for a payload that is none of this scheme.
        """

    @abstractmethod
    def plan(self, similarity: float) -> Plan:
        """What a lookup for this similarity (0 to 1) asks and finds; UsageError where the scheme can't serve it."""

    def probes(self, sketch: Sketch, similarity: float) -> Sequence[int]:  # noqa: ARG002 some schemes ask for more
        """The packed keys to ask for; every document that the plan promises shares `agreeing` tables with them."""
        return sketch.keys


def _written(value: Parameter) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
