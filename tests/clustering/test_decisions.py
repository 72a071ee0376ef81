"""Decisions of people: their file against hostile ones, what they drop, and that every clustering obeys them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.clustering import decision_file
from indexer.clustering.annotations import stored_clusters
from indexer.clustering.clusters import cluster
from indexer.clustering.decision_acts import DecidedPruning, contradictions, keep_decisions
from indexer.clustering.decision_file import parsed_decisions, read_decisions
from indexer.clustering.prune import Pruning
from indexer.errors import UsageError
from indexer.library.opening import open_store
from indexer.matching.rule import parse_rule
from indexer.model import Ref
from indexer.model.decisions import DecidedChoice, DecidedDocument, Decision, decision_json, decision_of
from indexer.stores import Store
from tests.clustered import INFO, arrivals_of, bits, cluster_store, partition, record
from tests.decision_files import decisions_text
from tests.growth import require_linear
from tests.planted import put

NEAR = 0x0123456789ABCDEF


def digest(name: str) -> str:
    return f"{sum(map(ord, name)):032x}"


def decision(**choices: DecidedChoice) -> Decision:
    return Decision(tuple(DecidedDocument(name, digest(name), choice) for name, choice in choices.items()))


def same(names: str) -> Decision:
    return decision(**dict.fromkeys(names, "keep"))


def apart(names: str, *, of: str = "") -> Decision:
    choices: dict[str, DecidedChoice] = {**dict.fromkeys(of, "keep"), **dict.fromkeys(names, "apart")}  # type: ignore[dict-item]
    return decision(**choices)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.neardup", create=INFO) as made:
        yield made


def fill(store: Store, names: str, values: Sequence[int] = ()) -> None:
    """Documents by their names; without values, all near each other and no two equal."""
    given = values or [NEAR ^ (1 << place) for place in range(len(names))]
    put(store, [record(name, value, text_digest=digest(name)) for name, value in zip(names, given, strict=True)])


def written(decisions: Sequence[Decision]) -> dict[str, object]:
    held: dict[str, object] = json.loads(decisions_text(decisions))
    return held


# The file

NAMES = st.text(min_size=1, max_size=8)
CHOICES = st.sampled_from(["keep", "drop", "apart"])
FIELDS = st.sampled_from(["form", "clusters", "documents", "id", "digest", "choice", "path"])
PLAIN = st.none() | st.booleans() | st.integers() | st.text()
DOCUMENTS = st.builds(
    DecidedDocument, NAMES, st.text("0123456789abcdef", min_size=32, max_size=32), CHOICES
)  # fmt: skip
DECISIONS = st.builds(
    lambda documents: Decision(tuple(documents)), st.lists(DOCUMENTS, min_size=1, unique_by=lambda one: one.id)
)


@settings(max_examples=30)
@given(st.lists(DECISIONS, max_size=5))
def test_decisions_come_back_from_a_file_and_from_a_store(decisions: list[Decision]) -> None:
    assert parsed_decisions(decisions_text(decisions).encode()) == decisions
    assert [decision_of(decision_json(each)) for each in decisions] == decisions


@settings(max_examples=50)
@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(FIELDS, inner)))
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(UsageError):
        parsed_decisions(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"form": "neardup decisions 2"}, 'must be "neardup decisions 1"'),
        ({"rule": "minhash@0.1"}, "the file: unknown field 'rule'"),
        ({"clusters": {}}, "clusters: must be a list"),
        ({"clusters": [{"documents": []}]}, "cluster 1: documents must be a list with an entry"),
        ({"clusters": [{"documents": [{}], "html": "<b>"}]}, "cluster 1: unknown field 'html'"),
        ({"clusters": [{"documents": ["a"]}]}, "cluster 1, document 1: must be an object"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(change: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parsed_decisions(json.dumps({**written([same("ab")]), **change}).encode())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"path": "/etc/passwd"}, "document 1: unknown field 'path'"),
        ({"choice": "delete"}, "choice is 'delete' and must be one of keep, drop, apart"),
        ({"digest": "A" * 32}, "digest must be the 32 hexadecimal digits"),
        ({"digest": 7}, "digest must be a string"),
        ({"id": ""}, "id must have 1 to"),
        ({"id": "x" * 40_000}, "id must have 1 to"),
        ({"id": "b"}, "cluster 1: a document stands there twice"),
    ],
)
def test_what_is_wrong_with_a_document_is_said(change: dict[str, object], says: str) -> None:
    documents = [{"id": name, "digest": digest(name), "choice": "keep"} for name in "ab"]
    documents[0] |= change
    with pytest.raises(UsageError, match=says):
        parsed_decisions(json.dumps({"form": decision_file.FORM, "clusters": [{"documents": documents}]}).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"\xff", b"", b"[" * 100_000, b'{"form": "x", "form": "neardup decisions 1"}', b'{"form": NaN}',
        b" " * (decision_file.MOST_BYTES + 1),
    ],
)  # fmt: skip
def test_hostile_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        parsed_decisions(data)


def test_a_file_is_named_in_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: the decisions can't be read"):
        read_decisions(tmp_path / "none")
    path = tmp_path / "d.json"
    path.write_text("{}")
    with pytest.raises(UsageError, match=r"d\.json: not a file of decisions"):
        read_decisions(path)


# Contradictions


@pytest.mark.parametrize(
    ("decisions", "wrong"),
    [
        ([same("ab"), same("bc"), apart("c", of="a")], {0, 1, 2}),
        ([same("ab"), apart("ab")], {0, 1}),
        ([same("ab"), same("cd"), apart("ac")], set()),
        ([same("ab"), same("bc"), apart("cd", of="x")], set()),
        ([decision(a="keep", b="drop"), decision(a="drop", c="keep")], {0, 1}),
        # Of two that are apart from a third nothing is said beside each other.
        ([apart("bc", of="a"), same("bc")], set()),
        ([same("ab"), same("bc"), same("cd"), same("xy"), apart("d", of="a")], {0, 1, 2, 4}),
    ],
)
def test_contradictions_are_found(decisions: list[Decision], wrong: set[int]) -> None:
    assert set().union(*(each.places for each in contradictions(decisions))) == wrong


def test_a_contradiction_says_the_way() -> None:
    [found] = contradictions([same("ab"), same("bc"), apart("c", of="a")])
    assert found.sentence == "a is the same as b, b is the same as c, but not a the same as c"


def test_a_long_contradiction_says_its_ends() -> None:
    names = [f"{number:03}" for number in range(100)]
    decisions = [decision(**{left: "keep", right: "keep"}) for left, right in pairwise(names)]
    [found] = contradictions([*decisions, apart_of([names[-1]], names[0])])
    assert found.sentence.startswith("000, …, ")
    assert found.sentence.endswith("098 is the same as 099, but not 000 the same as 099")
    assert found.sentence.count("is the same as") < 20
    assert found.places == set(range(100))


def apart_of(names: Sequence[str], of: str) -> Decision:
    return decision(**{of: "keep", **dict.fromkeys(names, "apart")})  # type: ignore[arg-type]


# Decisions that contradict others again and again: by pairs of one cluster, by a chain, and within one decision.
MANY_CONTRADICTIONS = {
    "pairs": lambda count: [
        decision(**dict.fromkeys(map(str, range(40)), "keep")),
        *(decision(**{str(n % 40): "apart", str((n + 1 + n // 40) % 40): "apart"}) for n in range(count)),
    ],
    "chain": lambda count: [
        *(decision(**{str(n): "keep", str(n + 1): "keep"}) for n in range(count)),
        *(apart_of([str(count - n)], str(n)) for n in range(count // 2)),
    ],
    "within": lambda count: [
        decision(**dict.fromkeys(map(str, range(2 * count)), "keep")),
        decision(**{str(n): "apart" if n < count else "keep" for n in range(2 * count)}),
    ],
}


@pytest.mark.parametrize("name", MANY_CONTRADICTIONS)
def test_contradictions_take_time_with_their_number(name: str) -> None:
    require_linear(contradictions, MANY_CONTRADICTIONS[name], 200)


def test_what_is_dropped_takes_time_with_its_number(store: Store) -> None:
    names = [str(number) for number in range(400)]
    put(store, [record(name, 3 << (int(name) % 60), text_digest=digest(name)) for name in names])
    cluster_store(store)

    def dropping(count: int) -> DecidedPruning:
        choices = {name: "keep" if int(name) % 2 else "drop" for name in names[:count]}
        return DecidedPruning(store, [decision(**choices)])  # type: ignore[arg-type]

    require_linear(lambda pruning: list(pruning.surplus()), dropping, 100)


# What is dropped


def surplus(store: Store, decisions: Sequence[Decision], **options: bool) -> dict[str, str]:
    """Each document with what stands for it, or why it stays."""
    found = DecidedPruning(store, decisions, **options).surplus()
    return {one.record.ref.id: one.kept or f"={one.repeats.id}" for one in found}


def test_what_is_dropped_goes_for_what_is_kept(store: Store) -> None:
    fill(store, "abcx", [NEAR, NEAR ^ 1, NEAR ^ 2, ~NEAR & (1 << 64) - 1])
    cluster_store(store)
    drops = [decision(a="keep", b="drop", c="apart")]
    assert surplus(store, drops) == {"b": "=a"}
    assert DecidedPruning(store, drops).mark().documents == 1
    assert DecidedPruning(store, drops).delete() == 1
    assert [each and each.ref.id for each in store.get([Ref("a"), Ref("b"), Ref("c")])] == ["a", None, "c"]
    # It is gone, and by its name.
    assert surplus(store, drops) == {"b": "the store has no document of this id"}


def test_decisions_that_do_not_hold_are_refused_by_name(store: Store) -> None:
    fill(store, "abcx", [NEAR, NEAR ^ 1, NEAR ^ 2, ~NEAR & (1 << 64) - 1])
    cluster_store(store)
    changed = DecidedDocument("b", digest("other"), "drop")
    kept = DecidedDocument("a", digest("other"), "keep")
    assert surplus(store, [Decision((*decision(a="keep").documents, changed))]) == {"b": "it has changed since"}
    refused = surplus(store, [Decision((kept, *decision(b="drop").documents))])
    assert refused == {"a": "it has changed since", "b": refused["b"]}
    assert refused["b"].startswith("the file names no document of its group to keep")
    assert surplus(store, [decision(a="keep", x="drop")]) == {"x": "it is in no cluster with a"}
    assert surplus(store, [decision(gone="keep", b="drop", a="keep")]) == {
        "gone": "the store has no document of this id",
        "b": "=a",
    }


def test_the_last_copies_need_a_word_of_their_own(store: Store) -> None:
    fill(store, "ab")
    cluster_store(store)
    drops = [decision(a="drop", b="drop")]
    assert all(says.startswith("the file names no document") for says in surplus(store, drops).values())
    assert DecidedPruning(store, drops).delete() == 0
    assert surplus(store, drops, last_copies=True) == {"a": "=", "b": "="}
    assert DecidedPruning(store, drops, last_copies=True).delete() == 2
    assert store.count() == 0


def test_contradictory_decisions_drop_nothing(store: Store) -> None:
    fill(store, "abcd")
    cluster_store(store)
    wrong = [decision(a="keep", b="drop"), same("bc"), apart("c", of="a")]
    says = "contradicted: a is the same as b, b is the same as c, but not a the same as c"
    assert surplus(store, [*wrong, decision(a="keep", d="drop")]) == {"b": says, "d": "=a"}
    keep_decisions(store, [apart("ab")])
    found = surplus(store, [decision(a="keep", b="drop")])
    assert found == {"b": "contradicted: a is the same as b, but not a the same as b"}


def test_what_another_one_changes_meanwhile_stays(store: Store) -> None:
    fill(store, "ab")
    cluster_store(store)
    pruning = DecidedPruning(store, [decision(a="keep", b="drop")])
    [found] = pruning.surplus()
    put(store, [record("b", NEAR, text_digest=digest("new"))])
    assert store.delete([found.record.ref], versions={found.record.ref: found.version}) == 0


# What every clustering obeys


def clusters_of(store: Store) -> dict[str, str]:
    """The id of the cluster of each document."""
    return {ref.id: each.id for each in stored_clusters(store) for ref in each.members}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_every_clustering_obeys_what_was_decided(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    draw = random.Random(seed)
    names = "abcdefghijkl"
    values = [draw.choice([NEAR, 0xFEDCBA0076543210, 0x00FF00FF55AA55AA]) ^ (1 << draw.randrange(3)) for _ in names]
    decisions: list[Decision] = []
    for _ in range(draw.randrange(1, 6)):
        chosen = draw.sample(names, draw.randrange(2, 6))
        made = decision(**{name: draw.choice(["keep", "apart"]) for name in chosen})
        if not contradictions([*decisions, made]):
            decisions.append(made)
    with open_store(tmp_path_factory.mktemp("s") / "s.neardup", create=INFO) as store:
        fill(store, names, values)
        keep_decisions(store, decisions)
        for way in ("cluster", "arrive", "cluster again", "all"):
            if way in ("arrive", "all"):
                again = draw.sample(names, 5)
                store.delete([Ref(name) for name in again])
                records = [record(name, values[names.index(name)], text_digest=digest(name)) for name in again]
                arrivals = arrivals_of(store, fewest=1 if way == "all" else 100)
                arrivals.examine(records)
                put(store, records)
                arrivals.stored(records)
                arrivals.close()
            else:
                cluster_store(store)
            there = clusters_of(store)
            for each in decisions:
                together = {there[one.id] for one in each.together}
                assert len(together) < 2, (way, each)
                others = [there[one.id] for one in each.chosen("apart")]
                assert not together & set(others), (way, each)
                if not together:
                    assert len(set(others)) == len(others), (way, each)


def test_nothing_that_was_called_not_the_same_repeats_another(store: Store) -> None:
    fill(store, "abc", [NEAR] * 3)
    cluster_store(store)
    keep_decisions(store, [apart("b", of="a")])
    # Before the next clustering, too.
    assert {one.record.ref.id for one in Pruning(store, unverified=True).surplus() if not one.kept} == {"c"}
    cluster_store(store)
    assert partition(store) in ({"ac": "a", "b": "b"}, {"ac": "c", "b": "b"})
    assert [one.record.ref.id for one in Pruning(store, unverified=True).surplus()] == ["c"]


def test_what_belongs_together_joins_groups_that_nothing_else_does(store: Store) -> None:
    far = ~NEAR & (1 << 64) - 1
    fill(store, "abxy", [NEAR, NEAR ^ 1, far, far ^ 1])
    keep_decisions(store, [same("ax")])
    cluster_store(store)
    assert list(partition(store)) == ["abxy"]
    # Until the text is another one.
    put(store, [record("a", NEAR, text_digest=digest("new"))])
    cluster_store(store)
    assert sorted(partition(store)) == ["ab", "xy"]


def test_what_was_called_not_the_same_is_no_duplicate_of_what_comes(store: Store) -> None:
    fill(store, "ab", [NEAR, NEAR])
    cluster_store(store)
    keep_decisions(store, [apart("ab")])
    store.delete([Ref("b")])
    came = record("b", NEAR, text_digest=digest("b"))
    assert arrivals_of(store, skip=True).examine([came]) == [None]
    other = record("b", NEAR, text_digest=digest("other"))
    assert arrivals_of(store, skip=True).examine([other])[0] is not None


def test_a_large_cluster_takes_no_document_that_is_apart_from_a_member(store: Store) -> None:
    names = [f"m{number}" for number in range(1100)]
    put(store, [record(name, NEAR, text_digest=digest(name)) for name in (*names, "N", "b")])
    keep_decisions(store, [apart("b", of="N")])
    store.delete([Ref("N")])
    cluster_store(store)
    came = [record("N", NEAR ^ 1, text_digest=digest("N"))]
    arrivals = arrivals_of(store, fewest=10**6)
    arrivals.examine(came)
    put(store, came)
    arrivals.stored(came)
    arrivals.close()
    there = clusters_of(store)
    assert there["b"] == there["m1"] != there["N"]


def test_decisions_are_kept_once_and_named_where_they_are_not(store: Store) -> None:
    fill(store, "abc")
    first = keep_decisions(store, [same("ab"), same("ba"), apart("c", of="a"), decision(gone="keep", a="keep")])
    assert (first.kept, first.known, first.refused) == (2, 0, [("gone", "the store has no document of this id")])
    again = keep_decisions(store, [decision(a="keep", b="drop")])
    assert (again.kept, again.known, again.contradictions) == (0, 1, [])
    wrong = keep_decisions(store, [same("bc")])
    assert (wrong.kept, len(wrong.contradictions)) == (0, 1)
    assert len(list(store.decisions())) == 2
    # What went as decided is not worth a word.
    store.delete([Ref("b")])
    assert not keep_decisions(store, [decision(a="keep", b="drop")]).refused


def test_decisions_by_a_rule_that_looks_up_keys(tmp_path: Path) -> None:
    assert parse_rule("simhash-doc@3bits") == bits(3)
    with open_store(tmp_path / "s.neardup", create=INFO) as store:
        fill(store, "abc")
        keep_decisions(store, [apart("abc")])
        done = cluster(store, bits(3))
        assert done.clusters == 0
        assert cluster(store, bits(3)).changes.documents == 0
