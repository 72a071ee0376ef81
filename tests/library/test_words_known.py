"""The relation of two documents is the same in every command, by the words that the store keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import indexer
from indexer.clustering.relation_notes import NotedRelations, RepeatingDocument
from indexer.errors import StoreError
from indexer.matching.relating import LEXICON, read_lexicon
from tests.cli.written import changed, prose
from tests.words_known import LEFT, RIGHT, said, write


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    with indexer.open("all.neardup") as collection:
        collection.index(".")
    return "all.neardup"


def test_every_command_says_the_same(store: str) -> None:
    with indexer.open(store) as collection:
        assert collection.cluster().relations == {"reworded": 3, "noise": 1}
    assert set(said(store).values()) == {"noise"}


def test_where_no_words_are_kept_a_doubtful_one_is_a_fact(store: str) -> None:
    with indexer.open(store) as collection:
        collection.cluster(relation=False)
        assert read_lexicon(collection.store) is None
    found = said(store)
    # It counts the words of all clusters itself.
    assert (found.pop("cluster"), found.pop("prune")) == ("", "noise")
    assert set(found.values()) == {"reworded"}


def test_what_arrives_goes_by_the_words_that_are_kept(store: str, tmp_path: Path) -> None:
    with indexer.open(store) as collection:
        collection.cluster()
        (tmp_path / "third.txt").write_text(prose(20) + " and there it has a nice boat")
        (tmp_path / "fourth.txt").write_text(prose(20) + " and there it has a nice bcat")
        collection.index(["third.txt", "fourth.txt"], cluster=True)
    assert set(said(store, "third.txt", "fourth.txt").values()) == {"noise"}


def test_a_collection_of_twice_the_size_counts_its_words_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    with indexer.open("all.neardup") as collection:
        collection.index([LEFT, RIGHT])
        assert collection.cluster().relations == {"reworded": 1}
        collection.index(["known-1.txt", "known-1-more.txt"])
        assert collection.cluster().relations == {"reworded": 2}
    assert set(said("all.neardup").values()) == {"reworded"}
    with indexer.open("all.neardup") as collection:
        collection.index(["known-2.txt", "known-2-more.txt"])
        for expected in ({"dry_run": True}, {}, {}):
            assert collection.cluster(**expected).relations == {"reworded": 2, "noise": 1}
    assert set(said("all.neardup").values()) == {"noise"}


def test_relations_are_told_by_all_words_in_whatever_order_documents_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More documents than are read at once, of which the first misread words that the last ones have."""
    monkeypatch.chdir(tmp_path)
    words = [f"{first}{middle}atoni" for first in "bdfgklmnprst" for middle in "aeiou"]
    pages: list[dict[str, str]] = []
    for number in range(1500):
        word = words[number % len(words)] if not 60 <= number < 1380 else "nothing"
        text = f"{prose(number, 40)} it has a nice {word} there {prose(5000 + number, 40)}"
        misread = number < len(words)
        pages += [
            {"id": f"{number}-a", "text": text},
            {"id": f"{number}-b", "text": text.replace("atoni", "atcni") if misread else changed(text)},
        ]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    with indexer.open("all.neardup") as collection:
        collection.index("all.jsonl")
        made = collection.cluster()
        pairs = {frozenset((pair.left, pair.right)): pair.relation for pair in collection.pairs(relation=True)}
        noted = {
            frozenset((ref.id, known["cluster"]["repeats"])): known["cluster"]["relation"]
            for ref, known in collection.store.scan_annotations()
            if known["cluster"].get("repeats")
        }
        counted = sum(cluster.redundant for cluster in collection.store.clusters())
    assert noted == pairs
    assert made.relations == {"reworded": 1440, "noise": 60}
    assert counted == 60


