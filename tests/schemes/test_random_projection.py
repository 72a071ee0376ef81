"""random-projection: the contract, the oracle, the angle, the blocks."""

from __future__ import annotations

from scheme_contract import SchemeContract


class TestRandomProjection(SchemeContract):
    specification = "random-projection"
    bad = (
        *("random-projection:bits=100", "random-projection:bits=0", "random-projection:bits=2048"),
        *("random-projection:block=7", "random-projection:block=49", "random-projection:block=x"),
    )
    payload_limit = 32
    bad_payloads = (b"", b"x", bytes(31), bytes(33))


class TestRandomProjectionWithBitsLeftOver(SchemeContract):
    specification = "random-projection:bits=384,block=20"
    bad = ("random-projection:bits=385",)
    payload_limit = 48
