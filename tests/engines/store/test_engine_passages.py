"""Parts of long documents in an engine: as many keys as a text has, and the same answers as in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.clustering.clusters import cluster
from indexer.errors import StoreError, UsageError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Input
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.pairing import pairs_of
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import SIMHASH_DOC, Record, Ref
from indexer.model.copied import CopiedRow
from indexer.schemes import registry
from indexer.schemes.testing import document
from indexer.stores import Store
from tests.engines.annotated import annotate, fill, neardup
from tests.engines.servers import Server

# More keys than an engine takes terms in one clause.
LIBRARY = " ".join(document(seed, 20_000) for seed in range(70))
TEXTS = {
    "note": document(1000, 60),
    "article": document(1001, 500),
    "book": " ".join(document(seed, 1000) for seed in range(2000, 2050)),
    "library": LIBRARY,
    "chapter": document(2007, 1000),
    "volume": document(33, 20_000),
}
SCHEME = "passages"


def filled(path: str) -> Store:
    opened = open_store(path, create=store_info("landmarks"))
    items = [Input(name, f"https://example.org/{name}", "", text.encode()) for name, text in TEXTS.items()]
    summary = index(items, opened, Settings(schemes=[registry.scheme(SCHEME)]))
    assert (summary.indexed, summary.failures) == (len(TEXTS), 0)
    return opened


@pytest.fixture
def stores(server: Server, index_name: str, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    with filled(f"{server.url}/{index_name}") as engine, filled(str(tmp_path / "same.neardup")) as file:
        yield engine, file


def test_parts_of_any_length_are_found_as_in_a_file(stores: tuple[Store, Store]) -> None:
    rule = parse_rule("passages@0.5", stores[0])
    asked = {
        "a page of the library": " ".join(LIBRARY.split()[700_000:700_300]),
        "a chapter": TEXTS["chapter"],
        "the whole library": LIBRARY,
        "nothing of it": document(5000, 300),
    }
    wanted = {
        "a page of the library": {"library": "contains"},
        "a chapter": {"book": "contains", "chapter": "identical"},
        "the whole library": {"library": "identical", "volume": "contained in"},
        "nothing of it": {},
    }
    sketch = registry.scheme(SCHEME).sketch(LIBRARY)
    assert sketch is not None
    assert len(sketch.keys) > 65_536
    for name, text in asked.items():
        ours, theirs = (lookup(each, rule, Question(name, text), include_short=True) for each in stores)
        assert {match.record.ref.id: match.label for match in ours.matches} == wanted[name]
        assert [(m.record.ref.id, m.similarity, m.shares) for m in ours.matches] == [
            (m.record.ref.id, m.similarity, m.shares) for m in theirs.matches
        ]


def test_pairs_and_clusters_of_parts_are_those_of_a_file(stores: tuple[Store, Store]) -> None:
    rule = parse_rule("passages@0.5", stores[0])
    found = [{tuple(sorted((p.left.id, p.right.id))) for p in pairs_of(each, rule)} for each in stores]
    assert found == [{("book", "chapter"), ("library", "volume")}] * 2
    assert [cluster(each, rule).clusters for each in stores] == [2, 2]
    for each in stores:
        [(one, _)] = [(ref, said) for ref, said in each.scan_annotations() if ref.id == "volume"]
        assert one == Ref("volume", one.index)


def test_what_every_page_says_hides_nothing_and_is_answered_all_the_same(server: Server, index_name: str) -> None:
    schemes = [registry.scheme(SIMHASH_DOC), registry.scheme(SCHEME)]
    licence, chapter = document(3, 300), document(4, 300)

    def made(name: str, text: str, source: str = "https://many.example.org/") -> Record:
        sketches = {scheme.family: sketch for scheme in schemes if (sketch := scheme.sketch(text))}
        return Record(Ref(name), sketches, source=source + name)

    pages = [made(f"{number}", f"{document(number + 10, 40)} {licence}") for number in range(1100)]
    book = made("book", f"{document(5, 2000)} {chapter} {document(6, 2000)} {licence}", "https://few.example.org/")
    with open_store(f"{server.url}/{index_name}", create=store_info("landmarks", schemes[1:])) as store:
        assert not [result.reason for result in store.put([*pages, book]) if result.reason]
        rule = parse_rule("passages@0.5", store)

        def asked(text: str) -> tuple[int, bool, int, int]:
            answer = lookup(store, rule, Question("asked", text), limit=3, include_short=True)
            return answer.total, answer.matches[0].record.ref.id == "book", answer.candidates, answer.set_aside

        total, is_book, candidates, set_aside = asked(f"{chapter} {licence}")
        # Of the keys, the licence's are set aside; the rest lead to the book alone.
        assert (total, is_book) == (1, True)
        assert candidates < 10
        assert set_aside > 5
        # Nothing but common keys: all that hold them, as far as the bound goes.
        assert asked(licence)[0] == len(pages) + 1
        assert asked(licence)[3] > 5
        # Where a filter leaves few documents, nothing has to be set aside.
        store.narrow("neardup.origin:few.example.org")
        assert asked(licence) == (1, True, 1, 0)


@pytest.mark.parametrize("owned", [False, True])
def test_what_several_documents_say_is_what_a_file_says(
    server: Server, index_name: str, tmp_path: Path, *, owned: bool
) -> None:
    release, licence = document(1, 120), document(2, 60)
    texts = {f"page{number}.txt": f"{document(number + 10, 90)} {licence}" for number in range(5)}
    texts |= {"release.txt": release, "article.txt": f"{document(50, 80)} {release} {document(51, 70)} {licence}"}
    folder, url = tmp_path / "texts", f"{server.url}/{index_name}"
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
    if owned:
        fill(server, index_name, {name: {"body": text} for name, text in texts.items()})
        assert annotate(url, "--field", "body", "--scheme", SCHEME)["annotated"] == len(texts)
    passages, nearest = [], []
    for path in (tmp_path / "same.neardup", url):
        with indexer.open(path, schemes=[SCHEME]) as opened:
            if not owned or path != url:
                assert opened.index([folder]).indexed == len(texts)
            repeated = opened.passages(words=50)
            assert not repeated.unread
            passages.append([(each.text, each.words, each.documents) for each in repeated.passages])
            near = opened.similar(release, match="passages@40words", passages=True)
            nearest.append([(one.label, one.longest) for one in near])
    assert passages[0] == passages[1]
    assert nearest[0] == nearest[1] != []
    assert [documents for _, _, documents in passages[0][:2]] == [6, 2]


def test_what_dashboards_show_is_replaced_without_a_moment_of_none(server: Server, index_name: str) -> None:
    licence, release = document(2, 60), document(1, 120)
    texts = {f"page{number}": f"{document(number + 10, 90)} {licence}" for number in range(12)}
    texts |= {"release": release, "article": f"{document(50, 80)} {release} {licence}"}
    pages = {name: {"body": text, "url": f"https://{name[:4]}.example.org/{name}"} for name, text in texts.items()}
    fill(server, index_name, pages, {"properties": {"body": {"type": "text"}, "url": {"type": "keyword"}}})
    url, side = f"{server.url}/{index_name}", f"neardup-{index_name}-passages"
    annotate(url, "--field", "body", "--source-field", "url")

    def kept(kind: str = "") -> list[dict[str, Any]]:
        server.request("POST", f"/{side}/_refresh")
        query = {"term": {"kind": kind}} if kind else {"match_all": {}}
        hits = server.request("POST", f"/{side}/_search", {"query": query, "size": 100})["hits"]["hits"]
        return [hit["_source"] for hit in hits]

    with indexer.open(url) as opened:
        found = opened.passages(write=True)
        assert (
            found.written
            == len(found.passages) + len(found.partly_copied) + len(found.copied) + len(kept("origin"))
            == len(kept())
        )
        rows = {row["text"]: row for row in kept("passage")}
        assert sorted((each.text, each.documents, each.origins, each.boilerplate) for each in found.passages) == sorted(
            (text, row["documents"], row["origins"], row["boilerplate"]) for text, row in rows.items()
        )
        firsts = {each.text: {"id": each.first} for each in found.passages}
        assert {text: row["document"] for text, row in rows.items()} == firsts
        shares = {row["document"]["id"]: row["share"] for row in kept("document")}
        assert shares == {each.id: each.share for each in found.partly_copied}
        assert {text: len(row["neardup"]["origin"]) for text, row in rows.items()} == {
            each.text: each.origins for each in found.passages
        }
        # A source's words, and those of all sources.
        sums = {row["neardup"]["origin"][0]: row for row in kept("origin")}
        assert sums["rele.example.org"]["words"] == sums["rele.example.org"]["in_passages"] == len(release.split())
        for name in ("documents", "words", "in_passages"):
            assert sum(row[name] for row in sums.values()) == getattr(found, name)
        # A document goes that had a passage with one other; what all the others say stays.
        opened.delete("release")
        server.request("DELETE", f"/{index_name}/_doc/release?refresh=true")
        keep, seen = opened.store.keeper_of_copied(), []

        def watched() -> Iterator[CopiedRow]:
            for number in range(1100):
                if number % 500 == 499:
                    seen.append(len(kept()))
                yield CopiedRow("passage", f"{number}", None, {"text": f"{number}"})

        assert keep(watched()) == 1100
        assert min(seen) >= found.written
        assert server.request("POST", f"/{side}/_count")["count"] == 1100
        again = opened.passages(write=True)
        assert {row["text"] for row in kept("passage")} == {each.text for each in again.passages} != set(rows)
        assert len(kept()) == again.written
        opened.store.narrow("_id:article")
        with pytest.raises(UsageError, match="of the whole collection"):
            opened.passages(write=True)
    with indexer.open(url, read_only=True) as opened, pytest.raises(StoreError, match="read-only"):
        opened.passages(write=True)
    done = neardup("setup", "--store", url, "--remove", "--yes")
    assert "delete the index of passages" in done.stdout + done.stderr
    assert "error" in server.request("GET", f"/{side}")


def test_a_file_has_no_dashboards_to_write_for(tmp_path: Path) -> None:
    with indexer.open(tmp_path / "one.neardup") as opened, pytest.raises(UsageError, match="a file has no dashboards"):
        opened.passages(write=True)
