"""Texts with and without marks, tracking parameters and link targets: layout on one side, a difference on both."""

from __future__ import annotations

import pytest

from indexer.relations.comparing import relate
from indexer.relations.wording import Wording
from indexer.text.words import marks_differ

HARBOUR = "رست السفينة في الميناء قبل الفجر ثم نزل البحارة الى السوق القديم ومعهم صناديق التمر والزيت"
MARKED = "رَسَتِ السَّفينةُ في الميناءِ قَبلَ الفَجرِ ثُمَّ نَزَلَ البَحّارةُ إلى السّوقِ القَديمِ ومَعَهُم صَناديقُ التَّمرِ والزَّيتِ"


def said(left: str, right: str) -> str:
    return relate(Wording(left), Wording(right)).word


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("كَتَبَ", "كتب", False),
        ("كَتَبَ", "كُتِبَ", True),
        ("كتَب", "كُتب", False),
        ("مدرّسة", "مُدَرِّسة", False),
        ("أكل", "اكل", False),
        ("أن", "إن", True),
        ("יָד", "יד", False),
        ("סֵפֶר", "סַפָּר", True),
        ("کی", "كي", False),
    ],
)
def test_words_that_their_marks_tell_apart(one: str, other: str, differ: bool) -> None:
    assert marks_differ(one, other) == marks_differ(other, one) == differ


def test_marks_on_one_side_are_layout_and_other_ones_on_both_another_word() -> None:
    assert said(HARBOUR, MARKED) == said(MARKED, HARBOUR) == "reflowed"
    assert said(MARKED, MARKED) == "identical"
    other = MARKED.replace("نَزَلَ", "نُزِلَ")
    found = relate(Wording(MARKED), Wording(other))
    assert (found.word, found.replaced) == ("reworded", (("نَزَلَ", "نُزِلَ"),))


SAID = "The ferry leaves the north pier at seven, and the island is reached before the shops open in the morning"


def test_who_passed_a_link_on_is_layout_and_where_it_leads_is_not() -> None:
    linked = f"{SAID}: https://ferry.example/times?line=4&utm_source={{}}"
    assert said(linked.format("mail"), linked.format("feed")) == "reflowed"
    assert said(linked.format("mail"), f"{SAID}: https://ferry.example/times?line=4") == "reflowed"
    assert said(linked.format("mail"), f"{SAID}: https://ferry.example/times?line=7") == "form"


def test_targets_of_markdown_count_where_both_have_them() -> None:
    linked = SAID.replace("north pier", "[north pier]({})")
    assert said(linked.format("https://a.example/piers/north.html"), SAID) == "reflowed"
    assert said(linked.format("docs/north.md"), SAID) == "reflowed"
    assert said(linked.format("docs/north.md"), linked.format("docs/south.md")) != "reflowed"
