"""The contents of a report."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from indexer.clustering.annotations import StoredCluster
from indexer.clustering.memory import ClusterSettings, remembered
from indexer.clustering.sampling import Sample, Sampler, sample_seed
from indexer.errors import NeardupError, UsageError
from indexer.ingest.remembered import PASSED_OVER
from indexer.ingest.rereading import StoredTexts
from indexer.matching.rule import MatchRule, default_rule
from indexer.model import Record, Ref, name_of, named_ref
from indexer.model.declared import as_json
from indexer.relations.relation import VerdictWord, verdict_of
from indexer.report.counting import figures, group_name
from indexer.report.figures import Amount, ClusterMember, LargeCluster, ReportFigures
from indexer.report.forms import ShownForm, largest_forms
from indexer.report.limits import ReportLimits
from indexer.report.links import links_of
from indexer.report.passages import ShownPassages, ShownResting, resting_of_largest, shown_passages
from indexer.stores.base import Store
from indexer.text.counts import counted
from indexer.text.differences import Difference, word_difference
from indexer.text.visible import printable

PAIR_WORDS, SAMPLE_WORDS = 20_000, 5000

_CELLS = "=+-@\t\r"

TextOf = Callable[[Store, Record], str]

NUMBERS = {"number": "{:,}".format, "percent": "{:.1%}".format, "count": counted}
"""The filters of templates for numbers."""


@dataclass(frozen=True, slots=True)
class ShownMember:
    """A document of a cluster, with its similarity (0 to 1) to the canonical one.

    If it `repeats` a kept document, `relation` is its noted relation to that one, empty without one, and `beside` names
    that one unless it is the canonical document.
    """

    record: Record
    similarity: float
    repeats: bool = False
    relation: str = ""
    beside: str = ""

    @property
    def verdict(self) -> VerdictWord:
        return verdict_of(self.relation if self.repeats else None)

    @property
    def group(self) -> str:
        """The group of documents in the figures that counts this one."""
        return group_name(self.relation if self.repeats else None)


@dataclass(frozen=True, slots=True)
class ShownCluster:
    """A cluster in a report: `members` are the first of them, the canonical one first.

    `least` is the smallest similarity (0 to 1) of a member to the canonical one.
    """

    id: str
    size: int
    least: float
    members: tuple[ShownMember, ...]


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """Two documents and their differences; `why` is the reason for none to show."""

    left: Record
    right: Record
    difference: Difference | None
    why: str


@dataclass(frozen=True, slots=True)
class ShownPair(ComparedTexts):
    """The canonical document of a cluster and the member least similar to it."""

    cluster: str
    similarity: float


@dataclass(frozen=True, slots=True)
class ShownSample:
    """The random sample of `documents` that repeat others, to be judged.

    `pairs` are in the order of asking, each of a kept document and a repeat; `seed` and `size` are those of the draw.
    """

    seed: str
    size: int
    documents: int
    pairs: tuple[ComparedTexts, ...]


@dataclass(frozen=True, slots=True)
class ReportContents:
    """The whole content of a report by a `rule`.

    `above` is the path above the common folder of all files, for names that begin at this folder; empty for none.
    """

    figures: ReportFigures
    rule: MatchRule
    above: str
    clusters: tuple[ShownCluster, ...]
    pairs: tuple[ShownPair, ...]
    passages: ShownPassages | None = None
    resting: tuple[ShownResting, ...] = ()
    forms: tuple[ShownForm, ...] = ()
    sample: ShownSample | None = None
    links: Mapping[Ref, str] = field(default_factory=dict)

    @property
    def passed_over(self) -> int:
        return sum(each.documents for each in self.figures.left_out if each.reason == PASSED_OVER)

    @property
    def first(self) -> list[tuple[str, Amount]]:
        figures = self.figures
        undecided = [("Not decided: no text could be read", figures.undecided)] * bool(figures.undecided.documents)
        return [
            ("Repeat another document", figures.repeating),
            ("Could go without loss", figures.could_go),
            ("Same work, in another format or frame", figures.same_work),
            ("Differ: forms, reworded, corrected", figures.differ),
            *undecided,
        ]


def build_report(
    store: Store, name: str, asked: ReportLimits | None = None, *, text_of: TextOf | None = None
) -> ReportContents:
    """Read a store and, for the pairs and the passages, its documents again.

    Raises StoreError, and UsageError if no document has a cluster.
    """
    asked = asked or ReportLimits()
    made = remembered(store)
    if made is None and store.count():
        raise UsageError(f"{name}: no document has been put into a cluster yet; run: neardup cluster")
    made = made or ClusterSettings(default_rule(store))
    sampler = Sampler(made.rule, sample_seed(made), asked.sample) if asked.sample else None
    numbers, above, largest = figures(
        store, name, made, most=max(asked.clusters, asked.pairs), time_field=asked.time_field, sampler=sampler
    )
    texts = StoredTexts(store)
    text_of = text_of or (lambda _, record: texts.of(record))
    passages, resting = (
        shown_passages(store, asked.passages, largest)
        if asked.passages
        else (None, resting_of_largest(store, largest[: asked.pairs]))
    )
    clusters = tuple(_shown(store, largest[: asked.clusters], asked.members))
    rows = (LargeCluster(each.id, each.size, each.least, tuple(map(_member, each.members))) for each in clusters)
    report = ReportContents(
        replace(numbers, largest=tuple(rows)),
        made.rule,
        above,
        clusters,
        pairs=tuple(_pairs(store, largest, asked.pairs, text_of)),
        passages=passages,
        resting=resting,
        forms=largest_forms(store, largest[: asked.pairs]),
        sample=_sample(store, sampler.drawn(), text_of) if sampler else None,
    )
    return replace(report, links=links_of(store, asked.link, _records(report))) if asked.link else report


def _records(report: ReportContents) -> Iterator[Record]:
    for cluster in report.clusters:
        yield from (member.record for member in cluster.members)
    for pair in (*report.pairs, *(report.sample.pairs if report.sample else ())):
        yield from (pair.left, pair.right)


def _shown(store: Store, clusters: Sequence[StoredCluster], most: int) -> Iterator[ShownCluster]:
    for cluster in clusters:
        members = tuple(
            ShownMember(
                known[0], cluster.similarities[place], cluster.repeats[place] is not None, cluster.relations[place],
                _beside(cluster, place, *known),
            )
            for place, known in enumerate(store.described(cluster.members[:most]))
            if known
        )  # fmt: skip
        if members:
            yield ShownCluster(cluster.id, len(cluster.members), cluster.similarities[-1], members)


def _beside(cluster: StoredCluster, place: int, record: Record, noted: Mapping[str, Any]) -> str:
    if to := named_ref("relation_to", record.ref, noted.get("cluster") or {}):
        return name_of(to)
    repeated = cluster.repeats[place]
    return "" if repeated in (None, cluster.canonical) else name_of(repeated)


def _pairs(store: Store, clusters: Sequence[StoredCluster], most: int, text_of: TextOf) -> Iterator[ShownPair]:
    # Equal sketches are mostly equal texts: shown only where there is room.
    for cluster in sorted(clusters, key=lambda one: one.similarities[-1] == 1)[:most]:
        left, right = store.get((cluster.canonical, cluster.members[-1]))
        if left and right:
            shown = _difference(store, left, right, text_of, PAIR_WORDS)
            yield ShownPair(left, right, *shown, cluster.id, cluster.similarities[-1])


def _sample(store: Store, sample: Sample, text_of: TextOf) -> ShownSample | None:
    pairs = []
    for one in sample.in_turn():
        left, right = store.get((one.repeats, one.document))
        if left and right:
            pairs.append(ComparedTexts(left, right, *_difference(store, left, right, text_of, SAMPLE_WORDS)))
    return ShownSample(sample.seed, sample.size, sample.documents, tuple(pairs)) if pairs else None


def _difference(store: Store, left: Record, right: Record, text_of: TextOf, most: int) -> tuple[Difference | None, str]:
    try:
        return word_difference(text_of(store, left), text_of(store, right), limit=most), ""
    except NeardupError as error:
        return None, str(error)


def report_json(report: ReportContents) -> str:
    return json.dumps(as_json(report.figures), indent=2) + "\n"


def _member(member: ShownMember) -> ClusterMember:
    record = member.record
    return ClusterMember(
        name_of(record.ref), member.similarity, member.verdict, record.title, record.source, record.format, record.size
    )


def _figure_rows(report: ReportContents) -> Iterator[tuple[str, str, str, float]]:
    numbers = report.figures
    for measure, value in as_json(numbers).items():
        if isinstance(value, int):
            yield "overall", "", measure, value
        elif isinstance(value, dict):
            yield from (("overall", measure, name, number) for name, number in value.items())
    yield from (("left_out", each.reason, "documents", each.documents) for each in numbers.left_out)
    for size in numbers.cluster_sizes:
        name = str(size.low) if size.low == size.high else f"{size.low}-{size.high}"
        yield "cluster_size", name, "clusters", size.clusters
        yield "cluster_size", name, "documents", size.documents
    yield from (("similarity", row.label, "documents", row.documents) for row in numbers.similarities)
    yield from (("relation", row.relation, "documents", row.documents) for row in numbers.relations)
    for section, shares in (("format", numbers.by_format), ("source", numbers.by_source), ("time", numbers.by_time)):
        for share in shares:
            for measure in ("documents", "repeating", "could_go", "bytes", "could_go_bytes"):
                yield section, share.name, measure, getattr(share, measure)
    for cluster in numbers.largest:
        yield "largest", cluster.id, "documents", cluster.size
        yield "largest", cluster.id, "least_similarity", cluster.least_similarity


def report_csv(report: ReportContents) -> str:
    """The figures as CSV (RFC 4180): section, name, measure, value; a name a spreadsheet would run is quoted."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("section", "name", "measure", "value"))
    for section, name, measure, value in _figure_rows(report):
        safe = printable(name)
        writer.writerow((section, f"'{safe}" if safe[:1] in _CELLS and safe else safe, measure, value))
    return out.getvalue()


def report_markdown(report: ReportContents) -> str:
    environment = Environment(  # noqa: S701 - texts are escaped for Markdown
        loader=PackageLoader("indexer.report"), undefined=StrictUndefined, trim_blocks=True,
        keep_trailing_newline=True, finalize=_md,
    )  # fmt: skip
    environment.filters |= {**NUMBERS, "near": report.rule.shown}
    return environment.get_template("report.md").render(report=report)


def _md(value: Any) -> Any:
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(f"\\{mark}" if mark in "\\`*_{}[]<>()#+!|~&:@" else mark for mark in printable(value))
