"""Several questions in one search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from indexer.engine.index.bodies import ROOT, Bodies, source_of
from indexer.model import SIMHASH_DOC
from indexer.schemes.keys.layout import KeyLayout
from indexer.stores.sketches import Probe


class ProbeBatch:
    """Some questions, each of several probes; `terms` are the terms of each field to search for.

    The search finds every document with one of the keys; `answered` then gives it to the satisfied questions.
    """

    def __init__(self, bodies: Bodies, questions: Sequence[Sequence[Probe]]) -> None:
        self._bodies = bodies
        self._questions = questions
        self.terms: dict[str, set[str]] = {}
        self._holders: dict[tuple[str, int], list[int]] = {}
        for number, probes in enumerate(questions):
            for scheme in {probe.scheme for probe in probes}:
                keys = {key for probe in probes if probe.scheme == scheme for key in probe.keys}
                for key in keys:
                    self._holders.setdefault((scheme, key), []).append(number)
        self._schemes = sorted({scheme for scheme, _ in self._holders})
        for scheme in self._schemes:
            every = [key for name, key in self._holders if name == scheme]
            for field, values in self._fields_of(scheme, every):
                self.terms.setdefault(f"{ROOT}.{scheme}.{field}", set()).update(values)

    def _fields_of(self, scheme: str, keys: Iterable[int]) -> Iterable[tuple[str, list[str]]]:
        if scheme == SIMHASH_DOC:
            return self._bodies.layout.terms(keys).items()
        return self._bodies.key_fields[scheme].asked(keys)

    def query(self, schemes: Collection[str] | None = None) -> list[dict[str, Any]]:
        return [
            {"terms": {field: sorted(terms)}}
            for field, terms in self.terms.items()
            if schemes is None or field.split(".")[1] in schemes
        ]

    def asking(self, payloads: Sequence[str]) -> dict[str, Any]:
        bodies = self._bodies
        concerned = list(dict.fromkeys([*self._schemes, *payloads]))
        fields = bodies.record_fields(concerned)
        # Keys are read from `_source`, where payloads may lie beside them.
        left_out = {*fields["_source"].get("excludes", ()), *bodies.in_doc_values(concerned)}
        left_out -= {f"{ROOT}.{name}" for name in self._schemes}
        return fields | {"_source": source_of([ROOT], sorted(left_out))}

    def answered(self, hit: Mapping[str, Any]) -> list[int] | None:
        source, shared = hit["_source"][ROOT], dict[tuple[int, str], set[int]]()
        for scheme in self._schemes:
            keys = self._keys(scheme, source.get(scheme) or {})
            if not keys and self._bodies.payload(scheme) in hit["fields"]:
                return None
            for key in keys:
                for number in self._holders.get((scheme, key), ()):
                    shared.setdefault((number, scheme), set()).add(key)
        numbers = dict.fromkeys(number for number, _ in shared)
        return [number for number in numbers if self._satisfies(number, shared)]

    def _satisfies(self, number: int, shared: Mapping[tuple[int, str], set[int]]) -> bool:
        for probe in self._questions[number]:
            layout = self._layout(probe.scheme)
            keys = shared.get((number, probe.scheme), set()).intersection(probe.keys)
            if len({layout.unpack(key)[0] for key in keys}) >= probe.agreeing:
                return True
        return False

    def _keys(self, scheme: str, fields: Mapping[str, Any]) -> Sequence[int]:
        bodies = self._bodies
        if scheme == SIMHASH_DOC:
            return bodies.layout.packed(fields)
        keys: list[int] = bodies.key_fields[scheme].read(fields).tolist()
        return keys

    def _layout(self, scheme: str) -> KeyLayout:
        return self._bodies.layout if scheme == SIMHASH_DOC else self._bodies.key_fields[scheme].layout
