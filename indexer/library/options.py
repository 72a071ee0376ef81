"""Groups of options of actions, as commands and programs give them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from indexer.errors import IncompatibleStoreError, NotFoundError, UsageError
from indexer.extract.base import Content, Extractor, Limits, Options
from indexer.extract.brought import require_format
from indexer.extract.fields import AUTO, field_format
from indexer.extract.formats import Format
from indexer.ingest.readers import ColumnNames
from indexer.ingest.remembered import KnownColumns
from indexer.ingest.sources import LEFT_OUT, STDIN, IdFrom, Selection
from indexer.matching.request import DistanceAsked, MatchAsked, RuleRequest
from indexer.model import DEFAULT_MIN_TOKENS, own_files
from indexer.model.declared import Option
from indexer.model.kinds import KINDS, KindName, kind_named
from indexer.model.paths import printable_path
from indexer.model.times import Refresh
from indexer.relations.relation import COPIES, REMOVABLE
from indexer.report.limits import ReportLimits

if TYPE_CHECKING:
    from indexer.clustering.canonical import CanonicalRule
    from indexer.clustering.policy import Policy
    from indexer.matching.rule import MatchRule
    from indexer.stores.base import Store
    from indexer.stores.texts import TextFields

__all__ = [
    "AUTO", "COPIES", "DEFAULT_MIN_TOKENS", "LEFT_OUT", "REMOVABLE", "Arriving", "ClusterOptions", "Content",
    "Extraction", "Extractor", "Fingerprinting", "Format", "IdFrom", "Limits", "MatchAsked", "NamedColumns",
    "NamedFields", "Options", "Refresh", "RemovalRequest", "ReportFormat", "ReportLimits", "RuleRequest", "Walk",
    "WorkerLimits", "list_of_paths", "require_format",
]  # fmt: skip

ReportFormat = Literal["html", "json", "csv", "md"]

USUAL_CONTENT: Content = "landmarks"

_USUAL, *_OTHERS = KINDS.values()
_OTHER_LEAST = [f"{kind.min_tokens} for --kind {kind.name}" for kind in _OTHERS if kind.min_tokens != _USUAL.min_tokens]
_ABOUT_KINDS = "; ".join(f"{kind.name}: {kind.about}" for kind in KINDS.values())

JobsAsked = Annotated[int | None, Option("Worker processes.  [default: one per processor]", least=1,
    goes_with=["run_on=local"])]  # fmt: skip
SchemesAsked = Annotated[str | None, Option("For a new store or a batch: exactly these schemes. simhash-doc alone is "
    "the lean form.  [default: simhash-doc and the schemes of --kind]", metavar="NAME,...")]  # fmt: skip
KindAsked = Annotated[KindName | None, Option(f"For a new store or a batch: the kind of its texts ({_ABOUT_KINDS}). "
    "It decides the schemes, the rule, and how few words are too few.  [default: documents]")]  # fmt: skip

RELATED = (
    f"documents with one of these relations to a document that stays: {', '.join(REMOVABLE)}; edited only if it says "
    f"less.  [default: {','.join(COPIES)}]"
)
RemoveAsked = Annotated[str | tuple[str, ...] | None, Option(f"Remove {RELATED}", metavar="RELATION,...",
    not_with=["unverified", "verify=sketch"], typed=True)]  # fmt: skip


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """The limits of one document: `timeout` in seconds, `memory` in bytes."""

    heading = "How documents are read"

    timeout: Annotated[float, Option("Time limit for each document.", kind="seconds",
        goes_with=["files"])] = Limits().seconds  # fmt: skip
    memory: Annotated[int, Option("Memory limit for each document.", kind="size",
        goes_with=["files"])] = Limits().memory  # fmt: skip

    @property
    def limits(self) -> Limits:
        """These, and the usual size of a document."""
        return Limits(seconds=self.timeout, memory=self.memory)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The options of reading; `max_size` is in bytes."""

    heading = "How documents are read"

    content: Annotated[Content | None, Option("The text of HTML: without marked navigation, banners and footers "
        "(landmarks), everything (full), or the main block (main, needs the extra main-content). [default: the store's "
        "own; landmarks for a new store or without one]", goes_with=["files"])] = None  # fmt: skip
    extractor: Annotated[Extractor, Option("The extractor: fast, reference, or auto: the fast one first, the reference "
        "one if it fails or finds no text.", goes_with=["files"])] = "auto"  # fmt: skip
    format: Annotated[str | None, Option("The format of the documents, also of a plug-in. auto also tells "
        "for each value of a field if it is HTML.  [default: detected from the content, then from the name; text for "
        "fields]", kind="format", goes_with=["files"])] = None  # fmt: skip
    ocr: Annotated[str | None, Option("Read scanned pages of PDFs, and images (PNG, TIFF, JPEG), in these languages, "
        "as eng or eng+deu. Needs tesseract. --timeout holds for each page. Results are kept (see neardup ocr).",
        metavar="LANGUAGES", goes_with=["files"])] = None  # fmt: skip
    worker: WorkerLimits = field(default_factory=WorkerLimits)
    max_size: Annotated[int, Option("The largest document, and the longest line of JSON lines.", kind="size",
        goes_with=["files"])] = Limits().input_bytes  # fmt: skip

    def options(self, content: Content) -> Options:
        """The options of the extraction, in a content mode."""
        return Options(content=content, extractor=self.extractor, format=self.of_files, ocr=self.ocr or "")

    @property
    def of_files(self) -> str | None:
        """The format of all files; None if it is detected."""
        return None if self.format == AUTO else self.format

    @property
    def limits(self) -> Limits:
        """The limits of one document."""
        return Limits(seconds=self.worker.timeout, memory=self.worker.memory, input_bytes=self.max_size)

    def selection(self, columns: ColumnNames, base: str, **more: Any) -> Selection:
        """The selection of documents to be read so; ids of files are relative to `base`."""
        return Selection(columns=columns, base=base, line_limit=self.max_size, images=bool(self.ocr), **more)

    def reading(self, content: Content | None) -> tuple[Options, Limits]:
        """Options and limits in the content mode of a store, if there is one.

        Raises IncompatibleStoreError for another.
        """
        if self.content and content and self.content != content:
            raise IncompatibleStoreError(
                f"--content {self.content}: this store holds fingerprints of content {content}, which can't be compared"
            )
        return self.options(content or self.content or USUAL_CONTENT), self.limits


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """The names of the fields of JSON lines and columns of tables; None for the usual ones."""

    heading = "Fields of lines and rows"

    text_field: Annotated[str | None, Option("The field of JSON lines, or column of a table, with the text (HTML with "
        "--format html; see --format auto). A dot selects a field of an object, as in article.body.  [default: text, "
        "or html]",
        metavar="NAME", goes_with=["files"])] = None  # fmt: skip
    id_field: Annotated[str | None, Option("The field or column with the id.  [default: id, or else the number of the "
        "line or row]", metavar="NAME", goes_with=["files"])] = None  # fmt: skip
    title_field: Annotated[str | None, Option("The field or column with the title.  [default: title]", metavar="NAME",
        goes_with=["files"])] = None  # fmt: skip

    def columns(self, extraction: Extraction) -> ColumnNames:
        """The names for a reader; the text is HTML if the documents are."""
        names = self.text_field or "", self.id_field or "", self.title_field or ""
        return ColumnNames(*names, field_format(extraction.format))


