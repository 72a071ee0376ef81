"""weighted-minhash: the contract, the oracle, the estimate."""

from __future__ import annotations

from scheme_contract import SchemeContract


class TestWeightedMinhash(SchemeContract):
    specification = "weighted-minhash"
    bad = (
        *("weighted-minhash:bands=0", "weighted-minhash:rows=200", "weighted-minhash:bands=30,rows=5"),
        *("weighted-minhash:values=0", "weighted-minhash:bits=5", "weighted-minhash:shingle=0"),
        *("weighted-minhash:threshold=-1", "weighted-minhash:threshold=0.5,bands=5"),
    )
    payload_limit = 128
    bad_payloads = (b"", b"x", bytes(127), bytes(129))


class TestWeightedShingles(SchemeContract):
    specification = "weighted-minhash:shingle=3,bits=4,values=99,bands=9"
    bad = ("weighted-minhash:bits=12",)
    payload_limit = 50
