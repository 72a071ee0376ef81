"""The order in time of versions of real documents, against truth: what is known of it, and what of that is right.

Run as `python -m tests.benchmarks versions [--documents FOLDER]`. Without FOLDER the documents are pages of API
documentation in several releases; else FOLDER has a folder for each collection. A collection of releases, as the
documentation of a project at its tags, has a folder for each release, named by its number; the truth is the number, and
pages with one path below are versions of each other. Of any other collection the truth is in the names of its files:
the number of an RFC of a line in which each obsoletes the one before it, the number of an Internet-Draft, or the stage
of a bill (BILLS-118hr5ih.xml).

Counted are pairs of versions of one document that are in one cluster. Known are those whose order is told, and tau is
Kendall's coefficient of these: the right ones less the turned ones, as a share. Called are pairs that are told to be
versions of one document with enough confidence, and wrong those of them that are not. Measured are the documents as
they are; without their paths, by the dates and numbers in their titles, metadata and texts; by their dates alone; and
by their texts alone, where one that contains all of the other counts as newer.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from indexer.clustering.annotations import stored_clusters
from indexer.clustering.clusters import cluster
from indexer.ingest.rereading import StoredTexts
from indexer.library.collection import open as open_collection
from indexer.matching.relating import ReadDocument, relation_of
from indexer.matching.rule import default_rule
from indexer.model import DECLARED, Record
from indexer.relations.relation import order_with
from indexer.relations.versions.numbers import read_number
from indexer.relations.versions.order import Order, compared, lineages
from indexer.relations.versions.signs import signs_of

Truth = dict[str, tuple[str, Any]]
"""Of each path, what it is a version of, and its place among these."""

_DATES = ("modified", "published", "dated")
_RFC = re.compile(r"rfc([0-9]+)\.txt")
_DRAFT = re.compile(r"(draft-.+)-([0-9]{2})\.txt")
_BILL = re.compile(
    r"(?:bills-)?([0-9]*(?:hr|hres|hjres|hconres|[hs][jcr]?|sres|sjres|sconres)[0-9]+)_?([a-z]{2,3})\.xml"
)
_OBSOLETES = re.compile(r"Obsoletes:\s*((?:(?:RFC)?\s*[0-9]+[ ,]*)+)")
# The way of a bill; what is beside it, as amendments are, has no place there.
_STAGES = (("ih", "is"), ("rh", "rs"), ("eh", "es"), ("rfh", "rfs", "rdh", "rds"), ("enr",))


def _declared(record: Record, names: Sequence[str] | None = None) -> dict[str, Any]:
    declared = record.metadata.get(DECLARED) or {}
    return {DECLARED: {name: value for name, value in declared.items() if names is None or name in names}}


WAYS: dict[str, Callable[[Record], Record]] = {
    "as they are": lambda record: record,
    "without paths": lambda record: replace(record, source="", metadata=_declared(record)),
    "by dates alone": lambda record: replace(record, source="", title="", metadata=_declared(record, _DATES)),
    "by texts alone": lambda record: replace(record, source="", title="", metadata={}),
}
_TEXTS = "by texts alone"


def run(data: Path) -> dict[str, Any]:
    """Measure the pages of API documentation and print; gives the figures."""
    truth: Truth = {}
    for line in (data / "truth" / "javadoc.jsonl").read_text("utf-8").splitlines():
        page = json.loads(line)
        truth[str((data / page["path"]).resolve())] = page["group"], read_number(page["version"])
    return _collection("javadoc", data / "html" / "javadoc", truth)


def _collection(name: str, folder: Path, truth: Truth) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        collection = open_collection(Path(made) / "a.neardup")
        with collection:
            collection.index(folder)
            store = collection.store
            cluster(store, default_rule(store))
            clusters = [
                [record for record in store.get(each.members, sketches=False) if record and record.source in truth]
                for each in stored_clusters(store, least=2)
            ]
            texts = StoredTexts(store)
            return {way: _measured(f"{name}, {way}", way, clusters, truth, texts) for way in WAYS}


def _measured(name: str, way: str, clusters: list[list[Record]], truth: Truth, texts: StoredTexts) -> dict[str, float]:
    counts: dict[str, int] = defaultdict(int)
    for records in clusters:
        signs = [signs_of(WAYS[way](record)) for record in records]
        said = [truth[record.source] for record in records]
        pairs = [
            (one, other)
            for one, other in combinations(range(len(records)), 2)
            if said[one][0] == said[other][0] and said[one][1] != said[other][1]
        ]
        read = [text if isinstance(text, str) else "" for text in _texts(records if pairs else [], texts, way)]
        for one, other in pairs:
            order = _by_texts(read[one], read[other]) if way == _TEXTS else compared(signs[one], signs[other])
            right = "newer" if said[one][1] > said[other][1] else "older"
            counts["pairs"] += 1
            counts["unknown" if order.word == "unknown" else "right" if order.word == right else "turned"] += 1
        for lineage in lineages(signs):
            places = [place for step in lineage.steps for place in step]
            called = list(combinations(places, 2))
            counts["called"] += len(called)
            counts["wrong"] += sum(said[one][0] != said[other][0] for one, other in called)
    known = counts["right"] + counts["turned"]
    tau = (counts["right"] - counts["turned"]) / known if known else float("nan")
    print(
        f"{name:32s} {counts['pairs']:6,} pairs, {known:6,} known, tau {tau:5.2f}; "
        f"{counts['called']:6,} called versions, {counts['wrong']:,} of them wrong"
    )
    return {"pairs": counts["pairs"], "tau": tau, "known": known, "called": counts["called"], "wrong": counts["wrong"]}


def _texts(records: Sequence[Record], texts: StoredTexts, way: str) -> Iterable[Any]:
    if way != _TEXTS:
        return [""] * len(records)
    read = {record.ref: text for record, text in texts.read(records)}
    return [read[record.ref] for record in records]


def _by_texts(one: str, other: str) -> Order:
    return order_with(Order(), relation_of(ReadDocument(one), ReadDocument(other)))


def truth_of(folder: Path) -> Truth:
    """The truth of a collection, by the names of its folders or files."""
    releases = [each for each in folder.iterdir() if each.is_dir()]
    if releases:
        return {
            str(path.resolve()): (str(path.relative_to(release)), read_number(release.name))
            for release in releases
            for path in release.rglob("*")
            if path.is_file()
        }
    files = {path.name.lower(): path for path in folder.iterdir()}
    truth: Truth = {}
    works: dict[int, int] = {}
    for name, path in sorted(files.items(), key=lambda each: (len(each[0]), each[0])):
        place = str(path.resolve())
        if made := _RFC.fullmatch(name):
            number = int(made[1])
            stated = _OBSOLETES.search(path.read_text("utf-8", "replace")[:2000])
            older = [int(each) for each in re.findall("[0-9]+", stated[1])] if stated else []
            works[number] = next((works[each] for each in older if each in works), number)
            truth[place] = f"rfc{works[number]}", number
        elif made := _DRAFT.fullmatch(name):
            truth[place] = made[1], int(made[2])
        elif made := _BILL.fullmatch(name):
            stage = next((number for number, names in enumerate(_STAGES) if made[2] in names), None)
            if stage is not None:
                truth[place] = made[1], stage
    return truth


def main(arguments: Sequence[str]) -> None:
    """Measure the collections in a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, required=True, help="a folder with a folder for each collection")
    asked = parser.parse_args(arguments)
    for folder in sorted(each for each in asked.documents.iterdir() if each.is_dir()):
        _collection(folder.name, folder, truth_of(folder))
