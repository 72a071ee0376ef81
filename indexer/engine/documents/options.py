"""Options of fingerprinting the documents of an index; nothing else is loaded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from indexer.extract.base import Content
from indexer.extract.fields import FieldFormat
from indexer.model.declared import Option


@dataclass(frozen=True, slots=True)
class Annotating:
    """The fields of texts, the place of fingerprints, the selection of documents, and the speed."""

    field: Annotated[tuple[str, ...], Option("A field with the text. Several are joined in the order given.  [default: "
        "the fields of the index's last run]", metavar="NAME")] = ()  # fmt: skip
    format: Annotated[FieldFormat, Option("The format of the fields. auto: HTML where a value is certainly HTML, else "
        "text.", goes_with=["field"])] = "text"  # fmt: skip
    source_field: Annotated[str, Option("The field with a document's origin (a URL, a path or a name). Reports count "
        "by it.", metavar="NAME")] = ""  # fmt: skip
    title_field: Annotated[str, Option("The field with the title, for answers and reports.", metavar="NAME")] = ""
    content: Annotated[Content | None, Option("What counts as the text of HTML.  [default: the index's own; landmarks "
        "if it has no fingerprints]")] = None  # fmt: skip
    to: Annotated[str | None, Option("Write the fingerprints to INDEX in the same engine, and only read the annotated "
        "index.", metavar="INDEX")] = None  # fmt: skip
    allow_version_change: Annotated[bool, Option("Annotate documents even if their owner assigns versions "
        "(version_type external). The version increases by one.", not_with=["to"])] = False  # fmt: skip
    docs_per_second: Annotated[float | None, Option("Annotate at most N documents a second.", least=0.01,
        most=1_000_000, metavar="N")] = None  # fmt: skip
    slices: Annotated[int, Option("How many parts of the index to read in parallel.", least=1, most=64)] = 4
    fields_changed: Annotated[bool, Option("With --field: compute all fingerprints again, from other fields than "
        "before.", goes_with=["field"])] = False  # fmt: skip
    cluster: Annotated[bool, Option("Assign the documents to clusters as they come.")] = False
    all: Annotated[bool, Option("Look at every document, not only at those written since the last run, and try failed "
        "ones again.")] = False  # fmt: skip
    again: Annotated[bool, Option("Compute all fingerprints again, also for unchanged texts.")] = False
    dry_run: Annotated[bool, Option("Count what would be done, and change nothing.")] = False
