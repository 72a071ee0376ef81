"""Renditions: one work in another format or frame, and what is none."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections import Counter

import pytest

from indexer.clustering.verdicts import Permitted
from indexer.relations.comparing import relate
from indexer.relations.relation import COPIES
from indexer.relations.wording import Wording
from tests.relations.labelled import KINDS, Writer, labelled
from tests.relations.renderings import in_two_formats, manual
from tests.relations.reprints import FRAMES, Story, detail, reprints, story

CLOSE = (*COPIES, "rendition")


def word(left: str, right: str, *, other_format: bool = False) -> str:
    """The relation of two texts in a word, the same in both directions and where only the first fact is asked for."""
    one, other = Wording(left), Wording(right)
    found = relate(one, other, other_format=other_format)
    for back in (
        relate(other, one, other_format=other_format),
        relate(one, other, other_format=other_format, brief=True),
    ):
        assert {back.word, found.word} <= {"part", "contains"} or back.word == found.word
    return found.word


def test_reprints_in_twenty_frames_are_renditions_and_corrected_ones_forms() -> None:
    found = Counter[tuple[str, str]]()
    for pair in reprints(1):
        found["reprint", word(pair.left, pair.right)] += 1
        found["longer", word(pair.left, pair.longer)] += 1
        found["corrected", word(pair.left, pair.corrected)] += 1
        first, *_ = relate(Wording(pair.left), Wording(pair.corrected)).facts
        assert int(first.left.strip("()")) + 1 == int(first.right.strip("()"))
    pairs = found.total() / 3
    assert found["corrected", "form"] == pairs
    assert sum(found["reprint", each] for each in CLOSE) >= 0.95 * pairs, found
    assert sum(found["longer", each] for each in CLOSE) >= 0.95 * pairs, found


def test_a_rendition_stays_whatever_else_may_go() -> None:
    told = story(1)
    left, right = (Wording(FRAMES[number](told, detail(number))) for number in (1, 2))
    found = relate(left, right)
    assert found.word == "rendition"
    assert not found.says_less
    assert not found.may_hold
    assert not Permitted.named("form,edited").lets_go(found)
    assert str(found).startswith(f"rendition: {found.common:,} words in common; ")
    assert found.common >= len(" ".join(told.paragraphs).split())


def _letter(number: int, more: str = "") -> str:
    person, place = detail(number).person, story(number).place
    return "\n".join((
        "The Harbour Office", "", person, f"{number + 3} Mill Lane", place, "", f"{number + 1} May 2031",
        f"Invoice no. {number + 1200}", "", f"Dear {person},", "", *story(0).paragraphs, "", "Yours sincerely",
        "The Harbour Office", more,
    ))  # fmt: skip


@pytest.mark.parametrize("other_format", [False, True])
@pytest.mark.parametrize("more", ["", "Please note our new opening hours"])
def test_letters_and_invoices_with_other_facts_at_the_head_are_forms(more: str, *, other_format: bool) -> None:
    for number in range(1, 6):
        assert word(_letter(0), _letter(number, more), other_format=other_format) == "form"


def _report(month: str, seed: int, share: float = 1.0) -> str:
    """A report of one month: the same sentences with other figures, or some other sentences."""
    figures = iter(range(seed * 31, 10_000, 7))
    told = "\n\n".join(story(0).paragraphs)
    text = re.sub(r"\((\d+)\)", lambda _: f"({next(figures)})", told) if share == 1.0 else told
    own = Writer("en", 500 + seed)
    paragraphs = text.split("\n\n")
    if share < 1.0:
        paragraphs[2] = " ".join(own.sentence() for _ in range(3))
    return "\n\n".join((f"Report of the harbour for {month}", *paragraphs))


@pytest.mark.parametrize("other_format", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.8])
def test_siblings_are_no_renditions(share: float, *, other_format: bool) -> None:
    for seed in range(1, 8):
        left, right = _report("May", 0, share), _report("June", seed, share)
        if other_format:
            right = _as_markdown(right)
        assert word(left, right, other_format=other_format) not in CLOSE


def _as_markdown(text: str) -> str:
    """A text as another format writes it: emphasis, a heading and marks of notes."""
    head, *rest = text.split("\n\n")
    marked = [re.sub(r"\b(\w{6,})\b", r"*\1*", part, count=1) for part in rest]
    marked[1] = marked[1].replace(". ", ".[1] ", 1)
    return "\n\n".join((f"# {head}", *marked, "[1]: a note of the editor, who has seen the harbour himself"))


def test_marks_of_a_format_make_a_rendition_of_two_formats_only() -> None:
    text = "\n\n".join((story(3).title, *story(3).paragraphs))
    assert word(text, _as_markdown(text), other_format=True) == "rendition"
    assert word(text, _as_markdown(text)) in ("form", "reworded")


def test_a_manual_in_two_formats_is_a_rendition_and_a_corrected_one_a_form() -> None:
    found = Counter[tuple[str, bool]]()
    for seed in range(3):
        given = manual(seed)
        changed = {
            "a number": given.corrected("of 23 feet", "of 24 feet"),
            "a longer number": given.corrected("of 23 feet", "of 23.5 feet"),
            "a negation": given.corrected("{not} left", "left"),
        }
        for left, right in in_two_formats(given, given):
            found["the same", word(left, right, other_format=True) in CLOSE] += 1
        for kind, other in changed.items():
            for left, right in in_two_formats(given, other):
                found[kind, word(left, right, other_format=True) == "form"] += 1
    assert {right for _, right in found} == {True}, found


def test_another_sign_before_a_number_makes_a_form_and_other_brackets_none() -> None:
    told = "\n\n".join(story(2).paragraphs)
    cold, warm, noted = (f"{told}\n\nThe water has {sign} degrees.\n\n{told[:400]}" for sign in ("-5", "+5", "(5)"))
    assert word(cold, warm, other_format=True) == "form"
    assert word(cold.replace("-5", "[5]"), noted, other_format=True) in CLOSE


def test_a_number_that_begins_a_line_within_a_sentence_numbers_no_section() -> None:
    lines = textwrap.wrap(" ".join(story(1).paragraphs), 72)
    places = [n for n in range(1, len(lines)) if lines[n - 1][-1].isalpha() and lines[n].split()[0].isalpha()]
    for place in places[:5]:
        first, rest = lines[place].split(maxsplit=1)
        left, right = (
            "\n".join([*lines[:place], f"{digit * len(first)} {rest}", *lines[place + 1 :]]) for digit in "12"
        )
        assert word(left, f"Menu\n\n{right}\n\nContact", other_format=True) == "form"


def test_clauses_in_the_sentences_of_one_side_make_no_rendition() -> None:
    given = manual(4)
    told = "A gate of {} feet is {{not}} left open at night"
    clause = "for the boats of the town and those of a visitor"
    other = given
    for number, (title, (first, *rest)) in enumerate(given.sections):
        sentence = told.format(number + 21)
        section = (title, (first.replace(sentence, f"{sentence} {clause}"), *rest))
        other = other._replace(sections=(*other.sections[:number], section, *other.sections[number + 1 :]))
    for left, right in in_two_formats(given, other):
        assert word(left, right, other_format=True) not in CLOSE


def test_paragraphs_of_one_side_inside_the_body_make_an_edited_text() -> None:
    given = manual(6)
    added = (
        "If you are the owner of one of the boats, you may ask for a key to the gate, and it is yours for as long as "
        "you are with us. You have to give it back to the keeper when you go, or to somebody who is there for him."
    )
    title, told = given.sections[2]
    other = given._replace(sections=(*given.sections[:2], (title, (*told[:2], added, *told[2:])), *given.sections[3:]))
    for left, right in in_two_formats(given, other):
        assert word(left, right, other_format=True) == "edited"
        relation = relate(Wording(left), Wording(right), other_format=True)
        assert "only on the right" in relation.evidence
        assert not Permitted.named("edited").lets_go(relation)


def test_paragraphs_of_one_side_behind_the_body_make_an_edited_text_unless_they_have_a_heading() -> None:
    given = manual(6)
    added = (
        "By the use of a gate you agree that the keeper is not to be asked for what you lose there. You are the one "
        "who pays for what is lost by those who come after you. It is so for as long as it is your boat."
    )
    for left, right in in_two_formats(given, given):
        assert word(left, f"{right}\n\nTerms of use\n\n{added}", other_format=True) in CLOSE
        # Behind a last line that is no sentence they may be its section.
        if right.endswith("."):
            assert word(left, f"{right}\n\n{added}", other_format=True) == "edited"


def test_manuals_by_one_template_are_no_renditions() -> None:
    given = manual(5)
    for old, new in (("v7.1.0", "v7.2.0"), (given.name, "harbour-xyz")):
        sibling = given.corrected("of 23 feet", "of 42 feet")
        sibling = sibling._replace(name=sibling.name.replace(old, new), version=sibling.version.replace(old, new))
        for left, right in in_two_formats(given, sibling):
            assert word(left, right, other_format=True) not in CLOSE


def test_what_a_change_of_a_text_lets_stay_stays_also_in_other_formats() -> None:
    for pair in itertools.islice(labelled(1, sizes=(24,)), 0, None, 7):
        _, left_goes, right_goes = KINDS[pair.kind]
        for one, other, goes in ((pair.left, pair.right, left_goes), (pair.right, pair.left, right_goes)):
            relation = relate(Wording(one), Wording(other), other_format=True)
            assert goes or not Permitted().lets_go(relation)


def test_a_headline_alone_is_no_frame() -> None:
    told = story(5)
    one = Story("Minutes of the meeting", told.paragraphs, told.place)
    texts = ["\n\n".join((title, *one.paragraphs)) for title in ("Minutes of May", "Minutes of June")]
    assert word(*texts) == "form"


def _page_of(name: str, does: str) -> str:
    told = "\n\n".join((*story(7).paragraphs, f"Say {name} with a boat, or {name} -f for all of them."))
    return f"{name}\n\n{does} the boats of a harbour\n\n{name} [-f] boat\n\n{told}"


def test_pages_that_name_another_command_are_no_renditions_in_two_formats() -> None:
    one, other = _page_of("moorboats", "Moor"), _page_of("countboats", "Count")
    for left, right in ((one, other), (other, one)):
        marked = f"---\ntitle: {right}\n---"
        assert word(left, marked, other_format=True) not in CLOSE
        assert word(left, f"---\ntitle: {left}\n---", other_format=True) in CLOSE


def test_a_headline_with_another_number_makes_a_form_in_another_frame() -> None:
    for number in range(4):
        told = story(number)
        one, other = (
            told._replace(title=f"Harbour master counts {boats} new boats behind the gates") for boats in (30, 31)
        )
        for frame in (1, 4, 7):
            left, right = FRAMES[frame](one, detail(1)), FRAMES[frame + 8](other, detail(2))
            assert word(left, right) == "form"
            assert word(left, FRAMES[frame + 8](one, detail(2))) in CLOSE


def test_mails_above_one_footer_are_no_renditions() -> None:
    footer = " ".join(story(11).paragraphs[:3])
    for seed in range(6):
        writer, other = Writer("en", 70 + seed), Writer("en", 90 + seed)
        left, right = (
            f"{hello}\n\n{' '.join(each.sentence() for _ in range(3))}\n\n{name}\nfrom the {place}\n\n{footer}"
            for hello, each, name, place in (
                ("Hello all", writer, "Ann", "quay"),
                ("Good morning", other, "Bob", "mill"),
            )
        )
        assert word(left, right) not in CLOSE


def test_a_menu_in_common_is_no_body() -> None:
    menu = "\n".join(f"{first} {second}" for first in ("Boats", "Sails", "Nets", "Ropes") for second in MENU.split())
    left = f"Home\n{menu}\nThe Coast Daily\nAll about oysters"
    right = f"Welcome\nto this site\n{menu}\nprinted by a machine\nwith ink"
    assert word(left, right) not in CLOSE


MENU = "news shops prices repairs history pictures records letters houses owners builders painters schools lamps"


def test_contents_of_one_format_are_part_of_its_frame() -> None:
    given = manual(3)
    headings = [f"What you can do with it if you are at the {title[16:]}" for title, _ in given.sections]
    given = given._replace(
        sections=tuple((head, told) for head, (_, told) in zip(headings, given.sections, strict=True))
    )
    for left, right in in_two_formats(given, given):
        first, rest = left.split("\n\n", 1)
        assert (
            word("\n\n".join((first, "Table of contents\n" + "\n".join(headings), rest)), right, other_format=True)
            in CLOSE
        )
