"""The contents of a report."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from indexer.clustering.annotations import StoredCluster
from indexer.clustering.memory import ClusterSettings, remembered
from indexer.clustering.sampling import Sample, Sampler, sample_seed
from indexer.errors import NeardupError, UsageError
from indexer.ingest.rereading import StoredTexts
from indexer.matching.rule import default_rule
from indexer.model import Record, Ref, name_of, named_ref
from indexer.model.declared import as_json
from indexer.relations.relation import VerdictWord, verdict_of
from indexer.report.counting import ReportCounts, Share, figures
from indexer.report.figures import ClusterMember, LargeCluster, NamedShare, ReportFigures
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


@dataclass(frozen=True, slots=True)
class ShownCluster:
    """A cluster in a report: `members` are the first of them, the canonical one first, each with its similarity.

    `least` is the smallest similarity (0 to 1) of a member to the canonical one. For each member `repeats` says whether
    it repeats a kept document, and `relations` its noted relation to it, empty without one. `beside` names this
    document if it is not the canonical one.
    """

    id: str
    size: int
    least: float
    members: tuple[tuple[Record, float], ...]
    repeats: tuple[bool, ...] = ()
    relations: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def verdicts(self) -> list[VerdictWord]:
        noted = zip(self.repeats, self.relations, strict=True)
        return [verdict_of(relation if repeats else None) for repeats, relation in noted]


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
    """The whole content of a report. `made_at` is ISO 8601 in UTC; `store` is the user's name for it."""

    store: str
    made_at: str
    made_with: str
    figures: ReportCounts
    clusters: tuple[ShownCluster, ...]
    pairs: tuple[ShownPair, ...]
    passages: ShownPassages | None = None
    resting: tuple[ShownResting, ...] = ()
    forms: tuple[ShownForm, ...] = ()
    sample: ShownSample | None = None
    links: Mapping[Ref, str] = field(default_factory=dict)


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
    numbers, largest = figures(
        store, made, most=max(asked.clusters, asked.pairs), time_field=asked.time_field, sampler=sampler
    )
    info = store.info
    texts = StoredTexts(store)
    text_of = text_of or (lambda _, record: texts.of(record))
    passages, resting = (
        shown_passages(store, asked.passages, largest)
        if asked.passages
        else (None, resting_of_largest(store, largest[: asked.pairs]))
    )
    report = ReportContents(
        store=name,
        made_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        made_with=f"{info.scheme}, content {info.content}, extraction rules {info.extractor}, Unicode {info.unicode}",
        figures=numbers,
        clusters=tuple(_shown(store, largest[: asked.clusters], asked.members)),
        pairs=tuple(_pairs(store, largest, asked.pairs, text_of)),
        passages=passages,
        resting=resting,
        forms=largest_forms(store, largest[: asked.pairs]),
        sample=_sample(store, sampler.drawn(), text_of) if sampler else None,
    )
    return replace(report, links=links_of(store, asked.link, _records(report))) if asked.link else report


def _records(report: ReportContents) -> Iterator[Record]:
    for cluster in report.clusters:
        yield from (record for record, _ in cluster.members)
    for pair in (*report.pairs, *(report.sample.pairs if report.sample else ())):
        yield from (pair.left, pair.right)


def _shown(store: Store, clusters: Sequence[StoredCluster], most: int) -> Iterator[ShownCluster]:
    for cluster in clusters:
        described = enumerate(store.described(cluster.members[:most]))
        there = [(place, *known) for place, known in described if known]
        if there:
            yield ShownCluster(
                cluster.id, len(cluster.members), cluster.similarities[-1],
                tuple((record, cluster.similarities[place]) for place, record, _ in there),
                tuple(cluster.repeats[place] is not None for place, _, _ in there),
                tuple(cluster.relations[place] for place, _, _ in there),
                tuple(_beside(cluster, place, record.ref, noted) for place, record, noted in there),
            )  # fmt: skip


def _beside(cluster: StoredCluster, place: int, ref: Ref, noted: Mapping[str, Any]) -> str:
    if to := named_ref("relation_to", ref, noted.get("cluster") or {}):
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


