"""A store that a batch is loaded into is the one that `neardup index` and `neardup cluster` make of the same input."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.form import Form
from indexer.batch.loading import Batch, Loaded, load
from indexer.batch.reading import rule_of
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.clusters import cluster as cluster_store
from indexer.clustering.memory import require_remembered
from indexer.clustering.relation_notes import TO
from indexer.errors import IncompatibleStoreError, StoreError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Selection, Sources
from indexer.library.batches import destination
from indexer.library.opening import open_store
from indexer.matching.rule import default_rule, parse_rule
from indexer.model import ClusterRecord, Record, Ref
from indexer.relations.relation import verdict_of
from indexer.report.counting import figures
from indexer.schemes import registry
from indexer.stores.loading import Landed, LoadedStore
from tests.batch.batched import MINHASH, seen_of, sketched
from tests.cli.written import changed, html, prose
from tests.planted import collection, named
from tests.relations.filled import forms

MOMENT = "2026-01-01T00:00:00Z"
FORM = Form((MINHASH,))


def write(folder: Path, texts: Mapping[str, str]) -> Path:
    """The texts as JSON lines, some under a URL, and beside them pages, what is short or empty, and what is broken."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = [
        {"id": name, "text": text, "seen": seen_of(name), "lang": "en"} for name, text in texts.items()
    ]
    for number, line in enumerate(lines[::4]):
        line["url"] = f"https://host{number % 3}.example/{line['id']}"
        line["title"] = f"no. {number}"
    lines += [{"id": "short", "text": "a few words"}, {"id": "short too", "text": "A few words"}]
    lines += [{"id": "empty", "text": ""}, {"id": "broken", "number": 1}]
    half = len(lines) // 2
    for name, part in (("a.jsonl", lines[:half]), ("b.jsonl", lines[half:])):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in part))
    for number in range(6):
        (folder / f"{number}.html").write_bytes(html(prose(number // 2), f"page {number}"))
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.4\nnothing")
    return folder


def batched(given: Path, out: Path, form: Form = FORM, rule: str | None = None, **more: Any) -> Path:
    """Sketches and clusters of these files."""
    sketched(given, out, form)
    chosen = more.pop("canonical", CanonicalRule())
    cluster(str(out), str(out), ClusteringOptions(rule_of(form, rule), chosen, threads=1, **more))
    return out


def loaded(out: Path, store: Path | str, **how: Any) -> Loaded:
    batch = Batch.of(str(out))
    with destination(str(store), batch.form.info, **how) as target:
        return load(batch, target.destination, dry_run=how.get("dry_run", False))


def indexed(given: Path, store: Path, form: Form = FORM, rule: str | None = None, **more: Any) -> None:
    """The same by `neardup index` and `neardup cluster`."""
    with open_store(store, create=store_info("landmarks", form.made)) as target:
        index(Sources([str(given)], Selection(base=str(store.parent))), target, Settings(jobs=1, schemes=form.made))
        by = parse_rule(rule, target) if rule else default_rule(target)
        cluster_store(target, by, threads=1, **more)


def state(path: Path) -> dict[str, Any]:
    """All that a store holds, but for when."""
    with open_store(path, read_only=True) as store:
        # A batch reads texts.
        noted = store.clustering_notes().items()
        notes = {name: replace(note, at="", arrived=(), reads=True) for name, note in noted}
        stats = store.stats()
        return {
            "records": {record.ref: replace(record, indexed_at="", first_indexed_at="") for record in store.scan()},
            "annotations": {ref: known for ref, known in store.scan_annotations() if known},
            "clusters": [replace(one, first_seen="", last_seen="") for one in store.clusters()],
            "failures": [replace(one, failed_at="", source_digest="") for one in store.failures()],
            "notes": notes,
            "schemes": store.info.schemes,
            "counts": (stats.documents, stats.fingerprinted, stats.distinct, stats.short, stats.empty, stats.formats),
            "keys": {
                (name, ref): (found.payloads[name].bytes_of(place), found.keys[name].row(place).tolist())
                for name in ("simhash-doc", *(scheme.name for scheme in store.info.schemes))
                for found in store.scan_sketches([name], keys=[name], include_short=True)
                for place, ref in enumerate(found.refs)
            },
        }


def unchosen(held: dict[str, Any]) -> tuple[Any, ...]:
    """The clusters of a store, without what of them is kept."""
    relations(held)
    said = {
        ref: {name: value for name, value in known["cluster"].items() if not name.startswith(("repeats", "relation"))}
        for ref, known in held["annotations"].items()
    }
    return said, [unrelated(one) for one in held["clusters"]]


def uncounted(counted: Any) -> Any:
    """A cluster without what could go, which is less where no text was compared."""
    return replace(counted, redundant=0, redundant_bytes=0)


def unrelated(cluster: ClusterRecord) -> ClusterRecord:
    """A cluster without the relations of its documents and what could go."""
    return replace(uncounted(cluster), relations=())


def unshared(share: Any) -> Any:
    """A share without what could go."""
    return replace(share, could_go=0, could_go_bytes=0)


def relations(held: dict[str, Any]) -> dict[Ref, str]:
    """The relations that are noted in a state, which are taken out of it."""
    clusters = {ref: known["cluster"] for ref, known in held["annotations"].items() if "cluster" in known}
    for each in clusters.values():
        # A batch does not say to which other document of the cluster a relation is.
        for name in TO:
            each.pop(name, None)
    return {ref: cluster.pop("relation") for ref, cluster in clusters.items() if "relation" in cluster}


def report(path: Path) -> Any:
    """What a report counts, by the time that documents say themselves."""
    with open_store(path, read_only=True) as store:
        counted, *_ = figures(store, "", require_remembered(store), most=10, time_field="seen")
    return counted


CASES = {
    "longest": (FORM, None, {"canonical": CanonicalRule("longest")}),
    "lean": (Form(()), None, {}),
    "field": (FORM, "simhash-doc@6bits+minhash@0.5", {"canonical": CanonicalRule("field", "seen", descending=True)}),
    "cut": (FORM, "minhash@0.3", {"bound": 0.4}),
    "earliest": (Form((MINHASH,), time_field="seen"), None, {"canonical": CanonicalRule("field", "seen")}),
    "two schemes": (Form((MINHASH, "supershingles")), "supershingles@0.5/minhash@0.5+minhash@0.5", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_as_indexed_and_clustered(name: str, tmp_path: Path) -> None:
    form, rule, more = CASES[name]
    form = Form(tuple(registry.scheme(one).id for one in form.schemes), time_field=form.time_field)
    given = write(tmp_path / "in", named(collection(5, 150)))
    asked = {**more, "canonical": CanonicalRule("earliest")} if form.time_field else more
    out = batched(given, tmp_path / "out", form, rule, **asked)
    done = loaded(out, tmp_path / "loaded.neardup")
    indexed(given, tmp_path / "indexed.neardup", form, rule, **more)
    wanted, found = state(tmp_path / "indexed.neardup"), state(tmp_path / "loaded.neardup")
    assert len(wanted["clusters"]) > 10
    assert len(wanted["failures"]) == 2
    known, others = relations(found), relations(wanted)
    for held in (found, wanted):
        held["clusters"] = [unrelated(one) for one in held["clusters"]]
    assert found == wanted
    # A batch has looked at texts; without them only what is identical is known.
    assert {verdict_of(known[ref]) for ref in others.keys() & known.keys()} == {"could go"}
    assert {*others.values()} == {"identical"} < {*known.values()}
    reports = report(tmp_path / "loaded.neardup"), report(tmp_path / "indexed.neardup")
    verdicts = Counter(verdict_of(word) for word in known.values())
    assert reports[0].could_go.documents == verdicts["could go"] > reports[1].could_go.documents
    assert reports[0].differ.documents == verdicts["differs"] > 0 == reports[1].differ.documents
    one, other = (
        replace(
            each,
            relations=(),
            could_go=None,
            differ=None,
            undecided=None,
            made_at="",
            **{name: tuple(map(unshared, getattr(each, name))) for name in ("by_format", "by_source", "by_time")},
        )
        for each in reports
    )
    assert one == other
    assert (done.created, done.total, done.others) == (len(wanted["records"]), len(wanted["records"]) + 2, 0)
    assert done.changes.clusters == len(wanted["clusters"])


def test_real_pages_are_loaded_as_they_are_indexed(shared_data: Path, tmp_path: Path) -> None:
    given = shared_data / "html" / "mixed"
    if not os.environ.get("NEARDUP_ALL"):
        given /= "bind9"
    loaded(batched(given, tmp_path / "out"), tmp_path / "loaded.neardup")
    indexed(given, tmp_path / "indexed.neardup")
    held, wanted = state(tmp_path / "loaded.neardup"), state(tmp_path / "indexed.neardup")
    assert unchosen(held) == unchosen(wanted)
    assert held["annotations"] == wanted["annotations"]
    with open_store(tmp_path / "loaded.neardup") as store:
        done = cluster_store(store, default_rule(store), threads=1).changes
    assert (done.documents, done.clusters, done.removed) == (0, 0, 0)


FOLDERS = ["", "x/", "x.d/", "x!/", "x/x/", "x-1/y/"]
FILES = ["x.txt", "x ", "w.jsonl", "x~", "y.txt", "é", "x.eml", "w.eml"]


@settings(max_examples=4, deadline=None)
@given(st.dictionaries(st.builds(str.__add__, st.sampled_from(FOLDERS), st.sampled_from(FILES)), st.integers(0, 3)))
def test_files_beside_folders_come_in_the_order_of_a_walk(tree: dict[str, int]) -> None:
    tree |= {"x/x.txt": 0, "x.txt": 0, "a.txt": 1, "x.d/w.jsonl": 1, "x!/y.txt": 2, "x ": 2}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for place, (path, number) in enumerate(tree.items()):
            text = changed(prose(number), place)
            (folder / "in" / path).parent.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps({"id": f"{path}{line}", "text": text}) for line in range(2)]
            mail = f"Subject: {path}\n\n{text}"
            given = {".jsonl": "\n".join(lines), ".eml": mail}.get(Path(path).suffix, text)
            (folder / "in" / path).write_text(given)
        loaded(batched(folder / "in", folder / "out"), folder / "loaded.neardup")
        indexed(folder / "in", folder / "indexed.neardup")
        assert unchosen(state(folder / "loaded.neardup")) == unchosen(state(folder / "indexed.neardup"))
        with open_store(folder / "loaded.neardup") as store:
            made = cluster_store(store, default_rule(store), threads=1).changes
        assert (made.documents, made.clusters, made.removed) == (0, 0, 0)


def test_the_same_again_writes_nothing_and_a_changed_batch_what_changed(tmp_path: Path) -> None:
    texts = named(collection(3, 120))
    given, store = write(tmp_path / "in", texts), tmp_path / "s.neardup"
    out = batched(given, tmp_path / "out")
    loaded(out, store)
    before = state(store)
    again = loaded(out, store)
    assert (again.created, again.replaced, again.unchanged, again.others) == (0, 0, len(before["records"]), 0)
    assert (again.changes.documents, again.changes.clusters, again.changes.removed) == (0, 0, 0)
    assert state(store) == before
    # Half of the clusters fall apart, and some documents come.
    for number, name in enumerate(sorted(texts)):
        if number % 2:
            texts[name] = prose(1000 + number)
    same = [text for name, text in texts.items() if name in sorted(texts)[::2]]
    texts |= {f"new{number}": same[number] for number in range(3)}
    out = batched(write(given, texts), out)
    changed = loaded(out, store)
    assert 0 < changed.replaced < len(before["records"])
    assert changed.created == 3
    assert changed.changes.removed > 0
    assert state(store)["records"] == {**before["records"], **state(store)["records"]}
    loaded(out, tmp_path / "new.neardup")
    # A cluster keeps its id as long as the document that it is named after is in it.
    assert groups(store) == groups(tmp_path / "new.neardup")
    with open_store(store) as opened_store:
        made = cluster_store(opened_store, default_rule(opened_store), threads=1)
    assert (made.changes.documents, made.changes.clusters, made.changes.removed) == (0, 0, 0)


def groups(path: Path) -> dict[frozenset[str], str]:
    """The members of each cluster, and which of them is canonical."""
    found: dict[str, set[str]] = {}
    canonical: dict[str, str] = {}
    for ref, known in state(path)["annotations"].items():
        if known["cluster"].get("size_class"):
            found.setdefault(known["cluster"]["id"], set()).add(ref.id)
            if known["cluster"]["is_canonical"]:
                canonical[known["cluster"]["id"]] = ref.id
    return {frozenset(members): canonical[name] for name, members in found.items()}


def test_a_dry_run_counts_the_same_and_writes_nothing(tmp_path: Path) -> None:
    out = batched(write(tmp_path / "in", named(collection(3, 60))), tmp_path / "out")
    store = tmp_path / "s.neardup"
    dry = loaded(out, store, dry_run=True)
    assert not store.exists()
    done = loaded(out, store)
    assert (dry.created, dry.failed, dry.empty, dry.short) == (done.created, done.failed, done.empty, done.short)
    before = state(store)
    assert loaded(out, store, dry_run=True).unchanged == done.created
    assert state(store) == before


def test_of_one_id_the_last_counts_as_in_the_batch(tmp_path: Path) -> None:
    given = write(tmp_path / "in", {"same": prose(41), "other": prose(42)})
    (given / "z.jsonl").write_text(json.dumps({"id": "same", "text": prose(42)}) + "\n")
    done = loaded(batched(given, tmp_path / "out", latest=True), tmp_path / "s.neardup")
    assert groups(tmp_path / "s.neardup").keys() >= {frozenset({"same", "other"})}
    assert done.total == done.created + done.failures


def test_against_an_older_batch(tmp_path: Path) -> None:
    texts = named(collection(8, 120))
    older = {name: text for number, (name, text) in enumerate(texts.items()) if number % 3}
    newer = {name: text for name, text in texts.items() if name not in older}
    store = tmp_path / "s.neardup"
    # Of equally long ones a store takes the one that it was given first, and a batch knows nothing of that.
    seen = CanonicalRule("field", "seen")
    first = batched(write(tmp_path / "old", older), tmp_path / "first", canonical=seen)
    loaded(first, store)
    before = state(store)
    given = tmp_path / "new"
    given.mkdir()
    lines = [json.dumps({"id": name, "text": text, "seen": seen_of(name)}) for name, text in newer.items()]
    (given / "c.jsonl").write_text("\n".join(lines))
    second = batched(given, tmp_path / "second", against=str(first), canonical=seen)
    done = loaded(second, store)
    assert (done.created, done.others) == (len(newer), 0)
    after = state(store)
    assert after["records"].items() >= before["records"].items()
    with open_store(store) as opened_store:
        made = cluster_store(opened_store, default_rule(opened_store), canonical=seen, threads=1)
    assert made.changes.removed == 0
    assert len(after["clusters"]) > len(before["clusters"])
    # What the older batch kept stays kept, and a clustering of all chooses anew; the clusters are the same.
    assert unchosen(state(store)) == unchosen(after)
    assert state(store)["annotations"] != after["annotations"]


def test_beside_other_documents(tmp_path: Path) -> None:
    store = tmp_path / "s.neardup"
    loaded(batched(write(tmp_path / "a", {"a": prose(50), "a2": prose(50)}), tmp_path / "one"), store)
    given = tmp_path / "b"
    given.mkdir()
    (given / "b.jsonl").write_text("".join(json.dumps({"id": n, "text": prose(50)}) + "\n" for n in ("b", "b2")))
    done = loaded(batched(given, tmp_path / "two"), store)
    assert (done.created, done.others) == (2, 11)
    assert {frozenset({"a", "a2"}), frozenset({"b", "b2"})} <= groups(store).keys()
    with open_store(store) as opened_store:
        made = require_remembered(opened_store)
        indexed_at = opened_store.get([Ref("b")])[0].indexed_at
        assert made.at <= indexed_at
        cluster_store(opened_store, made.rule, canonical=made.canonical, threads=1)
    assert frozenset({"a", "a2", "b", "b2"}) in groups(store)


def test_without_clusters_records_alone(tmp_path: Path) -> None:
    given = write(tmp_path / "in", named(collection(3, 30)))
    sketched(given, tmp_path / "out", FORM)
    done = loaded(tmp_path / "out", tmp_path / "s.neardup")
    assert done.created == len(state(tmp_path / "s.neardup")["records"])
    assert state(tmp_path / "s.neardup")["notes"] == {}


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    out = batched(write(tmp_path / "in", named(collection(3, 30))), tmp_path / "out")
    for name, info, said in (
        ("lean", store_info("landmarks"), "schemes"),
        ("more", store_info("landmarks", [*FORM.made, registry.scheme("spotsigs")]), "spotsigs"),
        ("other", store_info("landmarks", [registry.scheme("minhash:bands=8,rows=16")]), "bands=8"),
        ("full", store_info("full", FORM.made), "content mode"),
    ):
        store = tmp_path / f"{name}.neardup"
        open_store(store, create=info).close()
        with pytest.raises(IncompatibleStoreError, match=said):
            loaded(out, store)
        assert state(store)["records"] == {}
    store = tmp_path / "clustered.neardup"
    loaded(out, store)
    before = state(store)
    stricter = batched(tmp_path / "in", tmp_path / "strict", rule="minhash@0.9")
    with pytest.raises(IncompatibleStoreError, match=r"clusters of the store are by .*@0\.9"):
        loaded(stricter, store)
    assert state(store) == before


def test_unfinished_or_old_clusters_are_refused(tmp_path: Path) -> None:
    given = write(tmp_path / "in", named(collection(3, 30)))
    out = batched(given, tmp_path / "out")
    write(given, named(collection(4, 30)))
    sketched(given, out, FORM)
    with pytest.raises(StoreError, match="have changed since"):
        loaded(out, tmp_path / "s.neardup")
    (out / "clustering.json").unlink()
    with pytest.raises(StoreError, match="no finished clusters"):
        loaded(out, tmp_path / "s.neardup")
    assert not (tmp_path / "s.neardup").exists()


class Stopping(LoadedStore):
    """A store that is interrupted after so many steps."""

    left = 0

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt

    def put(self, records: Sequence[Record]) -> list[Landed]:
        self._step()
        return super().put(records)

    def finish(self) -> None:
        self._step()
        super().finish()


def test_what_was_interrupted_is_completed_by_the_same_again(tmp_path: Path) -> None:
    out = batched(write(tmp_path / "in", named(collection(3, 60))), tmp_path / "out")
    batch = Batch.of(str(out))
    loaded(out, tmp_path / "whole.neardup")
    whole = state(tmp_path / "whole.neardup")
    # A portion of each of three files, what stands between, and the last of all.
    for left in range(5):
        path = tmp_path / f"{left}.neardup"
        with open_store(path, create=store_info("landmarks", FORM.made)) as store:
            stopping = Stopping(store)
            stopping.left = left
            with pytest.raises(KeyboardInterrupt):
                load(batch, stopping)
        with open_store(path, read_only=True) as store:
            if left < 4:
                with pytest.raises(StoreError, match="was not finished"):
                    require_remembered(store)
        loaded(out, path)
        assert state(path) == whole


def test_after_loading_clustering_notes_relations_at_most(tmp_path: Path) -> None:
    texts = {f"f{place:02}": text for place, text in enumerate(forms(12))}
    # One with more misread words than its copy goes, whatever comes first: by sketches alone the copy would go.
    texts = {"a-misread": texts["f05"].replace("zahl", "zahI").replace("Rechnung", "Rcchnung")} | texts
    given, store = tmp_path / "in", tmp_path / "s.neardup"
    given.mkdir()
    for name, text in texts.items():
        (given / f"{name}.txt").write_text(text)
    loaded(batched(given, tmp_path / "out"), store)
    before = state(store)
    with open_store(store) as opened_store:
        cluster_store(opened_store, default_rule(opened_store), threads=1)
    after = state(store)

    def without_relation(held: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in held["cluster"].items() if name not in ("relation", "evidence")}

    assert {ref: without_relation(held) for ref, held in after["annotations"].items()} == {
        ref: without_relation(held) for ref, held in before["annotations"].items()
    }
    ids = [[one.id for one in held["clusters"]] for held in (before, after)]
    assert ids[0] == ids[1]
