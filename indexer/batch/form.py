"""The form of sketches in files: their settings, columns, and footers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from indexer.batch.arrow import arrow, parquet, schema_of
from indexer.core.text import UNICODE_VERSION
from indexer.errors import IncompatibleStoreError, StoreError
from indexer.extract.base import EXTRACTOR_VERSION, Limits, Options
from indexer.ingest.indexing import store_info
from indexer.ingest.readers.tables import BATCH_FOOTER
from indexer.model import DEFAULT_MIN_TOKENS, SIMHASH_DOC
from indexer.model.kinds import DOCUMENTS
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.stores.base import StoreInfo

FORMAT = 11
# The cluster that a document of an older batch was in, and whether it was kept there; null for a new document.
OLDER_CLUSTER, OLDER_KEEP = "older_cluster", "older_keep"


@dataclass(frozen=True)
class Form:
    """The settings of sketches: `schemes` are the ids of the secondary ones, with all their parameters.

    Documents of fewer than `min_tokens` words are short. `time_field` names the metadata with a document's first time,
    empty for none; `texts` is the kind of texts, `ocr` as in `Options`. Sketches of different forms can't be compared.
    """

    schemes: tuple[str, ...]
    min_tokens: int = DEFAULT_MIN_TOKENS
    content: str = "landmarks"
    engine: str = "auto"
    kind: str = ""
    time_field: str = ""
    unicode: str = UNICODE_VERSION
    extractor: str = EXTRACTOR_VERSION
    texts: str = DOCUMENTS
    ocr: str = ""

    @cached_property
    def made(self) -> tuple[Scheme, ...]:
        return tuple(registry.scheme(name) for name in self.schemes)

    @cached_property
    def options(self) -> Options:
        return Options(content=self.content, extractor=self.engine, format=self.kind or None, ocr=self.ocr)  # type: ignore[arg-type]

    @cached_property
    def info(self) -> StoreInfo:
        return store_info(self.options.content, self.made, self.texts)

    def scheme(self, family: str) -> Scheme | None:
        if family == SIMHASH_DOC:
            return registry.scheme(SIMHASH_DOC)
        return next((each for each in self.made if each.family == family), None)

    def require_same(self, other: Form, where: str, there: str) -> None:
        """Raise IncompatibleStoreError, naming the differences, if sketches of another form can't join these."""
        ours, theirs = asdict(self), asdict(other)
        for name in ours:
            if ours[name] != theirs[name]:
                raise IncompatibleStoreError(
                    f"{where}: its sketches are made with {name} {_shown(theirs[name])}, and {there} "
                    f"{_shown(ours[name])}; they can't be compared: sketch one of them again, into a new folder"
                )


@dataclass(frozen=True)
class Making:
    """The settings for making sketches of a form: the limits of one document, and the number of workers."""

    form: Form
    limits: Limits
    jobs: int = 1


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none beside simhash-doc"
    return str(value) or "none"


def column_name(family: str) -> str:
    return family.replace("-", "_")


def sketch_schema(form: Form) -> Any:
    columns = [
        *schema_of(
            "id string, row int64, source string, container string, title string, format string, extractor string, "
            "bytes int64, tokens int64, short bool, time string, metadata string, failed string"
        ),
        *((f"{name}_digest", arrow.binary(16)) for name in ("source", "text", "read")),
        ("beside_digest", arrow.binary()),
        (column_name(SIMHASH_DOC), arrow.int64()),
    ]
    for scheme in form.made:
        name = column_name(scheme.family)
        columns += [
            (name, arrow.binary()),
            (f"{name}_keys", arrow.list_(arrow.int64())),
            (f"{name}_features", arrow.int64()),
        ]
    return arrow.schema(columns)


def cluster_schema(*, against: bool = False) -> Any:
    """The columns of a file of clusters, with `against` also the repeats of an older batch.

    A document is `near_to` the one sketches alone would keep. It is not kept if its text agrees, as its `relation` to
    `duplicate_of`; else it stays, and `stays_for` is the reason. `version` is its place among the versions in its
    cluster, from 1 on, null if unknown; then it is its own latest.
    """
    return schema_of(
        "id string, row int64, cluster string, is_canonical bool, keep bool, similarity double, size int64, "
        "origins int64, canonical string, duplicate_of string, duplicate_similarity double, near_to string, "
        "near_similarity double, relation string, evidence string, lost int64, stays_for string, version int64, "
        "is_latest bool" + ", repeats string, repeats_similarity double" * against
    )


def written_footer(kind: str, form: Form, more: Mapping[str, Any]) -> dict[bytes, bytes]:
    said = {"format": FORMAT, "kind": kind, "form": asdict(form), **more}
    return {BATCH_FOOTER: json.dumps(said).encode()}


def read_footer(path: str, kind: str) -> dict[str, Any]:
    """The content of a file's footer. Raises StoreError for another kind of file, or another version."""
    try:
        said = json.loads((parquet.read_schema(path).metadata or {})[BATCH_FOOTER])
    except (OSError, arrow.ArrowException, KeyError, ValueError) as error:
        raise StoreError(f"{path}: no file of {kind} that neardup batch wrote ({error}); remove it") from None
    if said.get("kind") != kind or said.get("format") != FORMAT:
        raise StoreError(
            f"{path}: a file of {said.get('kind')}, format {said.get('format')}, and not of {kind}, format {FORMAT}; "
            "sketch and cluster again, into new folders"
        )
    return dict(said)


def form_of(footer: Mapping[str, Any]) -> Form:
    made = Form(**{**footer["form"], "schemes": tuple(footer["form"]["schemes"])})
    if (made.unicode, made.extractor) != (UNICODE_VERSION, EXTRACTOR_VERSION):
        current = replace(made, unicode=UNICODE_VERSION, extractor=EXTRACTOR_VERSION)
        current.require_same(made, "the folder", "this version of neardup")
    return made


def writer(file: Any, schema: Any, footer: Mapping[bytes, bytes]) -> Any:
    # No compression makes a payload or a digest smaller; but most documents have nothing beside their text.
    texts = [field.name for field in schema if arrow.types.is_string(field.type) or field.name == "beside_digest"]
    compression = {name: "zstd" if name in texts else "none" for name in schema.names}
    return parquet.ParquetWriter(file, schema.with_metadata(footer), compression=compression, use_dictionary=texts)
