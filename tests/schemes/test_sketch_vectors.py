"""The golden vectors of minhash, weighted-minhash, supershingles and random-projection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indexer.schemes.registry import scheme

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
FAMILIES = ("minhash", "weighted-minhash", "supershingles", "random-projection")
WRITTEN: dict[str, dict[str, Any]] = {
    name: json.loads((VECTORS / f"{name}.json").read_text("utf-8")) for name in FAMILIES
}
DOCUMENTS = [(family, document["id"]) for family in FAMILIES for document in WRITTEN[family]["documents"]]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_oracle_still_writes_the_same_file(family: str) -> None:
    from tests.vectors import make_sketch_vectors

    assert make_sketch_vectors.render(family) == (VECTORS / f"{family}.json").read_text("utf-8")


@pytest.mark.parametrize(("family", "identifier"), DOCUMENTS, ids=[identifier for _, identifier in DOCUMENTS])
def test_the_scheme_meets_every_vector(family: str, identifier: str) -> None:
    written = WRITTEN[family]
    document = next(document for document in written["documents"] if document["id"] == identifier)
    made = scheme(identifier)
    assert made.id == identifier
    reference = bytes.fromhex(document["vectors"]["a paragraph"]["payload"])
    for name, vector in document["vectors"].items():
        sketch = made.sketch(written["texts"][name])
        if sketch is None:
            assert (vector["payload"], vector["features"]) == (None, 0), name
            continue
        assert sketch.payload.hex() == vector["payload"], name
        assert sketch.features == vector["features"], name
        unpacked = [made.layout.unpack(key) for key in sketch.keys]
        assert [table for table, _ in unpacked] == list(range(made.layout.tables))
        assert [made.layout.term(key) for _, key in unpacked] == vector["keys"], name
        found = made.similarities(reference, [sketch.payload])[0]
        assert found == pytest.approx(document["similarities"][name], abs=1e-6), name
