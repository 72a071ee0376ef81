"""supershingles: the contract, the oracle, how many agree; resemblance and containment."""

from __future__ import annotations

from scheme_contract import SchemeContract


class TestSupershingles(SchemeContract):
    specification = "supershingles"
    bad = (
        *("supershingles:groups=5", "supershingles:groups=0", "supershingles:groups=85", "supershingles:values=0"),
        *("supershingles:agreeing=0", "supershingles:agreeing=7", "supershingles:bits=3", "supershingles:shingle=0"),
        "supershingles:values=600,groups=2",
    )
    payload_limit = 84
    bad_payloads = (b"", b"x", bytes(83), bytes(85))


class TestSupershinglesThatAllAgree(SchemeContract):
    specification = "supershingles:values=60,groups=5,agreeing=5,shingle=8,bits=2"
    bad = ("supershingles:agreeing=6,groups=5,values=60",)
    payload_limit = 15
