"""The stream of outcomes: one for each document, whatever became of it, and few documents held at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.extract.base import Extracted, Failed, Item, Limits, Options
from indexer.extract.document import read_document
from indexer.ingest.outcomes import read, sketching, texts
from indexer.ingest.short_texts import BATCH_TEXTS, LONGEST, ShortTexts, short_text
from indexer.ingest.sketching import sketch_document
from indexer.ingest.sources import Input, Rejected
from indexer.schemes.registry import scheme

JOBS = 2
AHEAD = 3 * JOBS

Given = Item[int] | Failed[str]


def given_items(kinds: list[bool]) -> list[Given]:
    return [
        Item(place, f"text {place}".encode(), format="text") if good else Failed(f"n{place}", "gone", f"at {place}")
        for place, good in enumerate(kinds)
    ]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.booleans(), max_size=40))
def test_every_document_has_one_outcome(kinds: list[bool]) -> None:
    items = given_items(kinds)
    taken = 0

    def watched() -> Iterator[Given]:
        nonlocal taken
        for item in items:
            taken += 1
            yield item

    found: dict[int, str] = {}
    failed: list[Failed[str] | Failed[int]] = []
    with texts(JOBS, Options(), Limits()) as workers:
        for number, outcome in enumerate(workers.outcomes(watched()), 1):
            assert taken <= number + AHEAD
            if isinstance(outcome, Extracted):
                assert outcome.key not in found
                found[outcome.key] = outcome.document.text
            else:
                failed.append(outcome)
                # At once, before anything else is taken.
                assert outcome is items[taken - 1]
    assert found == {place: f"text {place}" for place, good in enumerate(kinds) if good}
    assert failed == [item for item in items if isinstance(item, Failed)]


def test_what_workers_can_not_extract_fails_under_its_key() -> None:
    items = [Item("binary", bytes(range(256)) * 10), Item("plain", b"a text", format="text")]
    with texts(1, Options(), Limits()) as workers:
        outcomes = {outcome.key: outcome for outcome in workers.outcomes(items)}
    binary, plain = outcomes["binary"], outcomes["plain"]
    assert isinstance(binary, Failed)
    assert binary.reason == "unsupported"
    assert isinstance(plain, Extracted)
    assert plain.document.text == "a text"


words = st.lists(st.sampled_from(["tea", "Tee", "茶", "2024", "ﬁne", "\x07", "\n", "\xad", "a\u0301", ""]), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(words.map(" ".join) | st.text(max_size=40), max_size=5), st.booleans())
def test_texts_that_need_no_worker_come_out_as_from_one(texts: list[str], lean: bool) -> None:
    schemes = [] if lean else [scheme("minhash")]
    items = [Item(place, text.encode("utf-8", "replace"), format="text") for place, text in enumerate(texts)]
    direct = ShortTexts(1, Options(), Limits(), schemes)
    taken = [item.key for item in items if direct.take(item)]
    found = {done.key: done for done in direct.ready(all_of_them=True)}
    direct.close()
    assert list(found) == taken
    for place, text in enumerate(texts):
        data = items[place].data
        document = read_document(data, "", Options(format="text"), Limits())
        if place in found:
            assert found[place].made == sketch_document(schemes, document)
            assert found[place].document == replace(document, text="")
            read = short_text(items[place])
            assert read is not None
            assert read[0] == document.text
        else:
            assert not document.text.strip() or "\0" in text or text.startswith("\ufeff")


def test_long_and_other_texts_are_left_to_the_workers() -> None:
    direct = ShortTexts(1, Options(), Limits(), [])
    assert direct.take(Item("", b"words", format="text"))
    for data, kind in ((b"x" * (LONGEST + 1), "text"), (b"words", None), (b"<p>", "html"), (b"caf\xe9", "text")):
        assert not direct.take(Item("", data, format=kind))  # type: ignore[arg-type]
    direct.close()
    assert not ShortTexts.serves([scheme("spotsigs")])


def test_texts_are_taken_a_few_batches_ahead() -> None:
    taken = 0

    def watched() -> Iterator[Item[int]]:
        nonlocal taken
        for taken in range(1, 2001):
            yield Item(taken, f"some words of text {taken}".encode(), format="text")

    with sketching(JOBS, Options(), Limits(), [scheme("minhash")]) as sketches:
        for number, outcome in enumerate(sketches.outcomes(watched()), 1):
            assert outcome.key == number
            assert taken <= number + BATCH_TEXTS * (JOBS + 2)


def test_sketches_come_without_the_text() -> None:
    schemes = [scheme("minhash")]
    text = "one two three four five six seven eight nine ten"
    with texts(1, Options(), Limits()) as workers:
        [plain] = workers.outcomes([Item(1, text.encode(), format="text")])
    with sketching(1, Options(), Limits(), schemes) as sketches:
        [made] = sketches.outcomes([Item(1, text.encode(), format="text")])
    assert isinstance(plain, Extracted)
    assert isinstance(made, Extracted)
    assert made.document.text == ""
    assert made.made == sketch_document(schemes, plain.document)


def test_inputs_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"small")
    (tmp_path / "large").write_bytes(b"x" * 101)
    inputs: list[Input | Rejected] = [
        Input("a", "s", str(tmp_path / "small")),
        Input("b", "s", str(tmp_path / "large")),
        Rejected("c", "s", "malformed", "said the source"),
        Input("d", "s", str(tmp_path / "none")),
        Input("e", "s", data=b"at hand", format="text"),
    ]
    found = list(read(inputs, 100))
    assert [item.key for item in found] == inputs
    kinds = [item.reason if isinstance(item, Failed) else item.data for item in found]
    assert kinds == [b"small", "too-large", "malformed", "unreadable", b"at hand"]
