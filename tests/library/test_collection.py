"""A collection as a program uses it: filled, asked, clustered, pruned, and reported on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.errors import NoStoreError, NotFoundError, StoreError, UsageError
from indexer.library.options import RemovalRequest
from indexer.relations.alignment import MOST_WORDS
from tests.cli.written import changed, prose


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[indexer.Collection]:
    with indexer.open(tmp_path / "collection.neardup") as opened:
        yield opened


def test_a_text_is_put_in_and_found(collection: indexer.Collection) -> None:
    assert collection.add("tea", prose(1), title="Tea", source="https://example.org/tea", year=2024) == "indexed"
    assert collection.add("tea", prose(1), title="Tea", source="https://example.org/tea", year=2024) == "unchanged"
    assert collection.add("tea", prose(1), title="Green tea", year=2024) == "replaced"
    stored = collection["tea"]
    assert (stored.title, stored.metadata, stored.format) == ("Green tea", {"year": 2024}, "text")
    assert stored.tokens == len(prose(1).split())
    [match] = collection.similar(changed(prose(1)))
    assert match.id == "tea"
    assert 0.6 <= match.similarity < 1
    assert match.label == "near"
    assert collection.similar(prose(1))[0].label == "identical"
    assert not collection.similar(prose(2))


def test_a_collection_is_kept(tmp_path: Path) -> None:
    with indexer.open(tmp_path / "kept.neardup") as first:
        first.add("a", prose(1))
    with indexer.open(tmp_path / "kept.neardup", read_only=True) as again:
        assert [document.id for document in again] == ["a"]
        assert "a" in again
        assert len(again) == 1
        with pytest.raises(StoreError, match="read-only"):
            again.add("b", prose(2))
    assert repr(again).endswith("closed")


def test_to_read_a_store_that_is_not_there_makes_none(tmp_path: Path) -> None:
    with pytest.raises(NoStoreError):
        indexer.open(tmp_path / "none.neardup", read_only=True)
    assert not list(tmp_path.iterdir())


def test_ids_and_texts_are_what_they_should_be(collection: indexer.Collection) -> None:
    for wrong in ("", 7, None):
        with pytest.raises(UsageError, match="an id, which is"):
            collection.add(wrong, prose(1))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a text"):
        collection.add("a", None)  # type: ignore[arg-type]
    assert len(collection) == 0
    assert "a" not in collection
    assert collection.get("a") is None
    with pytest.raises(KeyError):
        collection["a"]
    asks: list[Callable[[Any], object]] = [
        collection.get, collection.delete, lambda given: collection[given], lambda given: collection.similar(id=given),
        lambda given: list(collection.similar_each([given], by="ids")), lambda given: collection.delete_copies([given]),
    ]  # fmt: skip
    for ask in asks:
        for given in (7, b"a", ["a", 7]):
            with pytest.raises(UsageError, match=r"an id is a string, not (int|bytes|list)"):
                ask(given)


def test_a_rule_for_canonical_documents_that_is_none_is_not_remembered(collection: indexer.Collection) -> None:
    collection.add_many([("a", prose(1)), ("b", prose(1))])
    for wrong in (["longest"], 7, "latest"):
        with pytest.raises(UsageError, match="canonical"):
            collection.cluster(canonical=wrong)  # type: ignore[arg-type]
    assert collection.cluster(canonical="longest").clusters == 1
    found = collection.cluster()
    assert found.clusters == 1
    # What a reader sees has the name, what a program takes the rule itself.
    assert "\n  rule       default\n" in repr(found)
    assert found.rule == "simhash-doc@3bits/minhash@0.6+minhash@0.6"


def test_the_same_text_is_the_same_document_by_every_way(collection: indexer.Collection, tmp_path: Path) -> None:
    collection.add("a", prose(1))
    (tmp_path / "lines.jsonl").write_text(json.dumps({"id": "b", "text": prose(1)}) + "\n", "utf-8")
    assert collection.index(tmp_path / "lines.jsonl", jobs=1).indexed == 1
    one, other = collection.store.get(collection._refs(["a", "b"]))
    assert one is not None
    assert other is not None
    assert (one.fingerprint, one.sketches, one.text_digest, one.source_digest, one.title, one.extractor) == (
        (other.fingerprint, other.sketches, other.text_digest, other.source_digest, other.title, other.extractor)
    )


def test_files_are_read_and_asked_about(collection: indexer.Collection, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.html").write_text(f"<title>A</title><p>{prose(1)}</p>", "utf-8")
    (docs / "b.txt").write_text(changed(prose(1)), "utf-8")
    (docs / "c.xml").write_text("<a>", "utf-8")
    calls: list[tuple[int, int | None]] = []
    found = collection.index(docs, jobs=1, progress=lambda done, total: calls.append((done, total)))
    assert (found.indexed, found.failed, found.done) == (2, {"malformed": 1}, 3)
    assert calls[0] == (0, 3)
    assert calls[-1] == (3, 3)
    [failed] = collection.failures()
    assert (failed.id, failed.reason) == ("docs/c.xml", "malformed")
    assert [match.id for match in collection.similar(path=docs / "a.html")] == ["docs/b.txt"]
    assert [match.id for match in collection.similar(docs / "b.txt")] == ["docs/a.html"]
    assert [match.id for match in collection.similar(id="docs/b.txt")] == ["docs/a.html"]
    with pytest.raises(NotFoundError, match="no such file"):
        collection.similar(path=tmp_path / "none.txt")
    with pytest.raises(NotFoundError, match="no document"):
        collection.similar(id="none")
    with pytest.raises(NotFoundError):
        collection.index(tmp_path / "none")
    for wrong in ({}, {"text": "a", "id": "b"}, {"id": "b", "path": "c"}):
        with pytest.raises(UsageError, match="one thing"):
            collection.similar(**wrong)  # type: ignore[arg-type]


def test_index_takes_what_the_command_takes(collection: indexer.Collection, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / ".hidden.txt").write_text("three short words", "utf-8")
    (docs / "page.html").write_text(f"<title>A page</title><p>{prose(1)}</p>", "utf-8")
    (tmp_path / "list").write_text(f"{docs}\n", "utf-8")
    done = collection.index(paths_from=tmp_path / "list", hidden=True, min_tokens=3, jobs=1)
    assert (done.indexed, done.short) == (2, 0)
    arrived: list[str] = []
    (docs / "copy.txt").write_text(prose(1), "utf-8")
    (docs / "other.txt").write_text(prose(2), "utf-8")
    (docs / "neardup-refused-1.jsonl").write_text(json.dumps({"id": "r", "text": prose(3)}) + "\n", "utf-8")
    done = collection.index(
        docs, id_from="name", exclude=["page.html"], cluster=True, match="minhash@0.5", on_new=arrived.append, jobs=1
    )
    assert (done.new, done.near, arrived) == (1, 1, ["other.txt"])
    assert [each.size for each in collection.clusters()] == [2]
    with pytest.raises(UsageError, match="at least one file"):
        collection.index()


def test_fields_hold_html_if_the_format_says_so(collection: indexer.Collection, tmp_path: Path) -> None:
    page = f"<p>{prose(1)}</p><script>gone()</script>"
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "a", "body": page}) + "\n", "utf-8")
    collection.index(tmp_path / "rows.jsonl", format="html", fields={"text": "body"}, jobs=1)
    assert (collection["a"].format, collection["a"].tokens) == ("html", len(prose(1).split()))


@pytest.mark.parametrize("jobs", [-1, 10**20])
def test_values_that_cannot_be_are_refused(collection: indexer.Collection, jobs: int, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words")
    with pytest.raises(UsageError, match=f"jobs={jobs}: a whole number from 1 to"):
        collection.index(tmp_path / "a.txt", jobs=jobs)
    for content in ("nonsense", 10**20, "\ud800"):
        with pytest.raises(UsageError, match=r"content=.*landmarks, full, main"):
            indexer.open(tmp_path / "new.neardup", content=content)  # type: ignore[arg-type]
    assert not (tmp_path / "new.neardup").exists()


def test_pairs_clusters_and_prune(collection: indexer.Collection) -> None:
    collection.add_many([("a", prose(1)), ("b", prose(1)), ("c", changed(prose(1))), ("d", prose(2))])
    pairs = collection.pairs()
    assert [(pair.left, pair.right) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert set(collection.iter_pairs()) == set(pairs)
    assert len(collection.pairs(collapse=True)) == 2
    assert len(collection.pairs(match="minhash@1")) == 1
    dry = collection.cluster(dry_run=True)
    assert not collection.clusters()
    done = collection.cluster(canonical="longest")
    assert (done.clusters, done.clustered, done.largest) == (dry.clusters, dry.clustered, dry.largest) == (1, 3, 3)
    [cluster] = collection.clusters()
    assert (cluster.size, cluster.members[0], set(cluster.members)) == (3, cluster.canonical, {"a", "b", "c"})
    surplus = collection.prune(dry_run=True).surplus
    assert {each.id for each in surplus} == {"a", "b", "c"} - {cluster.canonical}
    assert {each.id for each in surplus if each.identical} < {"a", "b"}
    # The texts came from a program, and can't be read again; of two equal ones one goes.
    with pytest.warns(UserWarning, match="nothing near is removed but what is identical"):
        assert collection.prune().marked == 1
    assert collection.prune(RemovalRequest(verify="sketch")).marked == 2
    assert collection[surplus[0].id].duplicate_of == cluster.canonical
    assert collection[cluster.canonical].duplicate_of == ""
    assert collection.prune(RemovalRequest(verify="sketch"), delete=True).deleted == 2
    assert {document.id for document in collection} == {cluster.canonical, "d"}


def test_a_change_of_how_clusters_are_made_is_said(collection: indexer.Collection) -> None:
    collection.add_many([("a", prose(1)), ("b", changed(prose(1))), ("c", prose(2))])
    assert collection.cluster().changed == ""
    changes = {
        "the rule was default and is minhash@0.8 now": {"match": "minhash@0.8"},
        "the rule was minhash@0.8 and is default now": {"match": "default"},
        "the bound was that of the rule and is 0.3 now": {"bound": 0.3},
        "the canonical rule was earliest and is longest now": {"canonical": "longest"},
    }
    for said, asked in changes.items():
        for more in ({"dry_run": True}, {}):
            with pytest.warns(UserWarning, match=said) as warned:
                done = collection.cluster(**asked, **more)  # type: ignore[arg-type]
            assert warned[0].filename == __file__
            assert done.changed == said
        # What is as it was is not said, by name or without.
        assert collection.cluster(**asked).changed == collection.cluster().changed == ""  # type: ignore[arg-type]


def test_the_canonical_document_by_a_field(tmp_path: Path) -> None:
    said: list[str] = []

    def tell(text: str, **_: object) -> None:
        said.append(text)

    dates = {"a": "2026-03-01T08:00:00+02:00", "b": 1767225600000, "c": "2026-03-01T07:00:00Z", "d": "last spring"}
    with indexer.open(tmp_path / "dated.neardup", tell=tell) as dated:
        for name, date in dates.items():
            dated.add(name, prose(1), published=date, page={"rank": len(name)})

        def canonical(**asked: str) -> str:
            dated.cluster(**asked)  # type: ignore[arg-type]
            return dated.clusters()[0].canonical

        assert canonical() == "a"
        assert canonical(time_field="published") == "b"
        assert "of 4 documents in clusters 1 without published, which come last" in said
        # It is remembered, as the rule is.
        assert canonical() == canonical(canonical="longest") == "b"
        dated.delete(["b"])
        assert canonical() == "a"
        assert canonical(time_field="", canonical="field:published:desc") == "c"
        assert canonical(canonical="field:page.rank") == "a"
        before = list(dated.store.clusters())
        for asked, lacking in (
            ({"canonical": "field:nosuch"}, "of 3 documents none has 'nosuch'"),
            ({"canonical": "earliest", "time_field": "page.rank.x"}, "none has 'page.rank.x' with a date"),
        ):
            with pytest.raises(UsageError, match=lacking):
                dated.cluster(**asked)  # type: ignore[arg-type]
        assert list(dated.store.clusters()) == before


def test_documents_that_are_put_into_no_cluster_are_spoken_of(collection: indexer.Collection) -> None:
    collection.add_many([("a", prose(1)), ("b", prose(1))])
    collection.cluster()
    [note] = collection.store.clustering_notes().values()
    collection.store.put_clustering_note(replace(note, finished=False))
    with pytest.warns(UserWarning, match="its own: the last clustering was not finished") as warned:
        collection.add_many([("c", prose(1))], cluster=True)
    assert warned[0].filename == __file__
    assert [cluster.size for cluster in collection.clusters()] == [2]


def test_what_is_asked_wrongly_is_said_with_what_can_be_asked(collection: indexer.Collection) -> None:
    for call, says in (
        (
            lambda: collection.similar("text", similarity=0.8),
            "'similarity'; its arguments are text, path",
        ),
        (lambda: collection.similar(5), "5 is neither a text nor a path"),
        (lambda: collection.pairs(match="foo"), "'foo'.*no scheme has this name"),
        (lambda: collection.distinct(["a"]), r"hits: hit 1 must be a pair \(id, text\) or a dict"),
        (lambda: collection.distinct([{"id": "a"}, {"html": "b"}]), "hits: hit 2"),
        (lambda: collection.distinct([(None, None)]), "hits: hit 1"),
    ):
        with pytest.raises(UsageError, match=says):
            call()
    hits = [{"id": "gone"}, {"text": "A tea."}, {"id": "c", "text": "A tea."}]
    assert [(each.position, each.id, len(each.copies)) for each in collection.distinct(hits)] == [
        (0, "gone", 0),
        (1, None, 1),
    ]


def test_a_rule_is_refused_as_on_the_command_line(collection: indexer.Collection) -> None:
    for call in (collection.pairs, collection.cluster):
        with pytest.raises(UsageError, match="nonsense"):
            call(match="nonsense")
    with pytest.raises(UsageError, match="bound"):
        collection.cluster(bound=7)


def test_reports_say_the_same_in_every_form(collection: indexer.Collection, tmp_path: Path) -> None:
    collection.add_many([("a", prose(1)), ("b", changed(prose(1))), ("c", prose(2))])
    with pytest.raises(UsageError):
        collection.report()
    collection.cluster()
    report = collection.report()
    assert (report.documents, report.repeating, report.could_go) == (3, 1, 0)
    assert report.to_dict()["undecided"]["documents"] == 1
    for name, start in (("r.html", "<!doctype html>"), ("r.json", "{"), ("r.csv", "section,"), ("r.md", "# Near")):
        report.save(tmp_path / name)
        assert (tmp_path / name).read_text("utf-8").lower().startswith(start.lower())
    with pytest.raises(UsageError, match="can't be written"):
        report.save(tmp_path)
    assert "1 (33.3%)" in repr(report)
    assert "<td>1 (33.3%)</td>" in report._repr_html_()


def test_what_comes_is_compared_with_what_is_there(collection: indexer.Collection) -> None:
    collection.add_many([("a", prose(1)), ("b", prose(2))], cluster=True)
    found = collection.add_many([("c", changed(prose(1))), ("d", prose(3))], skip_duplicates="sketch")
    assert (found.indexed, found.duplicates, found.new, found.near) == (1, 1, 1, 0)
    assert "c" not in collection
    [left_out] = collection.failures()
    assert (left_out.id, left_out.reason) == ("c", "duplicate")
    assert "a" in left_out.detail
    assert collection.add_many([("e", changed(prose(2)))], cluster=True).near == 1
    assert [set(each.members) for each in collection.clusters()] == [{"b", "e"}]


def test_documents_are_deleted(collection: indexer.Collection) -> None:
    collection.add_many((str(number), prose(number)) for number in range(5))
    assert collection.delete("0").deleted == 1
    assert collection.delete(["1", "2", "none"]).deleted == 2
    assert sorted(document.id for document in collection) == ["3", "4"]
    assert not collection.similar(prose(0))


def test_schemes_of_a_new_and_of_another_store(tmp_path: Path) -> None:
    with indexer.open(tmp_path / "a.neardup", schemes=["minhash:values=256", "supershingles"]) as first:
        first.add("a", prose(1))
        assert sorted(each.name for each in first.store.info.schemes) == ["minhash", "supershingles"]
        assert first.similar(prose(1), match="supershingles@0.9")
    with indexer.open(tmp_path / "b.neardup", schemes=[]) as lean:
        lean.add("a", prose(1))
        assert not lean.store.info.schemes
        assert lean.similar(prose(1))[0].bits == 0
    with indexer.open(tmp_path / "b.neardup", schemes=["minhash"]) as more:
        more.add("b", prose(2))
        assert [each.name for each in more.store.info.schemes] == ["minhash"]
    with pytest.raises(UsageError, match="content"):
        indexer.open(tmp_path / "a.neardup", content="full")
    with indexer.open(tmp_path / "a.neardup", wait=0.1), pytest.raises(UsageError, match="filter"):
        indexer.open(tmp_path / "a.neardup", filter="a:b")


def test_documents_may_come_from_the_collection_itself(collection: indexer.Collection) -> None:
    collection.add_many((str(number), prose(number)) for number in range(3))
    more = ((f"again-{each.id}", prose(int(each.id))) for each in collection)
    assert collection.add_many(more).indexed == 3


def test_an_interrupted_run_has_kept_what_was_done(collection: indexer.Collection) -> None:
    def given() -> Iterator[tuple[str, str]]:
        yield from ((str(number), prose(number)) for number in range(1000))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collection.add_many(given())
    kept = len(collection)
    assert kept >= 64
    found = collection.add_many((str(number), prose(number)) for number in range(1000))
    assert (found.unchanged, found.indexed) == (kept, 1000 - kept)


def test_fields_have_the_names_that_they_have(collection: indexer.Collection, tmp_path: Path) -> None:
    rows = [{"key": 7, "page": {"body": prose(1)}, "headline": "One", "url": "https://example.org/1", "year": 2024}]
    named = {"id": "key", "text": "page.body", "title": "headline"}
    assert collection.add_many(rows, fields=named).indexed == 1
    stored = collection["7"]
    assert (stored.title, stored.source, stored.metadata) == ("One", "https://example.org/1", {"year": 2024})
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0] | {"key": 8}) + "\n", "utf-8")
    assert collection.index(tmp_path / "rows.jsonl", fields=named, jobs=1).indexed == 1
    assert collection["8"].metadata == {"year": 2024}
    for wrong in ({"body": "text"}, {"text": "a", "html": "b"}):
        with pytest.raises(UsageError, match="fields"):
            collection.add_many(rows, fields=wrong)
    assert collection.add_many([{"p": f"<p>{prose(3)}", "id": "h"}], fields={"html": "p"}).indexed == 1
    assert collection["h"].format == "html"


def test_a_text_is_erased_with_its_copies(collection: indexer.Collection) -> None:
    collection.add_many([("a", prose(1)), ("b", prose(1).upper()), ("c", changed(prose(1))), ("d", prose(2))])
    listed = collection.delete_copies("a", dry_run=True)
    assert [(one.id, one.copy_of, one.identical, one.outcome) for one in listed.documents] == [
        ("a", "a", True, "listed"),
        ("b", "a", True, "listed"),
    ]
    assert len(collection) == 4
    # No text of it can be read again.
    told = collection.delete_copies(["a"], match="minhash@0.6", dry_run=True)
    assert [one.id for one in told.documents] == ["a", "b"]
    assert told.stays == {"not verified": 1}
    near = collection.delete_copies(["a"], match="minhash@0.6", verify="sketch", dry_run=True).documents
    assert [one.id for one in near] == ["a", "b", "c"]
    assert 0.6 <= near[2].similarity < 1
    assert collection.delete_copies("none").deleted == 0
    done = collection.delete_copies("a")
    assert (done.deleted, done.stripped, done.changed, done.not_compared, done.failures) == (2, 0, 0, 0, 0)
    assert [document.id for document in collection] == ["c", "d"]


def test_a_text_too_long_to_be_aligned_is_not_left_out_for_one_that_differs(tmp_path: Path) -> None:
    """As prune keeps it: nobody knows what it has that the other one lacks."""
    text = " ".join(f"w{number}" for number in range(MOST_WORDS + 1))
    for name, own in (("a", text), ("b", f"{text} more")):
        (tmp_path / f"{name}.txt").write_text(own)
    with indexer.open(tmp_path / "long.db") as long:
        done = long.index([tmp_path / "a.txt", tmp_path / "b.txt"], skip_duplicates=True)
    assert (done.indexed, done.duplicates) == (2, 0)


def test_of_documents_with_equal_sketches_several_are_tried_before_one_is_left_out(tmp_path: Path) -> None:
    """In one run as in several: the second message says something else than the first, and the third what it says."""
    messages = [("a", "I love this house 😀"), ("b", "I love this house 😡"), ("c", "I LOVE THIS HOUSE 😡")]
    for name, runs in (("once", [messages]), ("each", [[message] for message in messages])):
        with indexer.open(tmp_path / f"{name}.neardup", kind="short") as short:
            done = [short.add_many(run, skip_duplicates=True) for run in runs]
            assert [document.id for document in short] == ["a", "b"]
            assert sum(each.duplicates for each in done) == 1


def test_files_that_were_left_out_are_remembered(tmp_path: Path) -> None:
    for name in ("a.txt", "one.png", "two.png", "style.css"):
        (tmp_path / name).write_text(prose(1), "utf-8")
    with indexer.open(tmp_path / "c.neardup") as collection:
        assert collection.index(tmp_path).left_out == 3
        assert dict(collection.stats().passed_over) == {".png": 2, ".css": 1}
