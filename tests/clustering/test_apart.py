"""Forms are kept apart, each with its copies; what is said of them stays the same however documents come."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import indexer
from indexer.clustering import verdicts
from indexer.clustering.choosing import Choice
from indexer.clustering.decision_acts import keep_decisions
from indexer.clustering.forms_kept_apart import FormsApart, GroupedDocuments
from indexer.clustering.held_decisions import HeldDecisions
from indexer.clustering.relation_notes import NotedRelations
from indexer.errors import UsageError
from indexer.library.options import RemovalRequest
from indexer.model import Ref
from indexer.model.decisions import DecidedDocument, Decision
from tests.cli.written import prose
from tests.forms_apart import PAGES, TOGETHER, invoice
from tests.relations import filled


def _lines(file: Path, names: list[str]) -> Path:
    file.write_text("".join(json.dumps({"id": name, "text": PAGES[name]}) + "\n" for name in names))
    return file


def _partition(collection: indexer.Collection) -> set[frozenset[str]]:
    return {frozenset(cluster.members) for cluster in collection.clusters(least=1)}


@pytest.fixture
def collection(tmp_path: Path) -> indexer.Collection:
    made = indexer.open(tmp_path / "all.neardup")
    made.index(_lines(tmp_path / "all.jsonl", list(PAGES)))
    return made


def test_each_form_is_in_a_cluster_of_its_own_with_its_copies(collection: indexer.Collection) -> None:
    with collection:
        assert collection.cluster().clusters == 2
        with pytest.warns(UserWarning, match="relation kept apart was none and is form now"):
            made = collection.cluster(apart="form")
        assert _partition(collection) == TOGETHER
        assert made.relations == {"identical": 4, "edited": 3, "reworded": 1}
        assert (made.apart, made.clusters) == (9, sum(len(names) > 1 for names in TOGETHER))
        # It is remembered, and what is there is found again.
        again = collection.cluster()
        assert (again.apart, again.changed, again.written.documents, again.written.clusters) == (9, "", 0, 0)
        going = {each.id: each.repeats for each in collection.surplus(RemovalRequest())}
        assert going == {name: name.split("-")[0] for name in PAGES if "-" in name}
        with pytest.warns(UserWarning, match="relation kept apart was form and is none now"):
            assert collection.cluster(apart="none").clusters == 2


def test_each_record_is_read_once_for_its_rank_its_text_and_its_cluster(
    collection: indexer.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collection:
        collection.cluster(apart="form")
        described, read = collection.store.described, Counter[str]()

        def counted(refs: Sequence[Ref]) -> Any:
            read.update(ref.id for ref in refs)
            return described(refs)

        monkeypatch.setattr(collection.store, "described", counted)
        collection.cluster()
    assert read == dict.fromkeys(PAGES, 1)


@pytest.mark.parametrize("seed", range(4))
def test_clusters_are_the_same_however_documents_come(tmp_path: Path, seed: int) -> None:
    names = list(PAGES)
    random.Random(seed).shuffle(names)
    with indexer.open(tmp_path / "all.neardup") as collection:
        collection.index(_lines(tmp_path / "first.jsonl", names[:4]))
        collection.cluster(apart="form")
        for start in range(4, len(names), 3):
            file = _lines(tmp_path / f"{start}.jsonl", names[start : start + 3])
            collection.index(file, cluster=True)
        assert _partition(collection) == TOGETHER
        again = collection.cluster()
        assert _partition(collection) == TOGETHER
        assert again.apart == 9


def test_a_form_that_a_document_of_an_earlier_cut_repeats_stays_in_its_own_group(tmp_path: Path) -> None:
    names = {"a": "1", "b": "2", "c": "3", "d": "2-copy"}
    lines = [json.dumps({"id": name, "text": invoice(int(of[0]))}) + "\n" for name, of in names.items()]
    (tmp_path / "all.jsonl").write_text("".join(lines))
    with indexer.open(tmp_path / "all.neardup") as collection:
        collection.index(tmp_path / "all.jsonl")
        store, refs = collection.store, [Ref(name) for name in names]
        apart = FormsApart(NotedRelations(store, read=True), HeldDecisions(store), 0.5)
        # The same number of a group in both, and d says what b says.
        for places in ([0, 1], [2, 3]):
            some = np.array(places)
            choice = Choice(np.array(places[:1] * 2), np.ones(2))
            grouped = GroupedDocuments(
                some, np.arange(2), choice, lambda wanted: store.described([refs[place] for place in wanted]),
                lambda left, _: np.zeros(left.size),
            )  # fmt: skip
            assert [group.tolist() for group in apart.cut([some], grouped)] == [[place] for place in places]


def test_a_chain_of_forms_of_which_one_touches_what_comes_is_put_right_by_the_next_clustering(tmp_path: Path) -> None:
    frame, more = prose(1, 300).split(), prose(2, 300).split()

    def form(number: int) -> list[str]:
        return [str(1000 * number + place) if place % 60 == 10 else word for place, word in enumerate(frame)]

    longer = form(2)
    for place in (265, 240, 205, 180, 120, 90):
        longer[place:place] = more[place : place + 9]
    del longer[20:34]
    # The last one is near the second alone, and says its facts; neither holds the other.
    texts = {"1": form(1), "2": form(2), "2-longer": longer}
    lines = [json.dumps({"id": name, "text": " ".join(words)}) + "\n" for name, words in texts.items()]
    (tmp_path / "first.jsonl").write_text("".join(lines[:2]))
    (tmp_path / "coming.jsonl").write_text(lines[2])
    with indexer.open(tmp_path / "came.neardup") as collection:
        collection.index(tmp_path / "first.jsonl")
        collection.cluster(apart="form")
        collection.index(tmp_path / "coming.jsonl", cluster=True)
        near = {frozenset((pair.left, pair.right)) for pair in collection.pairs()}
        assert near == {frozenset(("1", "2")), frozenset(("2", "2-longer"))}
        # It is compared with the second, not with the first of all that are near by others.
        assert _partition(collection) == {frozenset(["1"]), frozenset(["2", "2-longer"])}
        collection.cluster()
        assert _partition(collection) == {frozenset([name]) for name in texts}
        assert collection.cluster().written.documents == 0


def test_no_made_form_is_with_another_one_and_copies_are_with_theirs(tmp_path: Path) -> None:
    draw, lines, own = random.Random(3), list[str](), dict[str, int]()
    for number, text in enumerate(filled.forms(300)):
        texts = [text] + [make(text, draw) for make in (filled.identical, filled.reflowed) if number % 3 == 0]
        for place, each in enumerate(texts):
            own[f"{number}-{place}"] = number
            lines.append(json.dumps({"id": f"{number}-{place}", "text": each}) + "\n")
    draw.shuffle(lines)
    (tmp_path / "all.jsonl").write_text("".join(lines))
    with indexer.open(tmp_path / "all.neardup") as collection:
        collection.index(tmp_path / "all.jsonl")
        assert collection.cluster().largest > 20
        with pytest.warns(UserWarning, match="kept apart"):
            collection.cluster(apart="form")
        clusters = [{own[name] for name in names} for names in _partition(collection)]
    # Chats that differ in no typed fact are reworded, and labels with other facts at the head and the foot renditions.
    assert sum(len(forms) > 1 for forms in clusters) <= 5
    # Of 100 forms with two copies each, few are in two clusters.
    assert len(clusters) <= 300 + 4


@pytest.mark.parametrize("at_once", [2000, 2])
def test_what_somebody_called_the_same_is_together(
    collection: indexer.Collection, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "_SETTLED_AT_ONCE", at_once)
    with collection:
        digests = {record.ref.id: record.seen_digest for record in collection.store.scan()}
        documents = tuple(DecidedDocument(name, digests[name], "keep") for name in ("1", "7"))
        keep_decisions(collection.store, [Decision(documents)])
        collection.cluster(apart="form")
        assert _partition(collection) == (TOGETHER - {frozenset("1"), frozenset("7")}) | {frozenset("17")}


def test_what_can_not_be_read_any_more_stays_where_it_is(collection: indexer.Collection, tmp_path: Path) -> None:
    with collection:
        (tmp_path / "all.jsonl").unlink()
        made = collection.cluster(apart="form")
        # What equals another one is known by its digest.
        assert (made.clusters, made.apart, dict(made.relations)) == (2, 0, {"unverified": 13, "identical": 4})


def test_facts_are_not_known_where_no_text_is_read(collection: indexer.Collection) -> None:
    with collection:
        with pytest.raises(UsageError, match="apart='parts': is form or none"):
            collection.cluster(apart="parts")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="texts have to be read to keep forms apart"):
            collection.cluster(apart="form", relation=False)
        assert not list(collection.clusters())
        # What another clustering left out is read for it.
        collection.cluster(relation=False)
        with pytest.warns(UserWarning, match="kept apart"):
            assert collection.cluster(apart="form").apart == 9


def test_what_comes_to_a_large_cluster_is_compared_too(tmp_path: Path) -> None:
    pages = [{"id": f"{number:04}", "text": invoice(0)} for number in range(1001)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    coming = [{"id": "form", "text": invoice(1)}, {"id": "copy", "text": invoice(0)}]
    (tmp_path / "coming.jsonl").write_text("".join(json.dumps(page) + "\n" for page in coming))
    with indexer.open(tmp_path / "all.neardup") as collection:
        collection.index(tmp_path / "all.jsonl")
        collection.cluster(apart="form")
        collection.index(tmp_path / "coming.jsonl", cluster=True)
        sizes = {len(names): names for names in _partition(collection)}
        assert (sizes.keys(), sizes[1]) == ({1, 1002}, {"form"})
