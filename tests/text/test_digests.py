"""The digest of all that was read of a document: what it tells apart, and what it does not."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest

from indexer.core.text import folded_text, text_digest
from indexer.ingest.sketching import read_digest_of
from indexer.model import Document, Record, Ref
from indexer.text.digests import read_digest, with_title


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tea  AND\n\tcakes", "tea and cakes"),
        ("Cafe\u0301 zwei", "café ZWEI"),
        ("co\u00adop\u200b here", "coop here"),
        ("ΜΆΪΟΣ ΌΛΟΣ", "μάϊος όλος"),
        ("a\x00b\u3000c", "a b c"),
        ("to buy:\n• tea\n - rye\n* oats\n\u2022\tmilk", "to buy:\ntea\nrye\noats\nmilk"),
        ("at –5 and −5", "at -5 and -5"),
        ("owes –€5", "owes -€5"),
    ],
)
def test_case_space_and_ignorable_characters_do_not_count(one: str, other: str) -> None:
    assert folded_text(one) == folded_text(other) == folded_text(one.encode())
    assert read_digest(one) == read_digest(other) == text_digest(one).hex()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("it costs 10⁶", "it costs 106"),
        ("in Maßen", "in Massen"),
        ("Tea™", "TeaTM"),
        ("☑ yes ☐ no", "☐ yes ☑ no"),
        ("costs ↑", "costs ↓"),
        ("5½ pots", "51⁄2 pots"),
        ("at –5", "at 5"),
        ("at -5", "at 5"),
        ("owes -$5", "owes $5"),
        ("pages 5–6", "pages 5-6"),
        ("tea - rye", "tea rye"),
        ("-\t5", "5"),
        ("login 🟢", "login 🔴"),
    ],
)
def test_everything_else_counts(one: str, other: str) -> None:
    assert read_digest(one) != read_digest(other)
    assert text_digest(one) != text_digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Letters of Unicode 16 and 17, which older Pythons don't know.
        ("\U00016ea0", "\U00016ebb"),
        ("\ua7dc", "\u019b"),
        ("\U000105d2\u0307", "\U000105c9"),
        # A small letter composes with the mark, its capital does not.
        ("J\u030c", "\u01f0"),
    ],
)
def test_letters_fold_as_the_core_knows_them(one: str, other: str) -> None:
    assert folded_text(one) == folded_text(other) == other.encode()


def test_letters_that_this_python_knows_fold_as_it_does() -> None:
    known = [chr(code) for code in range(0x250) if not chr(code).isspace()]
    known += [
        chr(code) for code in range(0x370, 0x33000, 7) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Cf")
    ]
    for each in known:
        text = f"a{each}\u0301 {each}b"
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
        assert folded_text(text).split() == folded_text(folded).split(), ascii(each)


def test_titles_and_parts_that_are_left_out_count() -> None:
    page = Document("Tea for two\nin the garden", "Tea for two", format="html")
    digests = {
        read_digest_of(each)
        for each in (
            page,
            replace(page, title="Tea for ten"),
            replace(page, left_out=(("footer", "page 3"),)),
            replace(page, left_out=(("footer", "page 4"),)),
            replace(page, left_out=(("header", "page 4"),)),
        )
    }
    assert len(digests) == 5
    # What the text begins with, or what a plain text is called for one of its lines, says nothing more.
    assert read_digest_of(page) == read_digest(page.text) == with_title(read_digest(page.text), "")
    assert read_digest_of(replace(page, format="text", title="in the garden")) == read_digest(page.text)
    # The order of what stands around a text is the extractor's.
    around = (("footer", "a"), ("header", "b"))
    assert read_digest("x", left_out=around) == read_digest("x", left_out=around[::-1])
    assert with_title(read_digest("x"), "a") != with_title(read_digest("x"), "b")


def record(**fields: object) -> Record:
    digest = text_digest("a").hex()
    return replace(Record(Ref("a"), text_digest=digest, read_digest=read_digest("a")), **fields)  # type: ignore[arg-type]


def test_records_are_identical_by_both_digests() -> None:
    assert record().is_identical(record(title="b"))
    assert not record().is_identical(record(read_digest=read_digest("a", "b")))
    assert not record().is_identical(record(text_digest=""))
    assert not record(text_digest="").is_identical(record(text_digest=""))


def test_two_mails_are_one_by_their_message_id_or_their_head() -> None:
    head = {"from": "Ann", "to": "Bob", "date": "2026-01-05"}
    mail = record(source="/in/1.eml", title="Tea", metadata={**head, "message_id": "<1>"})
    assert mail.is_identical(replace(mail, title="Fwd: Tea", metadata={"message_id": "<1>"}))
    assert mail.is_identical(replace(mail, source="/out/1.eml", metadata=head))
    assert not mail.is_identical(replace(mail, title="Rye", metadata=head))
    assert not mail.is_identical(replace(mail, metadata={**head, "date": "2026-01-06"}))
    # What is no mail says nothing of a sender.
    assert mail.is_identical(replace(mail, source="/in/1.txt"))
