"""Rows of copied passages, for dashboards."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from indexer.model import Ref


@dataclass(frozen=True, slots=True)
class CopiedRow:
    """A passage of several documents, the words of a document or an origin in passages, or one origin's words in
    another.

    `key` identifies it among all of its kind. `ref` is the first document of a passage, or the document.
    `texts` and `numbers` are the values of its fields; filters of dashboards find it by its `origins`.
    """

    kind: Literal["passage", "document", "origin", "origins"]
    key: str
    ref: Ref | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float | bool] = field(default_factory=dict)
    origins: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the row, the same at the next time: 32 hexadecimal digits of a SHA-256."""
        return hashlib.sha256(f"{self.kind}\0{self.key}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
