"""Many questions at once have the answers that each has alone, in their order, a few at a time."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import ExtractionError, UsageError
from indexer.extract.base import Failed, Item, Limits, Options
from indexer.ingest.sources import Input, Rejected
from indexer.matching.asking import TOGETHER, Answered, ReadingSettings, Unanswered, lookup_each, questions_of
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import SIMHASH_DOC
from indexer.schemes import registry
from indexer.stores import Store
from tests.planted import empty, put, record

RULES = ("simhash-doc@3bits", "simhash-doc@3bits/minhash@0.6+minhash@0.6", "minhash@0.5+containment@0.9")
WORDS = [f"word{number}" for number in range(3000)]
HOW = ReadingSettings(1, Options(), Limits())


def text_of(seed: int) -> str:
    """One of 40 texts, in a version of its own."""
    words = random.Random(seed % 40).choices(WORDS, k=120)
    words[seed % 100] = f"own{seed}"
    return " ".join(words)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("together")
    minhash = registry.scheme("minhash")
    with empty(folder / "s.neardup", [minhash]) as made:
        for seed in range(150):
            (folder / f"{seed}.txt").write_text(text_of(seed))
            put(made, [record(f"{seed}.txt", text_of(seed), [minhash], source=str(folder / f"{seed}.txt"))])
        yield made


Asked = Question | Unanswered
BAD = Unanswered("bad", ExtractionError("malformed", "bad: no document"))


def asked(store: Store, seed: int) -> Asked:
    """A text, a stored document, one without words, or one that can't be read."""
    if seed % 7 == 6:
        return BAD
    if seed % 11 == 5:
        return Question("empty", text="...")
    if seed % 3:
        return Question(f"text {seed}", text=text_of(seed))
    [refs] = store.find_each([f"{seed % 150}.txt"])
    [found] = store.get(refs)
    assert found
    return Question(found.ref.id, record=found, ref=found.ref)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(0, 300), max_size=130), st.sampled_from(RULES), st.none() | st.integers(0, 3), st.booleans()
)
def test_the_answers_are_those_of_each_alone(
    store: Store, seeds: list[int], written: str, limit: int | None, lax: bool
) -> None:
    rule, least = parse_rule(written, store), 0.0 if lax else None
    questions = [asked(store, seed) for seed in seeds]
    found = list(lookup_each(store, rule, questions, limit=limit, at_least=least))
    assert len(found) == len(questions)
    for question, each in zip(questions, found, strict=True):
        if isinstance(question, Unanswered):
            assert each is question
            continue
        assert isinstance(each, Answered)
        assert each.question is question
        assert each.answer == lookup(store, rule, question, limit=limit, exclude=question.ref, at_least=least)


def test_few_are_read_ahead(store: Store) -> None:
    taken = 0

    def questions(size: int) -> Iterator[Question]:
        nonlocal taken
        for seed in range(400):
            taken += 1
            yield Question(str(seed), text=text_of(seed) + " x" * (size // 2))

    rule = parse_rule(RULES[0], store)
    for size, most in ((0, TOGETHER), (3 << 20, 3)):
        taken = 0
        answers = lookup_each(store, rule, questions(size))
        for number in range(60):
            next(answers)
            assert taken <= number + most


def test_what_one_question_lacks_is_its_own_fault_and_what_the_rule_lacks_is_not(store: Store) -> None:
    rule = parse_rule("minhash@0.6", store)
    bare = Question("bare", record=record("bare", text_of(1), []))
    first, second, third = lookup_each(store, rule, [Question("a", text=text_of(1)), bare, Question("b", text="?")])
    assert isinstance(first, Answered)
    assert first.answer.total > 1
    assert isinstance(second, Unanswered)
    assert "bare has no sketch of minhash" in str(second.error)
    assert isinstance(third, Answered)
    for wrong, limit in ((rule, -1), (parse_rule(f"{SIMHASH_DOC}@9bits"), 1)):
        with pytest.raises(UsageError):
            next(lookup_each(store, wrong, [BAD], limit=limit))


def test_documents_become_questions_in_order_each_with_its_own_identity(store: Store) -> None:
    folder = str(Path(str(store.path)).parent)  # type: ignore[attr-defined]
    items: list[Item[Input] | Failed[Input | Rejected]] = []
    for seed in range(70):
        path = f"{folder}/{seed}.txt"
        if seed % 10 == 3:
            items.append(Failed(Rejected(path, path, "special-file", "a pipe"), "special-file", "a pipe"))
        elif seed % 10 == 4:
            path = f"{folder}/{seed}.pdf"
            items.append(Item(Input("", path, path), b"%PDF-1.4 nothing", path))
        elif seed % 2:
            items.append(Item(Input("", path, path), text_of(seed).encode(), path))
        else:
            # A row of a table is at hand, and has an id of its own.
            items.append(Item(Input(f"{seed}.txt", path, "", b"", "text", "Title"), text_of(seed).encode(), "", "text"))
    found = list(questions_of(store, items, HOW, folder))
    for seed, each in enumerate(found):
        name = f"{folder}/{seed}.{'pdf' if seed % 10 == 4 else 'txt'}"
        if seed % 10 in (3, 4):
            assert isinstance(each, Unanswered)
            reason = "special-file" if seed % 10 == 3 else "malformed"
            assert (each.name, str(each.error).startswith(f"{reason}: {name}: ")) == (name, True)
            continue
        assert isinstance(each, Question)
        assert each.text == text_of(seed)
        assert each.ref is not None
        assert each.ref.id == f"{seed}.txt"
        assert (each.name, each.title == "Title") == ((name, False) if seed % 2 else (f"{seed}.txt", True))
    # One of another source is another document, whatever its id.
    other = Item(Input("1.txt", "https://example.org/1.txt"), text_of(1).encode(), "", "text")
    [question] = questions_of(store, [other], HOW, folder)
    assert isinstance(question, Question)
    assert question.ref is None


def test_a_run_that_is_left_leaves_no_worker(store: Store) -> None:
    import threading

    def items() -> Iterable[Item[Input]]:
        for seed in range(200):
            yield Item(Input("", f"/{seed}.html", f"/{seed}.html"), f"<p>{text_of(seed)}".encode(), f"{seed}.html")

    before = threading.active_count()
    questions = questions_of(store, items(), HOW)
    next(questions)
    questions.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
