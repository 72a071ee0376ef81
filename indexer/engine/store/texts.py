"""The texts of records, from the fields of their documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, cast

from indexer.engine.client.base import Client, encoded
from indexer.engine.client.bulk import item_at, multi_get
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import reading_path
from indexer.engine.index.bodies import ROOT
from indexer.engine.index.mapping import OWN, Mappings, is_denied, read_mappings
from indexer.engine.index.source_fields import (
    BOM,
    date_fields,
    described,
    require_readable,
    scalars_at,
    source_paths,
    text_at,
)
from indexer.engine.store.context import EnginePart
from indexer.errors import NeardupError, StoreError, UsageError
from indexer.extract.base import Content, Options
from indexer.extract.fields import format_of, remark_on
from indexer.ingest.digests import is_text_of, source_digest
from indexer.model import Record, Ref
from indexer.model.chunking import chunks_by_size
from indexer.stores.texts import DocumentForm, StoredText, TextFields, document_of

# Documents whose texts are read at once, and the bytes of these.
_PAGE, _PAGE_BYTES = 250, 8 << 20


class TextPart(EnginePart):
    def texts(self, records: Sequence[Record], fields: TextFields | None = None) -> list[StoredText | None]:
        return _FieldTexts(self, fields).read(records)

    def outdated(self, records: Sequence[Record]) -> AbstractSet[Ref]:
        texts = _FieldTexts(self, lenient=True)
        pages = chunks_by_size(records, _PAGE, lambda record: record.size, _PAGE_BYTES)
        return {ref for page in pages for ref in texts.outdated(page)}

    def owners_values(self, records: Sequence[Record], names: Sequence[str]) -> list[Mapping[str, Any]]:
        own = self.name
        places = [
            document_of(record) or dataclasses.replace(record.ref, index=record.ref.index or own) for record in records
        ]
        paths = {index: self._paths(index, names) for index in {place.index for place in places}}
        items = [{**item_at(place), "_source": list(paths[place.index].values())} for place in places]
        hits = multi_get(self.client, items) if items else []
        return [
            {name: found[0] for name, path in paths[place.index].items() if (found := scalars_at(source, path))}
            for place, hit in zip(places, hits, strict=True)
            for source in [hit.get("_source") or {}]
        ]

    def _paths(self, index: str, names: Sequence[str]) -> dict[str, str]:
        known = self.mappings_of(index)
        paths = {}
        for name in names:
            try:
                [paths[name]] = source_paths(known, [name], self.shown)
            except UsageError:
                # What no mapping has may be metadata of neardup's own documents.
                paths[name] = name
        return paths

    def date_fields(self) -> list[str] | None:
        mappings = list(self.mappings.values())
        texts = {name for mapping in mappings for name in mapping.text_fields()}
        for name in texts - {OWN}:
            mappings += read_mappings(self.client, reading_path(name)).values()
        return sorted(name for name in date_fields(mappings) if not name.startswith(f"{ROOT}.")) if texts else None

    def document_form(self, fields: TextFields | None = None) -> DocumentForm:
        known = RememberedFields(self.client, self.mappings).own("")
        named = fields or known
        if named is None:
            raise UsageError(f"{self.shown}: name the fields with the text")
        mappings, shown = self.mappings, self.shown
        names = source_paths(mappings, named.names, shown)
        about = [source_paths(mappings, [name], shown)[0] if name else "" for name in (named.source, named.title)]
        if known and not known.is_as(TextFields(names, named.format)):
            raise UsageError(f"{shown}: its fingerprints were made with {known.options()}")
        return _IndexForm(self, TextFields(names, named.format, *about))


class _TextPlace(NamedTuple):
    """The document of a record, and the fields and paths of its text."""

    record: Record
    place: Ref
    fields: TextFields | None
    paths: tuple[str, ...]

    @property
    def may_be_read(self) -> bool:
        # What is said of a source may say anything, so that it never is taken for a file of this machine.
        return bool(not self.record.source or document_of(self.record) or (self.fields and self.fields.source))


class _FieldTexts:
    def __init__(self, context: EnginePart, named: TextFields | None = None, *, lenient: bool = False) -> None:
        self._client, self._context, self._named, self._lenient = context.client, context, named, lenient
        self._remembered = RememberedFields(context.client, context.mappings)
        self._paths: dict[tuple[str, TextFields], tuple[str, ...]] = {}

    def read(self, records: Sequence[Record]) -> list[StoredText | None]:
        places = [self._placed(record) for record in records]
        asked = [each for each in places if each.fields and each.may_be_read]
        texts = {id(each): self._text(each, hit) for each, hit in self._hits(asked, lambda one: list(one.paths))}
        missing = StoredText(missing="fields")
        return [texts.get(id(each), missing) if each.may_be_read else None for each in places]

    def outdated(self, records: Sequence[Record]) -> Iterator[Ref]:
        places = [self._placed(record) for record in records]
        made = self._context.mapping_of
        silent = [
            each
            for each in places
            # Without fields the document of a record with a source lies elsewhere, if neardup made the index.
            if not each.paths and (each.fields or not each.record.source or not made(each.place.index).seems_made)
        ]
        with_paths = [each for each in places if each.paths]
        for each, hit in self._hits(with_paths, lambda one: list(one.paths)):
            exact, data = text_at(hit.get("_source"), each.paths)
            if data is None and hit.get("found") and each.record.source and document_of(each.record) is None:
                silent.append(each)
            elif data is None or not self._is_current(each, exact, data):
                yield each.record.ref
        for each, hit in self._hits(silent, lambda _: {"excludes": [ROOT]}):
            # A document with neardup's part alone has no owner.
            if not hit.get("found") or not (hit.get("_source") or {}).keys() <= {"@timestamp"}:
                yield each.record.ref

    def _placed(self, record: Record) -> _TextPlace:
        document = document_of(record)
        place = document or dataclasses.replace(record.ref, index=record.ref.index or self._context.name)
        known = self._remembered.other if document else self._remembered.own
        fields = self._named or known(place.index)
        placed = _TextPlace(record, place, fields, ())
        wanted = fields and (self._lenient or placed.may_be_read)
        return placed._replace(paths=self._paths_in(place.index, fields)) if fields and wanted else placed

    def _paths_in(self, index: str, fields: TextFields) -> tuple[str, ...]:
        if (index, fields) not in self._paths:
            mappings, shown = self._context.mappings_of(index), self._context.shown
            paths: tuple[str, ...] = ()
            try:
                paths = source_paths(mappings, fields.names, shown) if mappings else ()
                require_readable(mappings, paths, shown)
            except NeardupError:
                # The fields are gone, or left out of `_source`.
                if not self._lenient:
                    raise
                paths = ()
            self._paths[index, fields] = paths
        return self._paths[index, fields]

    def _hits(
        self, asked: Sequence[_TextPlace], wanted: Callable[[_TextPlace], Any]
    ) -> Iterator[tuple[_TextPlace, dict[str, Any]]]:
        items = [{**item_at(each.place), "_source": wanted(each)} for each in asked]
        yield from zip(asked, multi_get(self._client, items) if items else (), strict=True)

    def _text(self, each: _TextPlace, hit: Mapping[str, Any]) -> StoredText:
        if not hit.get("found") or not each.fields:
            return StoredText(missing="document")
        return _stored_text(each.fields, *text_at(hit.get("_source"), each.paths))

    def _is_current(self, each: _TextPlace, exact: bytes, data: bytes) -> bool:
        info, kind = self._context.info, format_of(each.fields.format, data) if each.fields else "text"
        options = Options(content=cast(Content, info.content), format=kind)
        if source_digest(exact, info, options) == each.record.source_digest:
            return True
        # A record that was loaded from a batch has the digest of other bytes with the same text.
        return kind == "text" and is_text_of(each.record, data)


class RememberedFields:
    def __init__(self, client: Client, mappings: Mappings) -> None:
        self._client = client
        self._own: dict[str, TextFields] = {}
        self._others: dict[str, TextFields] = {}
        for index, mapping in mappings.items():
            for name, fields in mapping.text_fields().items():
                if name == OWN:
                    self._own[index] = fields
                else:
                    self._others[name] = fields
        self._behind: dict[str, frozenset[str]] = {}

    def own(self, index: str) -> TextFields | None:
        return self._own.get(index) or _only(self._own.values())

    def other(self, index: str) -> TextFields | None:
        return _only(self._others.values()) or next(
            (fields for name, fields in self._others.items() if index in self._indices(name)), None
        )

    def _indices(self, name: str) -> frozenset[str]:
        if name not in self._behind:
            try:
                answer = self._client.request("GET", f"/{reading_path(name)}/_settings/index.uuid")
            except StoreError as error:
                gone = isinstance(error, AnswerError) and error.status == 404
                if not gone and not is_denied(error):
                    raise
                answer = {}
            self._behind[name] = frozenset({name, *answer})
        return self._behind[name]


def _only(fields: Iterable[TextFields]) -> TextFields | None:
    names = set(fields)
    return names.pop() if len(names) == 1 else None


def _stored_text(fields: TextFields, exact: bytes, data: bytes | None) -> StoredText:
    return StoredText(exact, None if data is None else BOM + data, format_of(fields.format, data or b""))


class _IndexForm(DocumentForm):
    def __init__(self, context: EnginePart, fields: TextFields) -> None:
        context.require_mapped()
        self._bodies, self._fields = context.bodies, fields
        self._indices = {"", context.name, *context.mappings}

    def holds(self, index: str) -> bool:
        return index in self._indices

    def read(self, document: Mapping[str, Any]) -> tuple[StoredText, str, str]:
        exact, data = text_at(document, self._fields.names)
        text = _stored_text(self._fields, exact, data)
        remark = remark_on(", ".join(self._fields.names), text.format, data or b"")
        text = dataclasses.replace(text, missing="fields" if data is None else "", remark=remark)
        return text, *described(self._fields, document)

    def with_fields(self, line: bytes, record: Record) -> bytes:
        head = line.rstrip()
        if not head.endswith(b"}"):
            raise UsageError("the document does not end on its line")
        fields, beside = self._bodies.within(self._bodies.fields(record))
        # What lies beside an index is written by annotating, which finds the sketch lacking.
        there = {name: value for name, value in fields.items() if name not in beside}
        return head[:-1] + b"," + encoded({ROOT: there})[1:]