@dataclass(frozen=True, slots=True)
class NamedFields:
    """The named fields for the texts of an index, and of files with many documents."""

    heading = "Texts that are read again"

    field: Annotated[tuple[str, ...], Option("For an annotated index: a field with the text, as for neardup annotate, "
        "in the same order. [default: the index's fields]", metavar="NAME")] = ()  # fmt: skip
    columns: NamedColumns = NamedColumns()

    def fields(self, extraction: Extraction, *, stored: bool) -> TextFields | None:
        """The named fields. Raises UsageError for documents without a store (`stored` False)."""
        if not self.field:
            return None
        if not stored:
            raise UsageError("--field names fields of the store's documents; other documents have none")
        from indexer.stores.texts import TextFields

        return TextFields(self.field, field_format(extraction.format))


@dataclass(frozen=True, slots=True)
class Walk:
    """The list of paths beside the named ones, the selection of a folder's files, and the way to name documents."""

    heading = "Which files are read"

    paths_from: Annotated[str | None, Option("Read paths from FILE (-: standard input), separated by newline or NUL.",
        kind="path", metavar="FILE")] = None  # fmt: skip
    include: Annotated[tuple[str, ...], Option("In folders, read only matching files, of any kind.",
        metavar="GLOB")] = ()  # fmt: skip
    exclude: Annotated[tuple[str, ...], Option("In folders, skip matching files and folders.", metavar="GLOB")] = ()
    hidden: Annotated[bool, Option("In folders, also read hidden files.")] = False
    follow_links: Annotated[bool, Option("In folders, follow symbolic links to folders, each folder once.")] = False
    id_from: Annotated[IdFrom, Option("The id of a file: its path relative to the store's folder (absolute if it is "
        "elsewhere), its absolute path, its path below the folder given, its file name, its file name without suffix, "
        "or a digest of its content. JSON lines have their own ids.")] = "path"  # fmt: skip
    columns: NamedColumns = NamedColumns()

    def selection(self, extraction: Extraction, base: str, known: KnownColumns | None = None) -> Selection:
        """The selection of documents; ids of files are relative to `base`."""
        return extraction.selection(
            self.columns.columns(extraction), base, include=self.include, exclude=self.exclude, hidden=self.hidden,
            follow_links=self.follow_links, id_from=self.id_from, known=known or KnownColumns(),
        )  # fmt: skip

    def listed(self) -> Iterable[str]:
        """The paths of the list. Raises NotFoundError if it can't be read."""
        return list_of_paths(self.paths_from) if self.paths_from else ()


