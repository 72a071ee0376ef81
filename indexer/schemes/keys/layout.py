"""Packed keys, their terms, and descriptions of schemes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from indexer.text.counts import counted


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """The tables of a scheme: their number, and the bits of a key of one table.

    A packed key is the integer `table << bits | key`; stores receive and look up packed keys. The store of a search
    engine unpacks one into the keyword field `field(table)` with the term `term(key)`.
    """

    tables: int
    bits: int

    @property
    def end(self) -> int:
        return self.tables << self.bits

    def pack(self, table: int, key: int) -> int:
        """The packed form of `key` (0 <= key < 2**bits) in `table` (0 <= table < tables)."""
        return table << self.bits | key

    def unpack(self, packed: int) -> tuple[int, int]:
        return packed >> self.bits, packed & ((1 << self.bits) - 1)

    def field(self, table: int) -> str:
        return f"t{table:02d}"

    def describe(self) -> str:
        return f"{counted(self.tables, 'table')} of {counted(self.bits, 'bit')}"

    def term(self, key: int) -> str:
        return f"{key:0{(self.bits + 3) // 4}x}"

    def terms(self, packed: Iterable[int]) -> dict[str, list[str]]:
        mask, form = (1 << self.bits) - 1, f"%0{(self.bits + 3) // 4}x"
        tables: dict[int, list[str]] = {}
        # Plain, because a lookup further away has thousands of keys.
        for key in packed:
            tables.setdefault(key >> self.bits, []).append(form % (key & mask))
        return {self.field(table): terms for table, terms in tables.items()}

    def packed(self, fields: Mapping[str, str | Sequence[str]]) -> tuple[int, ...]:
        keys: list[int] = []
        for table in range(self.tables):
            terms = fields.get(self.field(table)) or ()
            keys += (self.pack(table, int(term, 16)) for term in ((terms,) if isinstance(terms, str) else terms))
        return tuple(keys)


@dataclass(frozen=True, slots=True)
class SchemeInfo:
    """The description of a secondary scheme in a store: a name for its fields, its id with all parameters, its tables.

    A packed key of the layout fits into a signed 64-bit integer.
    """

    name: str
    id: str
    layout: KeyLayout
