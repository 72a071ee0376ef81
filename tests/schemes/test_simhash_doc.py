"""simhash-doc is a scheme like the others, bit for bit the fingerprint that it always was."""

from __future__ import annotations

import pytest

from indexer.core.sketches import fingerprint
from indexer.errors import UsageError
from indexer.model import Fingerprint
from indexer.schemes import registry, simhash
from indexer.schemes.testing import SchemeContract, document


class TestSimhashDoc(SchemeContract):
    specification = "simhash-doc"
    bad = ()
    payload_limit = 8
    bad_payloads = (b"", b"x", b"123456789")

    def test_bad_parameters_are_refused_by_name(self) -> None:
        with pytest.raises(UsageError, match="bits"):
            self.made("simhash-doc:bits=128")


def test_its_sketch_is_the_fingerprint() -> None:
    scheme = registry.scheme("simhash-doc")
    for seed in range(5):
        found, sketch = simhash.fingerprint(document(seed)), scheme.sketch(document(seed))
        assert found
        assert sketch
        assert sketch.payload == found.value.to_bytes(8, "big")
        assert sketch.keys == simhash.keys(found)
        assert sketch.features == found.tokens


@pytest.mark.parametrize(
    ("text", "bits"), [("3bits", 3), ("1bit", 1), ("0bits", 0), ("0.90", 6), ("0.98", 1), ("0.953125", 3), ("1", 0)]
)
def test_thresholds_count_bits(text: str, bits: int) -> None:
    scheme = registry.scheme("simhash-doc")
    least = scheme.least(text)
    assert simhash.bits_allowed(64, least) == bits
    assert scheme.written(least) == f"{bits}bit" + "s" * (bits != 1)


def test_probes_are_those_of_the_fingerprint() -> None:
    scheme = registry.scheme("simhash-doc")
    found = Fingerprint(*(fingerprint(document(3)) or (0, 0)))
    sketch = scheme.sketch(document(3))
    assert sketch
    assert [len(scheme.probes(sketch, 1 - k / 64)) for k in range(8)] == [1, 2, 6, 16, 90, 278, 744, 1968]
    assert set(scheme.probes(sketch, 1 - 3 / 64)) == set(simhash.keys(found))
