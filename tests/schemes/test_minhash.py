"""minhash: the contract, the oracle, the estimate, the bands."""

from __future__ import annotations

from scheme_contract import SchemeContract


class TestMinhash(SchemeContract):
    specification = "minhash"
    bad = (
        *("minhash:bands=0", "minhash:bands=true", "minhash:bands=x", "minhash:bands=30,rows=5", "minhash:rows=200"),
        *("minhash:values=0", "minhash:values=1.5", "minhash:values=x", "minhash:bits=3", "minhash:bits=true"),
        *("minhash:shingle=0", "minhash:shingle=65", "minhash:shingle=x"),
        *("minhash:threshold=2", "minhash:threshold=0.01", "minhash:threshold=x", "minhash:threshold=0.5,rows=5"),
    )
    payload_limit = 128
    bad_payloads = (b"", b"x", bytes(127), bytes(129))


class TestMinhashOfSixteenBits(SchemeContract):
    specification = "minhash:bits=16,values=84,threshold=0.5"
    bad = ("minhash:bits=32",)
    payload_limit = 168


class TestMinhashOfOneBit(SchemeContract):
    specification = "minhash:bits=1,values=1001,shingle=2,rows=4"
    bad = ("minhash:bits=0",)
    payload_limit = 126
