"""What prune names, marks and deletes, against a slow oracle; and the rule that it obeys."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from indexer.clustering.annotations import MARK, stored_clusters
from indexer.clustering.arrivals import Arrivals, rule_for
from indexer.clustering.canonical import CanonicalRule, canonical_asked
from indexer.clustering.clusters import cluster
from indexer.clustering.memory import ClusterSettings, agreed, remembered
from indexer.clustering.prune import Pruning, sketch_verification
from indexer.clustering.removal import RedundantDocument, Tally
from indexer.clustering.verdicts import Permitted, Reason
from indexer.errors import StoreError, UsageError
from indexer.library.opening import open_store
from indexer.matching.pairing import pairs_of
from indexer.matching.rule import MatchRule, parse_rule
from indexer.model import ClusteringNote, Ref
from indexer.relations.relation import COPIES as SAME
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.stores import Store
from indexer.text.corpus import Corpus, gather
from indexer.text.features import parse_recipe
from tests.planted import Oracle, empty, filled, greedy, named, put, record

PROSE = ["the", "is", "a", "of", "to", "and", "in", "it", "was", "for"]


def prose(seed: int, families: int, words: int = 120) -> dict[str, str]:
    """Families of texts with stop-words between: each a version of the one before it, or a copy."""
    draw = random.Random(seed)
    texts = []
    for family in range(families):
        base = [draw.choice(PROSE) if n % 3 == 0 else f"w{family}x{draw.randrange(60)}" for n in range(words)]
        for changes in (0, 0, 1, 2, 4, 6, 8, 8, 8, 30):
            for _ in range(changes):
                base[draw.randrange(words)] = f"new{draw.randrange(10**6)}"
            texts.append(" ".join(base))
    # Nothing in common but the words of the language.
    texts += [" ".join(draw.choices(PROSE, k=words)) for _ in range(4)]
    return named(texts)


TEXTS = prose(1, 4)


@cache
def scheme(specification: str) -> Scheme:
    """A scheme, with the statistics of these texts where it needs them."""

    def corpus(name: str) -> Corpus:
        return gather(list(TEXTS.values()), parse_recipe(name.removeprefix("corpus.")))

    return registry.scheme(specification, corpus)


# Every scheme of the registry, so loose that chains are made; and rules of several.
LOOSE = {
    "simhash-doc": "9bits",
    "simhash": "7bits",
    "i-match": "0.05",
    "spotsigs": "0.5",
    "minhash": "0.3",
    "weighted-minhash": "0.5",
    "supershingles": "0.2",
    "random-projection": "0.9",
    "short-text": "0.5",
}
OWN = {"i-match": "i-match:low=0.0,high=1.0"}
# By a rule of parts nothing is removed.
COPIES = [family for family in registry.families() if not registry.scheme_class(family).of_parts]
ALONE = [f"{OWN.get(family, family)}@{LOOSE[family]}" for family in COPIES]
SEVERAL = [
    "simhash-doc@3bits/minhash@0.6+minhash@0.6",
    "simhash-doc@12bits+minhash@0.2",
    "minhash@0.2+simhash-doc@12bits",
    "spotsigs@0.5/supershingles@0.2+weighted-minhash@0.5",
]


def rule(text: str) -> MatchRule:
    return parse_rule(text, scheme=scheme)


def clustered(path: Path, by: MatchRule, texts: Mapping[str, str] = TEXTS, **more: object) -> Store:
    """A store that was clustered by a rule."""
    store = filled(path, texts, list(by.schemes.values()))
    for each in by.schemes.values():
        if hasattr(each, "corpus") and each.corpus:
            store.put_resource(type(each).needed(each.parameters), each.corpus.to_bytes())
    cluster(store, by, **more)  # type: ignore[arg-type]
    return store


def expected(store: Store, by: MatchRule) -> dict[str, str]:
    """The documents that may go, with the kept one that each repeats: a greedy choice over all pairs, by id."""
    edges = {(pair.left.id, pair.right.id): pair.similarity for pair in pairs_of(store, by)}
    stands = greedy(sorted(ref.id for ref, _ in store.scan_annotations()), edges)
    return {name: of for name, (of, _) in stands.items() if of != name}


@pytest.mark.parametrize("text", [*ALONE, *SEVERAL])
def test_every_scheme_against_the_oracle(tmp_path: Path, text: str) -> None:
    by = rule(text)
    # In one cluster or in several, not all of a component are near one of them.
    for bound in (None, 1.0):
        with clustered(tmp_path / f"{bound}.neardup", by, bound=bound) as store:
            gone = expected(store, by)
            assert len(gone) >= 4
            found = list(Pruning(store).surplus())
            assert {each.record.ref.id: each.repeats.id for each in found} == gone
            oracle = Oracle(by, TEXTS)
            for each in found:
                assert each.similarity == pytest.approx(oracle.similarity(each.repeats.id, each.record.ref.id))
                assert not each.kept
    with open_store(tmp_path / "1.0.neardup") as store:
        changes = Pruning(store).mark()
        assert (changes.documents, changes.removed) == (len(gone), 0)
        assert {
            ref.id: annotations[MARK] for ref, annotations in store.scan_annotations() if MARK in annotations
        } == gone
        again = Pruning(store).mark()
        assert (again.documents, again.removed) == (0, 0)
        assert Pruning(store, unverified=True).delete() == len(gone)
        assert {each.ref.id for each in store.scan()} == set(TEXTS) - set(gone)
        # Nothing near is left, and the next clustering agrees.
        assert not list(pairs_of(store, by))
        assert cluster(store, by, bound=1.0).clusters == 0


def test_some_documents_repeat_one_that_is_not_canonical(tmp_path: Path) -> None:
    """The oracle's test is one that can fail: there are such members, also near one of another cluster."""
    kinds = set()
    for number, text in enumerate(("minhash@0.3", "simhash-doc@9bits", "simhash-doc@12bits+minhash@0.2")):
        for bound in (None, 1.0):
            with clustered(tmp_path / f"{number}{bound}.neardup", rule(text), bound=bound) as store:
                cluster_of = {ref: each for each in stored_clusters(store) for ref in each.members}
                for each in stored_clusters(store):
                    for other in filter(None, each.repeats):
                        across = cluster_of[other].id != each.id
                        kinds.add("across" if across else "canonical" if other == each.canonical else "member")
    assert kinds == {"across", "canonical", "member"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Versions of four texts with minhash beside the simhash, clustered by the default rule."""
    with clustered(tmp_path / "a.neardup", rule("simhash-doc@3bits/minhash@0.6+minhash@0.6")) as made:
        yield made


def reasons_of(pruning: Pruning) -> dict[str, str]:
    return {each.record.ref.id: each.kept for each in pruning.surplus() if each.kept}


def test_a_document_that_changed_since_is_kept(store: Store) -> None:
    first = next(stored_clusters(store, least=2))
    canonical, member = first.canonical.id, first.members[1].id
    others = reasons_of(Pruning(store))
    minhash = [scheme("minhash")]
    annotations = store.annotations([Ref(member)])[0]
    # As if somebody had replaced it between the clustering and now, and its annotations were not dropped.
    put(store, [record(member, TEXTS["d011"] if member < "d010" else TEXTS["d001"], minhash)])
    store.annotate([(Ref(member), annotations or {})])
    kept = reasons_of(Pruning(store))
    assert kept.keys() - others.keys() == {member}
    assert f"with {canonical}, and minhash@0.6 is demanded" in kept[member]
    put(store, [record(member, TEXTS[member], minhash, short=True)])
    store.annotate([(Ref(member), annotations or {})])
    assert reasons_of(Pruning(store)) == others | {member: "it has too few words to be compared"}
    put(store, [record(member, TEXTS[member])])
    store.annotate([(Ref(member), annotations or {})])
    assert reasons_of(Pruning(store)) == others | {member: f"it can't be compared with {canonical} by minhash"}
    before = {each.ref.id for each in store.scan()}
    Pruning(store).delete()
    assert member in {each.ref.id for each in store.scan()} < before


def test_what_lost_its_canonical_document_is_kept(store: Store) -> None:
    first = next(stored_clusters(store, least=3))
    others = reasons_of(Pruning(store)).keys() - {ref.id for ref in first.members}
    store.delete([first.canonical])
    kept = {name: reason for name, reason in reasons_of(Pruning(store)).items() if name not in others}
    assert set(kept) == {ref.id for ref, other in zip(first.members, first.repeats, strict=True) if other}
    why = "the document it repeats is gone, or goes itself; run neardup cluster again"
    assert set(kept.values()) == {why}
    assert set(first.repeats) == {None, first.canonical}
    count = store.count()
    Pruning(store).delete()
    assert {ref.id for ref in first.members[1:]} <= {each.ref.id for each in store.scan()}
    assert store.count() < count


def test_what_would_go_is_told_from_what_is_kept() -> None:
    def surplus(size: int, similarity: float, kept: str = "", *, identical: bool = False) -> RedundantDocument:
        reason = Reason("far", kept) if kept else None
        return RedundantDocument(record("a", "", size=size), "c", Ref("c"), similarity, reason, identical)

    tally = Tally()
    assert tally.least == 1.0
    # What is identical is wholly similar, also where its sketch could not be compared.
    for each in (surplus(10, -1.0, identical=True), surplus(5, 0.75), surplus(7, 0.9), surplus(100, 0.2, "too far")):
        tally.add(each)
    assert (tally.named, tally.identical, tally.total_bytes, tally.kept, tally.least) == (3, 1, 22, 1, 0.75)


def test_no_canonical_rule_is_asked_for_where_nothing_is() -> None:
    assert canonical_asked(None) is None
    assert canonical_asked("longest") == CanonicalRule("longest")
    assert canonical_asked("source", ["a*"]) == CanonicalRule("source", sources=("a*",))
    with pytest.raises(UsageError, match="--prefer goes with --canonical source"):
        canonical_asked(None, ["a*"])


def test_marks_of_what_is_no_surplus_any_more_are_taken_away(store: Store) -> None:
    marked = Pruning(store).mark().documents
    assert marked == sum(not each.kept for each in Pruning(store).surplus())
    tried = Pruning(store).mark(dry_run=True)
    assert (tried.documents, tried.removed) == (0, 0)
    cluster(store, rule("minhash@0.95"))
    fewer = Pruning(store).mark()
    left = sum(not each.kept for each in Pruning(store).surplus())
    assert fewer.removed >= marked - left > 0
    assert sum(MARK in annotations for _, annotations in store.scan_annotations()) == left


def test_deleting_needs_a_verification_after_a_simhash_alone(tmp_path: Path) -> None:
    for text, alone in (
        ("simhash-doc@3bits", True),
        ("simhash:bits=64@3bits", True),
        ("simhash-doc@7bits+simhash-doc@3bits", True),
        ("simhash-doc@3bits/minhash@0.3+simhash-doc@7bits", True),
        ("minhash@0.6+simhash-doc@7bits", False),
        ("simhash-doc@7bits+minhash@0.6", False),
        ("minhash@0.6", False),
    ):
        by = rule(text)
        assert by.by_hash_alone == alone, text
        (tmp_path / "store").mkdir()
        with clustered(tmp_path / "store" / "a.neardup", by) as store:
            count = store.stats().documents
            if alone:
                with pytest.raises(UsageError, match=r"--verify text.*--unverified"):
                    Pruning(store).delete()
                assert store.stats().documents == count
                # Marks can be taken away again.
                assert Pruning(store).mark().documents > 0
            assert Pruning(store, unverified=True).delete() > 0
            assert store.stats().documents < count
        for path in (tmp_path / "store").iterdir():
            path.unlink()
        (tmp_path / "store").rmdir()


def test_verification_demands_more_and_never_less(tmp_path: Path) -> None:
    by = rule("simhash-doc@12bits")
    with filled(tmp_path / "a.neardup", TEXTS, [scheme("minhash")]) as store:
        cluster(store, by, bound=1.0)
        gone = expected(store, by)
        sketched = Pruning(store, verify=sketch_verification(store))
        oracle = Oracle(rule("minhash@0.6"), TEXTS)
        wanted = {name: canonical for name, canonical in gone.items() if oracle.near(name, canonical)}
        assert {each.record.ref.id: each.repeats.id for each in sketched.surplus() if not each.kept} == wanted
        assert 0 < len(wanted) < len(gone)
        assert all(
            "is demanded" in each.kept or "it is not near" in each.kept for each in sketched.surplus() if each.kept
        )
        assert sketched.delete() == len(wanted)


def test_a_verification_asks_for_no_less_than_the_rule(tmp_path: Path) -> None:
    for demanded, by in (("60%", "minhash@0.6"), ("80%", "minhash@0.8"), ("60%", "simhash-doc@3bits")):
        with filled(tmp_path / f"{by}.neardup", TEXTS, [scheme("minhash")]) as store:
            cluster(store, rule(by))
            verify = Pruning(store, verify=sketch_verification(store)).verify
            assert verify is not None
            assert f"{verify.similarity:.0%}" == demanded


def test_two_long_invoices_are_near_and_only_identical_keeps_both(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(131)]
    other = [*words]
    other[20], other[110] = "4711", "95.50"
    texts = {"a": " ".join(words), "b": " ".join(other)}
    with filled(tmp_path / "a.neardup", texts, [scheme("minhash")]) as store:
        cluster(store, rule("minhash@0.6"))
        assert [each.kept for each in Pruning(store).surplus()] == [""]
        [kept] = Pruning(store, permitted=Permitted.named("identical")).surplus()
        assert "not identical" in kept.kept
    one, two = ({tuple(each[at : at + 5]) for at in range(127)} for each in (words, other))
    assert f"{len(one & two) / len(one | two):.0%}" == "85%"


@pytest.mark.parametrize("first", ["Backup", "Invoices"])
def test_of_copies_of_a_form_the_one_in_its_place_stays(first: str, tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(131)]
    other = [*words]
    other[20], other[110] = "4711", "95.50"
    texts = {"Invoices/a": " ".join(words), "Backup/b": " ".join(other), "Invoices/b": " ".join(other)}
    order = sorted(texts, key=lambda name: not name.startswith(first))
    with empty(tmp_path / "a.neardup", [scheme("minhash")]) as store:
        for number, name in enumerate(order):
            path = tmp_path / f"{name}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(texts[name])
            about = {"source": str(path), "text_digest": name[-1], "indexed_at": f"2026-01-0{number + 1}T00:00:00Z"}
            put(store, [record(name, texts[name], [scheme("minhash")], **about)])
        cluster(store, rule("minhash@0.6"))
        found = Pruning(store, permitted=Permitted()).surplus()
        assert [(one.record.ref.id, one.repeats.id) for one in found if not one.kept] == [("Backup/b", "Invoices/b")]


def test_verification_by_the_texts_keeps_what_it_can_not_read(tmp_path: Path) -> None:
    by = rule("simhash-doc@7bits")
    with empty(tmp_path / "a.neardup", []) as store:
        for name, text in TEXTS.items():
            (tmp_path / name).write_text(text)
        put(store, [record(name, text, source=str(tmp_path / name)) for name, text in TEXTS.items()])
        cluster(store, by)
        first, second, *_ = (
            each
            for each in stored_clusters(store, least=2)
            if len(each.members) > 2 and set(each.repeats) == {None, each.canonical}
        )
        (tmp_path / first.canonical.id).unlink()
        (tmp_path / second.members[1].id).unlink()
        pruning = Pruning(store, permitted=Permitted())
        unread = {one: [] for one in (first.canonical.id, second.members[1].id)}
        for each in pruning.surplus():
            gone = next((name for name in (each.repeats.id, each.record.ref.id) if name in unread), None)
            # What is identical is known to be so without its text.
            if gone and not each.identical:
                assert each.kept == f"not verified: {gone}: No such file or directory"
                unread[gone].append(each.record.ref.id)
            if not each.kept:
                assert each.relation is not None
                assert each.relation.word in SAME
        assert all(unread.values())
        assert not pruning.remark()
        for ref, _ in store.scan_annotations():
            (tmp_path / ref.id).unlink(missing_ok=True)
        pruning = Pruning(store, permitted=Permitted())
        assert all(each.kept or each.identical for each in pruning.surplus())
        assert "could be read: " in pruning.remark()
        assert "--unverified" in pruning.remark()
        with pytest.raises(UsageError, match="--scheme minhash"):
            sketch_verification(store)


def test_a_store_that_does_not_say_how_its_clusters_were_made_is_refused(store: Store) -> None:
    [note] = store.clustering_notes().values()
    assert (note.rule, note.finished) == (remembered(store).rule.written(whole=True), True)  # type: ignore[union-attr]
    refused: list[tuple[ClusteringNote | None, str]] = [
        (replace(note, finished=False), "was not finished"),
        (None, "don't say by which rule"),
        (replace(note, rule="minhash:shingle=3@0.6"), "can't serve now"),
        (replace(note, rule="nothing@0.6"), "can't serve now"),
        (replace(note, bound="wide"), "can't serve now"),
        (replace(note, canonical="'"), "can't serve now"),
    ]
    for each, said in refused:
        store.put_clustering_note(each)
        with pytest.raises(StoreError, match=rf"{said}.*run neardup cluster again"):
            Pruning(store)
        # What comes is stored all the same, in clusters of its own.
        assert said in rule_for(store).refused
    cluster(store, rule("minhash@0.6"))
    assert str(Pruning(store).rule) == "minhash@0.6"


def test_a_run_that_is_broken_off_leaves_the_note_open(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class KilledError(Exception):
        pass

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(store, "annotate", lambda some, **_: killed() if list(some) else 0)
        with pytest.raises(KilledError):
            cluster(store, rule("minhash@0.9"))
    with pytest.raises(StoreError, match=r"was not finished \(minhash"):
        Pruning(store)
    # A dry run changes no note, and asks for none.
    cluster(store, rule("minhash@0.9"), dry_run=True)
    with pytest.raises(StoreError, match="was not finished"):
        Pruning(store)
    cluster(store, rule("minhash@0.9"))
    assert str(Pruning(store).rule) == "minhash@0.9"


def test_arrivals_leave_the_note_open_until_they_end(tmp_path: Path) -> None:
    by = rule("simhash-doc@3bits/minhash@0.6+minhash@0.6")
    schemes = list(by.schemes.values())
    records = [record(name, text, schemes) for name, text in list(TEXTS.items())[:10]]
    with empty(tmp_path / "a.neardup", schemes) as store:
        coming = Arrivals(store, rule_for(store, by))
        assert remembered(store) is None
        coming.examine(records)
        put(store, records)
        coming.stored(records)
        with pytest.raises(StoreError, match="was not finished"):
            Pruning(store)
        coming.close()
        assert str(Pruning(store).rule) == str(by)
        assert {each.canonical.id for each in stored_clusters(store, least=2)}


def test_no_clusters_is_not_the_same_as_no_note(tmp_path: Path) -> None:
    with filled(tmp_path / "a.neardup", TEXTS, []) as store:
        assert remembered(store) is None
        with pytest.raises(StoreError, match="no clusters are stored; run neardup cluster first"):
            Pruning(store)
        # A clustering that found nothing is one.
        cluster(store, rule("simhash-doc@0bits"), dry_run=True)
        assert remembered(store) is None
    with filled(tmp_path / "b.neardup", {"a": TEXTS["d000"]}, []) as store:
        cluster(store, rule("simhash-doc@0bits"))
        assert list(Pruning(store).surplus()) == []


NOTE = ClusterSettings(rule("minhash@0.6")).note()


def different(change: Callable[[ClusteringNote], ClusteringNote]) -> Sequence[ClusteringNote]:
    return NOTE, change(NOTE)


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        (different(lambda note: replace(note, rule="minhash@0.7")), "by different rules"),
        (different(lambda note: replace(note, bound="0.5")), "by different rules"),
        (different(lambda note: replace(note, canonical="longest")), "by different rules"),
        (different(lambda note: replace(note, finished=False)), "clustering of news-2 was not finished"),
    ],
)
def test_indices_behind_one_name_have_to_agree(notes: Sequence[ClusteringNote], said: str) -> None:
    with pytest.raises(StoreError, match=rf"{said}.*run neardup cluster again"):
        agreed({f"news-{number}": note for number, note in enumerate(notes, 1)})
    later = replace(NOTE, at="2999")
    assert agreed({"news-1": later, "news-2": NOTE}) == NOTE
