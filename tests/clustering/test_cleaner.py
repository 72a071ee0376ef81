"""Of texts that differ in misread words the cleanest stays, and nothing goes that it can't stand for."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pytest

import indexer
from indexer.clustering.clusters import cluster
from indexer.clustering.verdicts import Permitted, Relations
from indexer.library.options import RemovalRequest
from indexer.matching.relating import RelatedTexts
from indexer.matching.rule import default_rule
from indexer.relations.lexicon import Lexicon
from indexer.text.words import words_of
from tests.cli.written import html, prose

CLEAN = prose(1, 120)
LONG = list(dict.fromkeys(CLEAN.split()))[:12:3]


def misread(*words: str) -> str:
    """The clean text with words misread where they stand first."""
    text = CLEAN
    for word in words:
        text = text.replace(word, f"{word[:3]}{word[4]}{word[3]}{word[5:]}", 1)
    return text


def decided(
    texts: Mapping[str, str],
    of: Mapping[str, str],
    near: Callable[[str, str], bool] = lambda *_: True,
    staying: Collection[str] = (),
) -> tuple[dict[str, str], dict[str, str]]:
    """What goes, and for what; and why others stay, of texts of one cluster in two calls."""
    lexicon = Lexicon()
    for _ in range(2):
        lexicon.add([words_of(CLEAN).hashes])
    read = RelatedTexts[str](
        lambda names: ((name, texts[name]) for name in names), str, str, lambda name: texts[name].casefold().strip(),
        lexicon=lexicon,
    )  # fmt: skip
    relations = Relations(Permitted(), read)
    relations.prepare(("c", one, other) for one in texts for other in texts)
    goes: dict[str, str] = {}
    stays: dict[str, str] = {}
    pairs = list(of.items())
    for some in (pairs[:2], pairs[2:]):
        for name, verdict in relations.verdicts("c", some, near, lambda name: name not in staying):
            if verdict.reason:
                stays[name] = verdict.reason.kind
            else:
                goes[name] = verdict.repeats
    # No other can be promised in place of one that is gone.
    assert not set(goes.values()) & goes.keys()
    return goes, stays


TEXTS = {"bad": misread(*LONG), "same": misread(*LONG) + "\n", "half": misread(*LONG[:2]), "clean": CLEAN}


def test_the_cleanest_stays_and_the_others_go_for_it() -> None:
    goes, stays = decided(TEXTS, {"half": "bad", "clean": "bad"})
    assert goes == {"bad": "clean", "half": "clean"}
    assert stays.keys() == {"clean"}
    goes, _ = decided(TEXTS, {"same": "bad", "clean": "bad"})
    assert goes == {"bad": "clean", "same": "clean"}


def test_what_has_gone_for_one_that_stays_holds() -> None:
    # What is cleaner comes when something has gone already, or the other way round.
    goes, stays = decided(TEXTS, {"same": "bad", "half": "bad", "clean": "bad"})
    assert goes == {"bad": "half", "same": "half"}
    assert stays.keys() == {"half", "clean"}
    goes, stays = decided(TEXTS | {"again": TEXTS["bad"]}, {"same": "bad", "again": "bad", "clean": "bad"})
    assert goes == {"same": "bad", "again": "bad"}
    assert stays.keys() == {"clean"}
    early, later = decided(TEXTS, {"clean": "bad", "half": "bad", "same": "bad"})
    assert early == {"bad": "clean", "half": "clean"}
    assert later.keys() == {"clean", "same"}


def test_what_is_not_near_the_cleaner_one_stays() -> None:
    goes, stays = decided(TEXTS, {"half": "bad", "clean": "bad"}, lambda one, other: {one, other} != {"half", "clean"})
    assert goes == {"bad": "clean"}
    assert stays.keys() == {"half", "clean"}


def test_what_was_kept_before_does_not_go() -> None:
    goes, stays = decided(TEXTS, {"half": "bad", "clean": "bad"}, staying=["bad"])
    assert "bad" not in goes
    assert "clean" in stays
    goes, stays = decided(TEXTS, {"half": "bad", "clean": "bad"}, staying=["clean"])
    assert "clean" not in goes.keys() | stays.keys()


def test_a_program_keeps_the_cleaner_of_two() -> None:
    others = [f"{prose(number, 80)} {CLEAN}" for number in (5, 6)]
    for texts in ([misread(*LONG), CLEAN], [CLEAN, misread(*LONG)]):
        found = indexer.dedupe([*others, *texts])
        kept = [texts[place - 2] for place in found.kept.tolist() if place > 1]
        assert kept == [CLEAN]


def pruned(
    folder: Path, texts: Mapping[str, str], canonical: str | None = None, noted: tuple[str, ...] = ()
) -> set[str]:
    """The ids that prune deletes from a store of some texts; `noted` (name, other) is made to repeat another one."""
    # Two more clusters teach the words of the clean text.
    others = {f"other{n}{end}": f"{prose(n, 240)} {CLEAN} {end}" for n in (5, 6) for end in ("", "indeed")}
    given = folder / "texts.jsonl"
    lines = [json.dumps({"id": name, "text": text}) for name, text in {**others, **texts}.items()]
    given.write_text("\n".join(lines), encoding="utf-8")
    with indexer.open(folder / "store.neardup") as documents:
        documents.index([given])
        documents.cluster(canonical=canonical)
        store = documents.store
        refs = {record.ref.id: record.ref for record in store.scan(sketches=False)}
        if noted:
            name, other = (refs[each] for each in noted)
            [known] = store.annotations([name])
            assert known is not None
            store.annotate([(name, {"cluster": {**known["cluster"], "repeats": other.id, "repeats_similarity": 0.9}})])
        named = {one.id: one.repeats for one in documents.prune(dry_run=True).surplus if not one.kept}
        documents.prune(delete=True)
        gone = refs.keys() - {record.ref.id for record in store.scan(sketches=False)}
        assert named.keys() == gone
        assert not set(named.values()) & gone
        return gone & texts.keys()


@pytest.mark.parametrize("canonical", ["earliest", "longest"])
def test_prune_deletes_the_misread_one_whichever_is_canonical(tmp_path: Path, canonical: str) -> None:
    """The first to come is the misread one, and the longest too."""
    bad = TEXTS["bad"] + "  " * 50
    assert pruned(tmp_path, {"bad": bad, "clean": CLEAN}, canonical) == {"bad"}


def test_prune_takes_all_that_repeat_the_misread_one_for_the_clean_one(tmp_path: Path) -> None:
    assert pruned(tmp_path, TEXTS) == {"bad", "same", "half"}


def test_prune_keeps_a_misread_one_that_documents_of_other_clusters_repeat(tmp_path: Path) -> None:
    """What stands in for a document that is judged elsewhere has to stay."""
    assert pruned(tmp_path, {"bad": TEXTS["bad"], "clean": CLEAN}, noted=("other5", "bad")) == set()


def test_equal_texts_go_for_one_another_beside_a_form(tmp_path: Path) -> None:
    """The second and the third are equal, and the first one, which both are near, differs in a number."""
    texts = {name: f"{CLEAN} The sum is {number}." for name, number in (("a", 7), ("b", 9), ("c", 9))}
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with indexer.open(tmp_path / "store.neardup") as collection:
        collection.index(tmp_path / "texts.jsonl")
        collection.cluster()
        for request in (RemovalRequest(remove="identical"), RemovalRequest()):
            going = [(each.id, each.repeats) for each in collection.surplus(request) if not each.kept]
            assert going == [("c", "b")]
        assert collection.report().could_go == 1
        assert cluster(collection.store, default_rule(collection.store)).changes.documents == 0


def test_texts_that_are_equal_in_other_pages_are_reflowed_however_often_they_are_clustered(tmp_path: Path) -> None:
    """What was noted held until the next clustering: the digests of all that was read said something else."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.html").write_bytes(html(CLEAN).replace(b"Contact", name.encode()))
    with indexer.open(tmp_path / "store.neardup") as collection:
        collection.index([str(tmp_path)])
        assert collection.cluster().relations == {"reflowed": 1}
        # Without reading texts again.
        assert cluster(collection.store, default_rule(collection.store)).changes.documents == 0