@dataclass(frozen=True, slots=True)
class Fingerprinting:
    """The options of fingerprinting documents.

    `kind` and `min_tokens` are None for the store's.
    """

    heading = "Fingerprints"

    jobs: JobsAsked = None
    min_tokens: Annotated[int | None, Option("Mark documents with fewer words as short, and leave them out of answers "
        f"by default.  [default: {_USUAL.min_tokens}; {', '.join(_OTHER_LEAST)}]", least=0)] = None  # fmt: skip
    scheme: Annotated[tuple[str, ...], Option("Also keep a sketch of each document by this scheme. Can be repeated. "
        "The store remembers its schemes. neardup schemes lists all.",
        metavar="NAME[:PARAM=VALUE,...]")] = ()  # fmt: skip
    schemes: SchemesAsked = None
    kind: KindAsked = None

    def least_words(self, kind: str) -> int:
        """The least number of words of a document of this kind that is not short."""
        return kind_named(kind).min_tokens if self.min_tokens is None else self.min_tokens

    @property
    def processes(self) -> int:
        """The number of worker processes."""
        from indexer.ingest.indexing import default_jobs

        return default_jobs() if self.jobs is None else self.jobs


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Options of clustering beside the match rule; None for the default."""

    heading = "Clusters"

    bound: Annotated[float | None, Option("How far apart two documents of a cluster may be, as 1 minus their "
        "similarity. Longer chains are split.  [default: twice what the rule allows]", least=0, most=1, metavar="S",
        goes_with=["cluster"])] = None  # fmt: skip
    canonical: Annotated[str | None, Option("The canonical document of a cluster: earliest (the first to come; in a "
        "batch by --time-field, else by files and rows), longest (most words), declared (pages whose rel=canonical "
        "names their own URL first, pages that name another one last), newest or oldest (the latest or first version, "
        "where the order is known; else the earliest), field:NAME or field:NAME:desc (smallest or largest field), "
        "source (by --prefer). In ties mails come first, and paths that name a copy (backup, copy, export) last.  "
        "[default: earliest]", metavar="RULE", goes_with=["cluster"], setting="canonical")] = None  # fmt: skip
    prefer: Annotated[tuple[str, ...], Option("With --canonical source: preferred paths or URLs. Repeat it for "
        "several, the best first.", metavar="GLOB", goes_with=["canonical"], setting="canonical")] = ()  # fmt: skip

    @property
    def canonical_rule(self) -> CanonicalRule | None:
        """The rule for the document representing a cluster, None by default. Raises UsageError."""
        from indexer.clustering.canonical import canonical_asked

        return canonical_asked(self.canonical, self.prefer)


@dataclass(frozen=True, slots=True)
class Arriving:
    """The options of indexing about near-duplicates, and their rule; `new_to` names a file for ids of new ones.

    With `cluster` documents are put into clusters as they come. With `skip_duplicates` documents are left out if `skip`
    names the relation of their texts to a stored one, by default if they say the same; or near ones by their sketches
    alone. `on` names other actions, as "rendition=mark": store, skip, mark, refuse.
    """

    heading = "Near-duplicates of new documents"

    cluster: Annotated[bool, Option("Assign the documents to clusters, at the latest at the end.")] = False
    skip_duplicates: Annotated[bool, Option("Skip new documents that say the same as a stored near one, by their "
        "texts. Forms, with other facts, are stored. neardup failures --reason duplicate lists the skipped "
        "ones.")] = False  # fmt: skip
    on: Annotated[tuple[str, ...], Option("The action for new documents with one of these relations to a stored one: "
        "store, skip, mark (as prune does) or refuse (they count as failed). Repeat it for other relations; "
        "--skip-duplicates skips identical, reflowed and noise.", metavar="RELATION,...=ACTION",
        not_with=["verify=sketch"])] = ()  # fmt: skip
    verify: Annotated[Literal["text", "sketch"] | None, Option("With --skip-duplicates: compare the texts, read again "
        "(the default), or only the sketches; this also skips forms.", goes_with=["skip_duplicates"],
        typed=True)] = None  # fmt: skip
    skip: Annotated[str | tuple[str, ...] | None, Option("With --skip-duplicates: the relations to a stored document "
        "for which a new one is skipped. A longer or cleaner document is stored.  [default: "
        "identical,reflowed,noise]", metavar="RELATION,...", goes_with=["skip_duplicates"],
        not_with=["verify=sketch"], typed=True)] = None  # fmt: skip
    new_to: Annotated[str | None, Option("With --cluster, --skip-duplicates or --on: write the ids of documents "
        "without a near-duplicate on arrival to FILE (-: standard output), one per line.", kind="path",
        metavar="FILE", goes_with=["cluster", "skip_duplicates", "on"])] = None  # fmt: skip
    match: MatchAsked = None
    distance: DistanceAsked = None
    clustering: ClusterOptions = ClusterOptions()

    def __post_init__(self) -> None:
        if self.examines and self.verify != "sketch":
            # What is wrong with it is said before a store is made.
            _ = self.policy

    def __bool__(self) -> bool:
        return self.cluster or self.examines

    @property
    def examines(self) -> bool:
        """True if the texts of documents that come are compared with stored ones."""
        return self.skip_duplicates or bool(self.on)

    @property
    def policy(self) -> Policy:
        """The actions on near documents. Raises UsageError for unknown relations and actions."""
        from indexer.clustering.policy import Policy
        from indexer.clustering.verdicts import Permitted

        skipped = Permitted.named(self.skip).relations if self.skip_duplicates else ()
        return Policy.named(skipped, self.on)

    def rule(self, store: Store | None = None) -> MatchRule | None:
        """The requested match rule, None by default; raises the errors of `rule_asked`."""
        from indexer.matching.shorthand import rule_asked

        return rule_asked(RuleRequest(match=self.match, distance=self.distance), store)


def lossy(on: Iterable[str]) -> list[str]:
    """The relations by which such choices leave out documents that say something else; raises UsageError."""
    from indexer.clustering.policy import Policy

    return Policy.named((), on).lossy


@dataclass(frozen=True, slots=True)
class RemovalRequest:
    """The choice of documents to remove: by default those that say the same as a kept one, by their texts."""

    remove: RemoveAsked = None
    verify: Annotated[Literal["text", "sketch"] | None, Option("Verify by the texts, read again and aligned (the "
        "default), or by the stored sketches alone, which also removes forms: they must agree in 60% of all shingles, "
        "or more by the clusters' rule.", typed=True)] = None  # fmt: skip
    unverified: Annotated[bool, Option("Go by the clusters' rule alone, without texts, even if it is a simhash. Some "
        "of the documents may be unrelated to the kept ones.", not_with=["remove", "verify"],
        typed=True)] = False  # fmt: skip
    with_documents: Annotated[bool, Option("With --delete or --dry-run, in a search engine: delete documents of your "
        "own as a whole. Only identical ones, unless --remove or --verify is given, and only those without another "
        "field that differs.", goes_with=["delete", "dry_run"], in_engine=True, typed=True)] = False  # fmt: skip
    ignore_field: Annotated[tuple[str, ...], Option("With --with-documents: a field that may differ.", metavar="NAME",
        goes_with=["with_documents"], typed=True)] = ()  # fmt: skip
    parts: Annotated[bool, Option("With --delete or --dry-run, instead of duplicates: documents whose text stands "
        "whole in a longer kept one. The store needs the scheme passages, and no clusters.",
        goes_with=["delete", "dry_run"], not_with=["remove", "verify", "unverified"], typed=True)] = False  # fmt: skip
    decisions: Annotated[str | None, Option("Remove only the documents that the decision file FILE (saved from a "
        "report) marks as drop, if the texts have not changed since.", kind="path", metavar="FILE",
        not_with=["remove", "verify", "unverified", "parts"], typed=True)] = None  # fmt: skip
    older_versions: Annotated[bool, Option("With --delete, --move-to or --dry-run, instead of duplicates: versions "
        "that are not the latest. Numbers or dates of the documents, or --time-field of the clustering, give the "
        "order; the others stay.", goes_with=["delete", "move_to", "dry_run"],
        not_with=["remove", "verify", "unverified", "parts", "decisions"], typed=True)] = False  # fmt: skip
    last_copies: Annotated[bool, Option("With --decisions, and --delete or --dry-run: also drop documents without a "
        "kept copy in FILE.", goes_with=["decisions"], typed=True)] = False  # fmt: skip


def content_of(store: Store) -> Content:
    """The content mode of a store's fingerprints."""
    return cast(Content, store.info.content)


def list_of_paths(name: str) -> Iterator[str]:
    """The paths in a file ("-": standard input), one a line, or ended by NUL if the first block has one."""
    try:
        file = sys.stdin.buffer if name == STDIN else open(name, "rb", opener=own_files.reader)  # noqa: SIM115 - closed below
    except OSError as error:
        raise NotFoundError(f"{printable_path(name)}: the list of paths can't be read: {error.strerror}") from None
    with file:
        block = file.read(1 << 16)
        end = b"\0" if b"\0" in block else b"\n"
        rest = b""
        while block:
            *whole, rest = (rest + block).split(end)
            yield from (os.fsdecode(path) for path in whole if path)
            if len(rest) > 1 << 20:
                raise UsageError(f"{printable_path(name)}: a path of more than a million bytes; is it a list of paths?")
            block = file.read(1 << 16)
        if rest:
            yield os.fsdecode(rest)
