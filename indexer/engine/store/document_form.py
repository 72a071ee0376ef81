"""The form of an index's documents, for their senders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indexer.engine.client.lines import encoded
from indexer.engine.index.bodies import ROOT
from indexer.engine.index.source_fields import BOM, described, text_at
from indexer.engine.store.context import Context
from indexer.errors import UsageError
from indexer.model import Record
from indexer.stores.texts import DocumentForm, StoredText, TextFields


class IndexForm(DocumentForm):
    def __init__(self, context: Context, fields: TextFields) -> None:
        context.require_mapped()
        self._bodies, self._fields, self.html = context.bodies, fields, fields.html
        self._indices = {"", context.name, *context.mappings}

    def holds(self, index: str) -> bool:
        return index in self._indices

    def read(self, document: Mapping[str, Any]) -> tuple[StoredText, str, str]:
        exact, data = text_at(document, self._fields.names)
        text = StoredText(exact, None if data is None else BOM + data, self.html, "fields" if data is None else "")
        return text, *described(self._fields, document)

    def with_fields(self, line: bytes, record: Record) -> bytes:
        head = line.rstrip()
        if not head.endswith(b"}"):
            raise UsageError("the document does not end on its line")
        fields, beside = self._bodies.within(self._bodies.fields(record))
        # What lies beside an index is written by annotating, which finds the sketch lacking.
        there = {name: value for name, value in fields.items() if name not in beside}
        return head[:-1] + b"," + encoded({ROOT: there})[1:]
