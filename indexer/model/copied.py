"""Rows of copied passages, for dashboards."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from indexer.model.records import Ref


@dataclass(frozen=True, slots=True)
class CopiedRow:
    """A passage of several documents, a document's or the collection's share found elsewhere, or one origin's words in
    another.

    `key` identifies it among all of its kind. `ref` is the first document of a passage, or the document of a share.
    `texts` and `numbers` are the values of its fields.
    """

    kind: Literal["passage", "document", "origins", "collection"]
    key: str
    ref: Ref | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float | bool] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The id of the row, the same at the next time: 32 hexadecimal digits of a SHA-256."""
        return hashlib.sha256(f"{self.kind}\0{self.key}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