def plain_figures(report: ReportContents) -> ReportFigures:
    numbers = report.figures
    return ReportFigures(
        store=report.store,
        made_at=report.made_at,
        made_with=report.made_with,
        rule=numbers.rule.written(whole=True),
        documents=numbers.total.documents,
        bytes=numbers.total.total_bytes,
        repeating=numbers.repeating,
        could_go=numbers.could_go,
        same_work=numbers.same_work,
        differ=numbers.differ,
        undecided=numbers.undecided,
        not_compared=numbers.not_compared,
        left_out=numbers.left_out,
        fingerprinted=numbers.fingerprinted,
        short=numbers.short,
        unclustered=numbers.unclustered,
        clusters=numbers.clusters,
        in_clusters=numbers.in_clusters,
        spanning=numbers.spanning,
        cluster_sizes=numbers.sizes,
        similarities=numbers.similarities,
        relations=numbers.relations,
        by_format=_shares(numbers.by_format),
        by_source=_shares(numbers.by_source),
        by_time=_shares(numbers.by_time),
        largest=tuple(
            LargeCluster(row.id, row.size, row.least, tuple(map(_member, row.members, row.verdicts)))
            for row in report.clusters
        ),
    )


def report_json(report: ReportContents) -> str:
    return json.dumps(as_json(plain_figures(report)), indent=2) + "\n"


def _shares(shares: Mapping[str, Share]) -> tuple[NamedShare, ...]:
    return tuple(NamedShare.of(name, share) for name, share in shares.items())


def _member(near: tuple[Record, float], verdict: VerdictWord) -> ClusterMember:
    record, similarity = near
    return ClusterMember(
        name_of(record.ref), similarity, verdict, record.title, record.source, record.format, record.size
    )


def _figure_rows(report: ReportContents) -> Iterator[tuple[str, str, str, float]]:
    numbers = plain_figures(report)
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
    numbers = report.figures
    passed = f", beside {counted(numbers.passed_over, 'file')} passed over" if numbers.passed_over else ""
    lines = [
        "# Near-duplicates",
        "",
        f"Store {_md(report.store)}, {report.made_at}, {_md(report.made_with)}.",
        f"Near-duplicates by {_md(numbers.rule.in_words)}.",
        "",
        f"| {counted(numbers.total.documents, 'document')} | documents | share | bytes |",
        "| --- | --- | --- | --- |",
        *(f"| {name} | {each.documents:,} | {each.share:.1%} | {each.bytes:,} |" for name, each in numbers.first),
        "",
        f"Not compared: {counted(numbers.not_compared, 'document')}{passed}.",
        f"{counted(numbers.clusters, 'cluster')} with {counted(numbers.in_clusters, 'document')}; "
        f"{counted(numbers.spanning, 'cluster')} from two origins or more.",
    ]
    if numbers.left_out:
        lines += _md_table(
            "What was not compared or left out",
            ("reason", "documents", "among them"),
            [(each.reason, f"{each.documents:,}", ", ".join(each.names[:3])) for each in numbers.left_out],
        )
    for heading, shares in (
        ("By format", numbers.by_format),
        ("By source", numbers.by_source),
        ("Over time", numbers.by_time),
    ):
        rows = [
            (
                name.removeprefix(numbers.above),
                *(f"{share.documents:,}", f"{share.repeating:,}", f"{share.part:.1%}", f"{share.could_go:,}"),
            )
            for name, share in shares.items()
        ]
        lines += _md_table(heading, (heading.split()[-1], "documents", "repeat another", "part", "could go"), rows)
    lines += _md_table(
        "Cluster sizes",
        ("members", "clusters", "documents"),
        [(row.label, f"{row.clusters:,}", f"{row.documents:,}") for row in numbers.sizes],
    )
    lines += _md_table(
        "Similarity to what stays",
        ("bits that differ" if numbers.rule.unit == "bits" else "shared wording", "documents"),
        [(row.label, f"{row.documents:,}") for row in numbers.similarities],
    )
    lines += _md_table(
        "Relation of near documents to the one that stays",
        ("relation", "documents"),
        [(row.relation or "not known", f"{row.documents:,}") for row in numbers.relations],
    )
    lines += _md_table(
        f"The {len(report.clusters):,} largest of {counted(numbers.clusters, 'cluster')}"
        if len(report.clusters) < numbers.clusters
        else "Clusters",
        ("documents", "canonical", "title", "least similar"),
        [
            (f"{row.size:,}", row.members[0][0].ref.id, row.members[0][0].title, numbers.rule.shown(row.least))
            for row in report.clusters
        ],
    )
    return "\n".join(lines) + "\n"


def _md_table(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["", f"## {heading}", "", f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    return lines + [f"| {' | '.join(_md(cell) for cell in row)} |" for row in rows]


def _md(text: str) -> str:
    safe = printable(text)
    return "".join(f"\\{mark}" if mark in "\\`*_{}[]<>()#+!|~&:@" else mark for mark in safe)
