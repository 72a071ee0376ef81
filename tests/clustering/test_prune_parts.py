"""What prune --parts names and deletes: what stands whole in a longer document that stays."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indexer
from indexer.clustering.annotations import MARK
from indexer.clustering.clusters import cluster
from indexer.clustering.parts import PartPruning
from indexer.clustering.prune import Pruning
from indexer.core.text import folded_text, text_digest
from indexer.errors import UsageError
from indexer.library.options import RemovalRequest
from indexer.matching.rule import parse_rule
from indexer.model import Ref
from indexer.schemes.passages import Passages
from indexer.schemes.testing import document
from indexer.stores import Store
from tests.planted import empty, put, record

SCHEME = Passages()


def stored(folder: Path, texts: Mapping[str, str], scheme: Passages = SCHEME) -> Store:
    """A store of files with these texts."""
    folder.mkdir(exist_ok=True)
    store = empty(folder / "parts.neardup", [scheme])
    for name, text in texts.items():
        (folder / name).write_text(text)
    put(
        store,
        (
            record(name, text, [scheme], source=str(folder / name), text_digest=text_digest(text).hex())
            for name, text in texts.items()
        ),
    )
    return store


def named(store: Store) -> dict[str, str]:
    """What would be deleted, and what each stands in."""
    return {one.record.ref.id: one.repeats.id for one in PartPruning(store).surplus() if not one.kept}


def kept(store: Store) -> dict[str, str]:
    """Why others are kept."""
    return {one.record.ref.id: one.kept for one in PartPruning(store).surplus() if one.kept}


def padded(text: str) -> bytes:
    return b" " + folded_text(text) + b" "


def whole_in(one: str, other: str) -> bool:
    """Whether a text stands whole in a longer one: the slow way."""
    return len(padded(one)) < len(padded(other)) and padded(one) in padded(other)


CHAPTERS = [document(seed, 300) for seed in range(5)]
BOOK = "\n\n".join(CHAPTERS)


def test_chains_end_at_one_that_stays(tmp_path: Path) -> None:
    section = " ".join(CHAPTERS[2].split()[50:150])
    texts = {"book": BOOK, "chapter": CHAPTERS[2].upper(), "again": f"  {CHAPTERS[2]}\n", "section": section}
    with stored(tmp_path, {**texts, "other": document(99, 300)}) as store:
        assert named(store) == dict.fromkeys(("chapter", "again", "section"), "book")
        assert PartPruning(store).delete() == 3
        assert {each.ref.id for each in store.scan()} == {"book", "other"}
        assert named(store) == {}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a word more", lambda text: f"{text} besides"),
        ("another word", lambda text: text.replace(text.split()[150], "changed")),
        ("another number", lambda text: f"{text} 17"),
        ("a part of a word at its end", lambda text: text[:-1]),
        ("a part of a word at its beginning", lambda text: text[1:]),
        ("a sign", lambda text: text.replace(" ", " - ", 1)),
        ("the same text", lambda text: " \n".join(text.split())),
    ],
)
def test_what_is_not_whole_stays(tmp_path: Path, name: str, change: Callable[[str], str]) -> None:
    long = CHAPTERS[0] if name == "the same text" else f"{BOOK} 18"
    with stored(tmp_path, {"book": long, "part": change(CHAPTERS[0])}) as store:
        assert named(store) == {}
        assert PartPruning(store).delete() == 0
        assert store.count() == 2


def test_a_number_is_not_whole_in_a_longer_one(tmp_path: Path) -> None:
    # The end of the one is the beginning of a word of the other.
    texts = {"part": f"{CHAPTERS[0]} the price is 10", "book": f"{CHAPTERS[0]} the price is 100 {CHAPTERS[1]}"}
    with stored(tmp_path, texts) as store:
        assert named(store) == {}
        assert "does not stand whole in book" in kept(store)["part"]


def test_what_can_t_be_read_or_has_changed_stays_and_is_named(tmp_path: Path) -> None:
    texts = {"book": BOOK, "chapter": CHAPTERS[1], "gone": CHAPTERS[2], "other": CHAPTERS[3]}
    with stored(tmp_path, texts) as store:
        (tmp_path / "gone").unlink()
        # Equal words with another number: the simhash is that of the text which was indexed.
        (tmp_path / "other").write_text(f"{CHAPTERS[3]} 17")
        assert named(store) == {"chapter": "book"}
        assert "not verified" in kept(store)["gone"]
        assert "no longer holds" in kept(store)["other"]
        (tmp_path / "book").unlink()
        assert named(store) == {}
        assert "book" in kept(store)["chapter"]
        for name in texts:
            (tmp_path / name).unlink(missing_ok=True)
        pruning = PartPruning(store)
        assert pruning.delete() == 0
        assert "no text to compare could be read" in pruning.remark()


def test_of_equal_documents_one_stands_for_parts_that_can_be_read(tmp_path: Path) -> None:
    with stored(tmp_path, {"book": BOOK, "copy": BOOK, "part": CHAPTERS[1]}) as store:
        (tmp_path / "book").unlink()
        assert named(store) == {"part": "copy"}
        store.annotate([(Ref("copy"), {MARK: "book"})])
        assert named(store) == {}


def test_nothing_stands_for_what_goes_itself(tmp_path: Path) -> None:
    edited = f"{BOOK} and a few words more"
    with stored(tmp_path, {"book": BOOK, "edition": edited, "part": CHAPTERS[1]}) as store:
        assert named(store) == {"book": "edition", "part": "edition"}
        store.annotate([(Ref("edition"), {MARK: "book"})])
        assert named(store) == {"part": "book"}
        store.annotate([(Ref("book"), {MARK: "edition"})])
        assert named(store) == {}
        assert "goes itself" in kept(store)["part"]
        store.annotate([(Ref("book"), {MARK: None}), (Ref("edition"), {MARK: None})])
        store.annotate([(Ref("edition"), {"cluster": {"id": "k", "repeats": "book"}})])
        assert named(store) == {"part": "book"}


def test_what_changes_between_finding_and_deleting_stays(tmp_path: Path) -> None:
    with stored(tmp_path, {"book": BOOK, "part": CHAPTERS[1], "other": CHAPTERS[2]}) as store:
        pruning = PartPruning(store)
        judged = pruning._as_they_are

        def replaced(page):  # type: ignore[no-untyped-def]
            put(store, [record("book", CHAPTERS[4], [SCHEME], text_digest=text_digest(CHAPTERS[4]).hex())])
            return judged(page)

        pruning._as_they_are = replaced  # type: ignore[method-assign]
        assert pruning.delete() == 0
        assert store.count() == 3


def test_a_cluster_of_which_one_is_left_is_none(tmp_path: Path) -> None:
    changed = CHAPTERS[1].replace(CHAPTERS[1].split()[10], "changed")
    with stored(tmp_path, {"book": BOOK, "part": CHAPTERS[1], "version": changed}) as store:
        cluster(store, parse_rule("simhash-doc@6bits"))
        assert [each.size for each in store.clusters()] == [2]
        # The one that the other repeats goes, and prune then says so of the other.
        assert named(store) == {"part": "book"}
        assert PartPruning(store).delete() == 1
        assert list(store.clusters()) == []
        assert list(Pruning(store, unverified=True).surplus()) == []


def test_a_store_without_passages_is_told_what_to_do(tmp_path: Path) -> None:
    with empty(tmp_path / "plain.neardup", []) as store, pytest.raises(UsageError, match="--scheme passages"):
        PartPruning(store)
    with stored(tmp_path, {"book": BOOK}) as store, pytest.raises(UsageError, match="not a duplicate"):
        PartPruning(store).mark()


def test_many_texts_with_the_same_keys_cost_their_number(tmp_path: Path) -> None:
    """Of texts that differ in signs alone all have the keys of all; each is looked for in a few of them."""
    same = " ".join(CHAPTERS[0].split()[:60])
    texts = {f"t{number:03d}": f"{same} {'*' * number}" for number in range(1, 401)}
    with stored(tmp_path, texts) as store:
        assert named(store) == {}
        told = kept(store)
    assert len(told) == 399
    assert any("looked for in the longest 20" in why for why in told.values())


@st.composite
def collections(draw: st.DrawFn) -> dict[str, str]:
    """Texts of which many are cut out of others, with what may come before or behind, also with white space changed."""
    choice = random.Random(draw(st.integers(0, 2**32)))
    texts = [" ".join(choice.choices([f"w{number}" for number in range(choice.choice([5, 400]))], k=200))]
    for _ in range(draw(st.integers(2, 9))):
        words = choice.choice(texts).split()
        first = choice.randrange(max(1, len(words) - 40))
        part = words[first : first + choice.choice([37, 60, 100, 200])]
        before, behind = choice.choice([[], ["more"]]), choice.choice([[], [], ["17"], ["much", "more"]])
        texts.append(choice.choice([" ", "\n", " \t"]).join([*before, *part, *behind]))
    choice.shuffle(texts)
    return {f"d{number}": text for number, text in enumerate(texts)}


@given(collections())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_part_goes_for_one_that_stays(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> None:
    """Whatever has as many words as the scheme guarantees goes if it stands whole in a longer one, and nothing else."""
    long = {name: text for name, text in texts.items() if len(text.split()) >= SCHEME.guarantee}
    parts = {one for one in long if any(whole_in(long[one], other) for other in long.values())}
    with stored(tmp_path_factory.mktemp("parts"), texts) as store:
        into = named(store)
        assert {name for name in into if name in long} == parts
        assert PartPruning(store).delete() == len(into)
        left = {each.ref.id for each in store.scan()}
    assert left == texts.keys() - into.keys()
    for part, other in into.items():
        assert other in left
        assert whole_in(texts[part], texts[other])


def test_numbers_count_beside_twenty_words(tmp_path: Path) -> None:
    draw = random.Random(4)
    numbers = [str(draw.randrange(10**6)) for _ in range(100)]
    mixed = f"{' '.join(CHAPTERS[1].split()[:20])} {' '.join(numbers[:16])}"
    with indexer.open(tmp_path / "a.neardup", schemes=["passages"]) as collection:
        collection.add_many([("numbers", " ".join(numbers)), ("mixed", mixed)])
        collection.add("book", f"{CHAPTERS[0]} {' '.join(numbers)} {mixed} {CHAPTERS[2]}")
        found = collection.prune(RemovalRequest(parts=True), dry_run=True).surplus
        assert [(row.id, row.repeats) for row in found] == [("mixed", "book")]
