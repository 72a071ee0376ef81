"""Metrics of a store for monitoring, in Prometheus's text format.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from indexer.clustering.memory import last_clustering
from indexer.model.release import VERSION
from indexer.stores.base import Store

LabelledValue = tuple[Mapping[str, str], float]


@dataclass(frozen=True, slots=True)
class Metric:
    """One gauge: its name, its help text, and its values, each with its labels."""

    name: str
    says: str
    samples: Sequence[LabelledValue]


def metrics_of(store: Store, shown: str) -> list[Metric]:
    counts, info, clustering = store.stats(), store.info, last_clustering(store)
    here = {"store": shown}
    made = {"scheme": info.scheme, "content": info.content, "extractor": info.extractor, "unicode": info.unicode}
    made |= {"engine": str(counts.extra.get("engine", "SQLite")), "made_by": info.version, "version": VERSION}
    lacking = store.lacking([scheme.name for scheme in info.schemes])
    repeating = "Documents that repeat another one, by how their texts stand to that, empty where it is not known."
    plain = {
        "documents": ("Documents in the store.", counts.documents),
        "fingerprinted_documents": ("Documents with a fingerprint.", counts.fingerprinted),
        "distinct_hashes": ("Distinct fingerprints.", counts.distinct),
        "short_documents": ("Documents with too few words to be compared.", counts.short),
        "empty_documents": ("Documents without words.", counts.empty),
        "failed_documents": ("Documents that could not be indexed.", sum(counts.failures.values())),
        "store_bytes": ("Bytes on disk.", counts.bytes_on_disk),
    }
    return [
        Metric("neardup_store_info", "What the fingerprints were made with; always 1.", [(here | made, 1)]),
        *(Metric(f"neardup_{name}", says, [(here, value)]) for name, (says, value) in plain.items()),
        _by("format", "neardup_documents_by_format", "Documents by format.", here, counts.formats),
        _by("reason", "neardup_failures", "Documents that could not be indexed, by reason.", here, counts.failures),
        _by("scheme", "neardup_documents_without_sketch", "Documents without a sketch of a scheme.", here, lacking),
        _by("relation", "neardup_repeating_documents", repeating, here, counts.relations),
        _time("indexed", "the latest document was fingerprinted, by index or annotate", here, counts.last_indexed_at),
        _time("clustering", "all documents were last put into clusters", here, clustering.at),
        Metric(
            "neardup_clustering_finished",
            "Whether the last clustering came to its end.",
            [] if clustering.finished is None else [(here, int(clustering.finished))],
        ),
    ]


def _by(label: str, name: str, says: str, here: Mapping[str, str], counts: Mapping[str, int]) -> Metric:
    return Metric(name, says, [({**here, label: kind}, count) for kind, count in sorted(counts.items())])


def _time(what: str, says: str, here: Mapping[str, str], at: str) -> Metric:
    """A time in seconds since 1970: a reader computes the age, which would be outdated on arrival."""
    samples = [(here, datetime.fromisoformat(at).timestamp())] if at else []
    return Metric(f"neardup_last_{what}_timestamp_seconds", f"When {says}.", samples)


def exposition(metrics: Iterable[Metric]) -> str:
    lines: list[str] = []
    for metric in metrics:
        if metric.samples:
            lines += [f"# HELP {metric.name} {_escaped(metric.says)}", f"# TYPE {metric.name} gauge"]
        for labels, value in metric.samples:
            named = ",".join(f'{name}="{_quoted(text)}"' for name, text in labels.items())
            lines.append(f"{metric.name}{{{named}}} {value:.17g}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