def test_what_asks_for_no_word_does_not_depend_on_those_of_others(store: str, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text(prose(30))
    (tmp_path / "other-more.txt").write_text(prose(30) + " all of it is so")
    with indexer.open(store) as collection:
        collection.index(["other.txt", "other-more.txt"])
        records = {Path(record.source).name: record for record in collection.store.scan(sketches=False)}
        relations = NotedRelations(collection.store, read=True)
        known = [(f"{name}.txt", f"{name}-more.txt") for name in ("other", "known-0", "known-1")]
        for one, other in ((LEFT, RIGHT), *known):
            relations.words([RepeatingDocument(0, records[one], {}, {}, records[other], {})])
        learned = relations.learned(lambda count: ())
        assert learned is not None
        assert relations.depending(learned) == [records[LEFT].ref]


@pytest.mark.parametrize("others", [9, 10, 70])
@pytest.mark.parametrize("arriving", [False, True])
def test_what_stands_around_lone_documents_is_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int, arriving: bool
) -> None:
    """Ten are enough. A menu around a copy then says nothing more, nor does the name of the site in its title."""
    monkeypatch.chdir(tmp_path)

    def page(seed: int, site: str, menu: str) -> str:
        text = prose(seed, 120).capitalize()
        return f"<title>Report {seed}{site}</title><body>{menu}<p>{text}.</p></body>"

    menu = "<p>Maps and books</p><p>Opening hours</p>"
    pages = {str(seed): page(seed, " | The County Library", menu) for seed in range(others)}
    pages |= {"framed": page(90, " | The County Library", menu), "plain": page(90, "", "")}
    (tmp_path / "all.jsonl").write_text("".join(json.dumps({"id": name, "html": pages[name]}) + "\n" for name in pages))
    with indexer.open("all.neardup") as collection:
        collection.index("all.jsonl", cluster=arriving)
        found = collection.cluster(dry_run=True) if arriving else collection.cluster()
        assert found.relations == ({"edited": 1} if others < 10 else {"reflowed": 1})
        assert collection.cluster().written.documents == 0


@pytest.mark.parametrize("stubs", [False, True])
def test_documents_that_no_clustering_has_seen_make_no_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubs: bool
) -> None:
    """They may be copies of one document, and stubs are never compared."""
    monkeypatch.chdir(tmp_path)
    last = "\n\nAll prices without tax"
    texts = [f"{prose(50, 4 if stubs else 120)} {prose(number, 2)}{last}" for number in range(12)]
    pair = [f"{prose(90, 120)}.{end}" for end in (last, "")]
    for name, some in (("before", texts), ("pair", pair)):
        rows = [json.dumps({"id": f"{name}-{place}", "text": text}) for place, text in enumerate(some)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    with indexer.open("all.neardup") as collection:
        collection.index("before.jsonl")
        collection.index("pair.jsonl", cluster=True)
        place = collection.get("pair-1").cluster
        assert place
        assert place.relation == "edited"


def test_a_second_clustering_writes_nothing_if_the_first_knew_the_frame_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies with a menu repeat a plain text, and one another, before the menu is known as frame."""
    monkeypatch.chdir(tmp_path)
    menu = "Maps and books\n\nOpening hours\n\n"
    texts = {f"lone-{number}": f"{menu}{prose(number, 120)}." for number in range(40)}
    story = f"{prose(90, 120)}."
    quoted = (story, story.replace(" ", ' "', 1).replace(" ", '" ', 2), f'"{story}"')
    texts |= {"plain": story} | {f"framed-{number}": menu + text for number, text in enumerate(quoted)}
    rows = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    (tmp_path / "all.jsonl").write_text("\n".join(rows))
    with indexer.open("all.neardup") as collection:
        collection.index("all.jsonl")
        assert collection.cluster().relations == {"reflowed": 3}
        assert collection.cluster().written.documents == 0


def test_damaged_words_are_named_and_made_anew(store: str) -> None:
    with indexer.open(store) as collection:
        collection.cluster()
        data = collection.store.get_resource(LEXICON)
        assert data is not None
        collection.store.put_resource(LEXICON, data[:-5])
        with pytest.raises(StoreError, match=r"damaged.*neardup cluster makes them anew"):
            collection.compare(LEFT, RIGHT)
        collection.cluster()
        assert collection.store.get_resource(LEXICON) == data
