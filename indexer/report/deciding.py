"""Clusters of a report to decide on, and a sample to judge."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indexer.clustering.decision_file import FORM
from indexer.ingest.naming import container_of
from indexer.model import Record, name_of
from indexer.model.paths import path_of_printable
from indexer.report.contents import ReportContents, ShownCluster, ShownMember, ShownSample
from indexer.report.counting import date_of
from indexer.report.links import is_web
from indexer.stores.texts import document_of
from indexer.text.visible import beginning, printable

# A title this long is cut; the name of a file is shown whole.
_TITLE = 160
# What librarians and others call the relations, beside what stays.
_SAID = {
    "identical": "same text",
    "reflowed": "same text, other layout",
    "noise": "same text, misread letters",
    "rendition": "other format or frame",
    "form": "same form, other facts",
    "reworded": "other words",
    "edited": "sentences missing or moved",
    "contains": "holds the other and more",
    "part": "part of the other",
}


def decisions_data(report: ReportContents, room: int) -> tuple[str, int]:
    head = f'{{"form":{_json(FORM)},"store":{_json(printable(report.figures.store))},"clusters":['
    parts, left = list[str](), room - len(head)
    for cluster in report.clusters:
        part = _json(_cluster(cluster, report))
        left -= len(part) + 1
        if left < 0:
            break
        parts.append(part)
    return f"{head}{','.join(parts)}]}}", len(parts)


def _json(value: Any) -> str:
    return (
        json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    )


def _cluster(cluster: ShownCluster, report: ReportContents) -> Mapping[str, Any]:
    members = [_member(member, report, is_first=not place) for place, member in enumerate(cluster.members)]
    return {"id": cluster.id, "size": cluster.size, "members": members}


def _member(member: ShownMember, report: ReportContents, *, is_first: bool) -> Mapping[str, Any]:
    record = member.record
    said = [member.group, _SAID.get(member.relation, "")]
    if member.beside:
        # How near it is to the first document says nothing about this one.
        said[1] += f", beside {printable(member.beside)}"
    elif not is_first:
        said.append(report.rule.shown(member.similarity))
    return {
        "id": name_of(record.ref),
        "digest": record.seen_digest,
        **({"beside": member.beside} if member.beside else {}),
        **described(record, report, *said),
        "proposed": "keep" if not member.repeats else "drop" if member.verdict == "could go" else "",
    }


def sample_data(sample: ShownSample) -> str:
    pairs = [
        {
            "documents": [
                {"id": name_of(record.ref), "digest": record.seen_digest} for record in (pair.right, pair.left)
            ],
        }
        for pair in sample.pairs
    ]
    return _json({"form": FORM, "seed": sample.seed, "size": sample.size, "pairs": pairs})


def described(record: Record, report: ReportContents, *said: str) -> Mapping[str, str]:
    title, name = titled(record, report.above)
    facts = [*said, date_of(record), record.format, _size(record.size)]
    href = report.links.get(record.ref) or _link(record.source)
    return {"title": title, "name": name, "href": href, "facts": " \u00b7 ".join(filter(None, facts))}


def titled(record: Record, above: str = "") -> tuple[str, str]:
    """The title of a document, and its place, without the path `above` the common folder."""
    source = record.source or record.ref.id
    file = source.rstrip("/").rpartition("/")[2] or source
    known = record.title.strip() and record.title not in (source, record.ref.id, file)
    name = name_of(document_of(record) or record.ref)
    below = source.removeprefix(above)
    where = below if source.endswith(record.ref.id) else f"{name} \u00b7 {below}"
    return printable(beginning(record.title, _TITLE) if known else file), printable(where)


def _link(source: str) -> str:
    if os.path.isabs(source):
        # What lies in an archive, a mailbox or a mail is opened with it.
        return Path(path_of_printable(container_of(source) or source)).as_uri()
    return source if is_web(source) else ""


def _size(value: int) -> str:
    if value < 1000:
        return f"{value} B"
    return f"{value / 1000:,.0f} kB" if value < 1_000_000 else f"{value / 1_000_000:,.1f} MB"
