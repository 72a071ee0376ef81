"""Key layouts: how a fingerprint's keys are packed, named and written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """The tables of a scheme: how many there are, and how many bits a key of one table has.

    A packed key is the integer `table << bits | key`; it is what stores are given and asked for. A cluster's store
    unpacks it into the keyword field `field(table)` with the term `term(key)`.
    """

    tables: int
    bits: int

    def pack(self, table: int, key: int) -> int:
        """The packed form of `key` (0 <= key < 2**bits) in `table` (0 <= table < tables)."""
        return table << self.bits | key

    def unpack(self, packed: int) -> tuple[int, int]:
        """(table, key) of a packed key."""
        return packed >> self.bits, packed & ((1 << self.bits) - 1)

    def field(self, table: int) -> str:
        """The name of a table's field, "t00" on."""
        return f"t{table:02d}"

    def describe(self) -> str:
        """The layout in words, for messages."""
        return f"{self.tables} tables of {self.bits} bits"

    def term(self, key: int) -> str:
        """A key as fixed-width lower-case hexadecimal digits."""
        return f"{key:0{(self.bits + 3) // 4}x}"


SIMHASH64_LAYOUT = KeyLayout(tables=16, bits=28)
