"""The passages that questions have in common with what is near them, as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import indexer
from indexer.errors import ExtractionError, UsageError
from indexer.library.collection import Collection
from indexer.matching.asking import Answered, Unanswered, lookup_each, stored_questions
from indexer.matching.excerpts import Excerpts
from indexer.matching.lookups import NearDocument
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import Fingerprint, Ref
from indexer.schemes.testing import document
from indexer.text.excerpts import MOST, shortened
from tests.extract.made_pdf import make_pdf

CHAPTERS = [document(seed, 300) for seed in range(4)]
PAGES = [[" ".join(chapter.split()[at : at + 10]) for at in range(0, 300, 10)] for chapter in CHAPTERS]


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    (tmp_path / "book.pdf").write_bytes(make_pdf(PAGES))
    (tmp_path / "many.txt").write_text(" ".join(f"{CHAPTERS[1]} {document(seed, 30)}" for seed in range(100, 250)))
    with indexer.open(tmp_path / "store.db", schemes=["passages"]) as opened:
        opened.index([tmp_path / "book.pdf", tmp_path / "many.txt"])
        yield opened


def matches(collection: Collection, *questions: Question | Unanswered) -> list[dict[str, NearDocument]]:
    rule = parse_rule("passages@0.2", collection.store)
    answers = list(lookup_each(collection.store, rule, questions, added=Excerpts(collection.store)))
    return [
        {Path(match.record.ref.id).stem: match for match in each.answer.matches}
        for each in answers
        if isinstance(each, Answered)
    ]


def test_a_passage_is_shown_where_it_stands(collection: Collection) -> None:
    text = f"{document(60, 50)} {' '.join(CHAPTERS[2].split()[20:220])} {document(61, 50)}"
    [[(_, match)]] = [list(each.items()) for each in matches(collection, Question("asked", text))]
    assert match.label == "shares"
    assert match.shares is not None
    assert match.shares[0] == pytest.approx(200 / 300, abs=0.01)
    [excerpt] = match.excerpts
    assert (match.passages, match.longest, excerpt.words) == (1, 200, 200)
    assert (excerpt.query.word, excerpt.query.words, excerpt.query.page) == (50, 200, None)
    assert text[excerpt.query.start : excerpt.query.end] == " ".join(CHAPTERS[2].split()[20:220])
    assert (excerpt.match.word, excerpt.match.page) == (620, 3)
    assert excerpt.match.text.startswith(" ".join(CHAPTERS[2].split()[20:24]))
    assert excerpt.match.text.endswith(" ".join(CHAPTERS[2].split()[217:220]))
    assert excerpt.match.before == " ".join(CHAPTERS[2].split()[:20])[-40:].split(" ", 1)[1]
    assert excerpt.query.after == " ".join(document(61, 50).split())[:40].rsplit(" ", 1)[0].strip()


def test_many_passages_are_counted_and_the_longest_shown(collection: Collection) -> None:
    found = matches(collection, Question("asked", CHAPTERS[1]))[0]
    assert found["many"].passages == 150
    assert len(found["many"].excerpts) == MOST
    assert found["many"].shares == (1.0, pytest.approx(300 / 330, abs=0.02))
    assert found["book"].excerpts[0].match.page in (1, 2)


def test_stored_documents_are_asked_about_too(collection: Collection) -> None:
    names = {Path(record.ref.id).stem: record.ref for record in collection.store.scan(sketches=False)}
    asked = stored_questions(collection.store, [names["book"].id], lambda _, refs: refs[0])
    [found] = matches(collection, *asked)
    assert set(found) == {"many"}
    query = found["many"].excerpts[0].query
    assert query.words in (300, 301)
    assert query.page == 1 + query.word // 300


def test_what_can_t_be_read_is_named(collection: Collection, tmp_path: Path) -> None:
    (tmp_path / "many.txt").unlink()
    rule = parse_rule("passages@0.2", collection.store)
    asked = [
        Question("asked", CHAPTERS[1]),
        *stored_questions(collection.store, [next(ref_of(collection, "many"))], only),
    ]
    one, other = lookup_each(collection.store, rule, asked, added=Excerpts(collection.store))
    assert isinstance(one, Answered)
    assert {Path(match.record.ref.id).stem: bool(match.excerpts) for match in one.answer.matches} == {
        "book": True, "many": False
    }  # fmt: skip
    assert [Path(ref.id).stem for ref in one.answer.unread] == ["many"]
    assert isinstance(other, Unanswered)
    assert isinstance(other.error, ExtractionError)


def ref_of(collection: Collection, name: str) -> Iterator[str]:
    return (record.ref.id for record in collection.store.scan(sketches=False) if Path(record.ref.id).stem == name)


def only(name: str, refs: object) -> Ref:
    return Ref(name)


def test_a_hash_has_no_text(collection: Collection) -> None:
    [book] = ref_of(collection, "book")
    [record] = collection.store.get([Ref(book)])
    assert record is not None
    assert isinstance(record.fingerprint, Fingerprint)
    question = Question("sd1-x", fingerprint=record.fingerprint)
    [answer] = lookup_each(
        collection.store, parse_rule("simhash-doc@3bits"), [question], added=Excerpts(collection.store)
    )
    assert isinstance(answer, Unanswered)
    assert isinstance(answer.error, UsageError)
    assert "no text" in str(answer.error)


def test_long_parts_are_shortened_in_the_middle() -> None:
    assert shortened("a \n b") == "a b"
    words = [f"w{number}" for number in range(100)]
    assert shortened(" ".join(words)).startswith("w0 w1 ")
    assert shortened(" ".join(words)).endswith(" w98 w99")
    assert len(shortened(" ".join(words))) <= 165
    assert shortened("x" * 1000) == f"{'x' * 80} ... {'x' * 80}"
