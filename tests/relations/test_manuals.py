"""A manual page beside the same page, or that of a sibling, in another format."""

from __future__ import annotations

import pytest

from indexer.clustering.relations import Permitted
from indexer.relations.comparing import relate
from indexer.relations.lexicon import Lexicon
from indexer.relations.wording import Wording

BODY = """{synopsis}
{description}
{shown} copies what the first place holds to the second one. The places may not overlap, and the second must be large
enough to take the copy. Programmers should beware of places that are too small for it, and of those that are gone when
the call comes. The call waits for {waits}, and is then answered with the number of what was copied. Errors are put into
the queue of events.
{see}
"""


def manual(name: str, others: str, waits: str = "sleep(3)", shown: str = "", what: str = "copies things") -> str:
    """The page as a manual shows it: `others` with underscores and sections."""
    body = BODY.format(
        synopsis="SYNOPSIS",
        description="DESCRIPTION",
        shown=shown or name.replace("_", " "),
        waits=waits,
        see="SEE ALSO",
    )
    return f"NAME\n{name} - {what}\n{body}{others}\n"


def page(title: str, others: str, waits: str = "sleep", shown: str = "", what: str = "copies things") -> str:
    """The same page as HTML has it."""
    body = BODY.format(
        synopsis="Synopsis", description="Description", shown=shown or title, waits=waits, see="See Also"
    )
    return f"{title} {title} — {what} {' '.join(body.split())} {others}"


COPIES = {
    "one word": (manual("strcopy", "strncopy(3), exit(2)"), page("strcopy", "strncopy, exit")),
    "underscores": (
        manual("COPY_TABLE", "COPY VIEW (COPY_VIEW(7)), DROP TABLE (DROP_TABLE(7))"),
        page("COPY TABLE", "COPY VIEW, DROP TABLE"),
    ),
    "the sections in both": (
        manual("strcopy", "strncopy(3), exit(2)"), page("strcopy", "strncopy(3), exit(2)", waits="sleep(3)"),
    ),
    "a heading that only HTML has": (
        manual("strcopy", "strncopy(3)"), "strcopy(3) Manual Page NAME " + page("strcopy", "strncopy").split(" ", 1)[1],
    ),
    "a source of AsciiDoc": (
        "strcopy(3)\n==========\n\n" + manual("strcopy", "strncopy(3)"),
        "strcopy(3) Manual Page NAME " + page("strcopy", "strncopy(3)", waits="sleep(3)").split(" ", 1)[1],
    ),
}  # fmt: skip

FORMS = {
    "a heading of a sibling": (
        manual("strcopy", "exit(2)", shown="This function"),
        "strncopy(3) Manual Page NAME " + page("strncopy", "exit", shown="This function").split(" ", 1)[1],
    ),
    "siblings that name each other": (manual("strcopy", "strncopy(3)"), page("strncopy", "strcopy")),
    "siblings with one description": (
        manual("strcopy", "strcopy(3), strncopy(3)", shown="strcopy and strncopy"),
        page("strncopy", "strcopy, strncopy", shown="strcopy and strncopy"),
    ),
    "the title alone": (
        manual("strcopy", "exit(2)", shown="This function"), page("strncopy", "exit", shown="This function"),
    ),
    "titles with underscores": (
        manual("COPY_TABLE", "DROP TABLE (DROP_TABLE(7))", shown="This command"),
        page("COPY VIEW", "DROP TABLE", shown="This command"),
    ),
    "what it copies": (
        manual("strcopy", "exit(2)", what="copies strings"), page("strcopy", "exit", what="copies tables"),
    ),
    "another section": (manual("strcopy", "exit(2)"), page("strcopy", "exit(2)", waits="sleep(1)")),
    "another function waited for": (manual("strcopy", "exit(2)"), page("strcopy", "exit", waits="select")),
    "a number of seconds": (manual("strcopy", "exit(2)", waits="5 seconds"), page("strcopy", "exit", waits="seconds")),
    "another one to see": (
        manual("COPY_TABLE", "DROP TABLE (DROP_TABLE(7))"), page("COPY TABLE", "DROP VIEW"),
    ),
    "another one behind the same words": (
        manual("COPY_TABLE", "DROP TABLE (DROP_VIEW(7))"), page("COPY TABLE", "DROP TABLE"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("left", "right"), COPIES.values(), ids=COPIES)
def test_the_same_page_in_two_formats_is_a_copy(left: str, right: str) -> None:
    for one, other in ((left, right), (right, left)):
        found = relate(Wording(one), Wording(other))
        assert found.word in ("reflowed", "edited"), found
        assert Permitted().reason_to_keep(found, "") is None


@pytest.mark.parametrize(("left", "right"), FORMS.values(), ids=FORMS)
def test_pages_of_siblings_stay_in_two_formats_too(left: str, right: str) -> None:
    for one, other in ((left, right), (right, left)):
        found = relate(Wording(one), Wording(other))
        assert found.word == "form", found


def rendered(text: str, version: str = "Copies 2.39.5", date: str = "10/07/2025") -> str:
    """A manual page as a terminal shows it."""
    title = f"{text.split()[1].upper()}(3)"
    return f"{title}      Manual of Copies      {title}\n\n{text}\n{version}      {date}      {title}\n"


RENDERED = {name: both for name, both in COPIES.items() if both[0].startswith("NAME")}


@pytest.mark.parametrize(("left", "right"), RENDERED.values(), ids=RENDERED)
def test_margins_of_a_terminal_are_no_form_and_are_lost_with_it(left: str, right: str) -> None:
    shown = Wording(rendered(left))
    for other in (left, right):
        kept, gone = relate(Wording(other), shown), relate(shown, Wording(other))
        assert kept.word == gone.word == "edited", (kept, gone)
        assert Permitted().reason_to_keep(kept, "") is None
        # The version and the date stand nowhere else.
        assert {"39", "10", "07", "2025"} <= {*gone.lost_facts}
        assert Permitted().reason_to_keep(gone, "") is not None


@pytest.mark.parametrize(("left", "right"), FORMS.values(), ids=FORMS)
def test_a_form_stays_one_within_margins(left: str, right: str) -> None:
    shown = Wording(rendered(left))
    assert relate(shown, Wording(right)).word == relate(Wording(right), shown).word == "form"


def test_two_pages_with_margins_differ_in_these() -> None:
    text = manual("strcopy", "exit(2)")
    for other in (
        rendered(text, version="Copies 2.39.6"),
        rendered(text, date="11/07/2025"),
        rendered(manual("strncopy", "exit(2)", shown="strcopy")),
    ):
        assert relate(Wording(rendered(text)), Wording(other)).word == "form"
    # What stands below another title is no margin.
    strange = rendered(text).rstrip().removesuffix("STRCOPY(3)") + "STRNCOPY(3)\n"
    assert relate(Wording(strange), Wording(page("strcopy", "exit"))).word == "form"


def test_the_number_of_a_note_is_no_fact_behind_the_words_of_the_note() -> None:
    notes = "NOTES\n 1. The Guide of Copies\n    https://example.org/guide\n"
    for said, same in (("The Guide of Copies{}", True), ("the array argv{}", False), ("the Guide{} of all", False)):
        one = Wording(manual("strcopy", f"exit(2)\n{notes}", waits=said.format("[1]")))
        other = Wording(page("strcopy", "exit", waits=said.format("")))
        assert (relate(one, other).word != "form") is (relate(other, one).word != "form") is same, said


def test_the_prompt_of_a_shell_is_no_amount() -> None:
    text = "Type this command into the terminal and look at what it prints: {}ls -l /tmp and nothing else."
    assert relate(Wording(text.format("$ ")), Wording(text.format(""))).word == "reflowed"
    assert relate(Wording(text.format("5 $ ")), Wording(text.format("5 "))).word == "form"


@pytest.mark.parametrize(
    "other", ["tool alpha list-things", "tool\n       list-anything", "tool list-things, tool list-all"]
)
def test_what_a_manual_page_is_of_tells_it_apart_however_common_the_words_are(other: str) -> None:
    lexicon = Lexicon()
    for number in range(9):
        lexicon.add([Wording(f"page {number}: tool alpha beta list things all anything").hashes])
    left, right = (manual(name, "sleep(3)", shown="The command") for name in ("tool list-things", other))
    found = relate(Wording(left), Wording(right), lexicon)
    assert found.word == "form"
    assert (found.facts[0].left, found.facts[0].right) == ("tool list-things", " ".join(other.split()))
    assert relate(Wording(left), Wording(left + "\n Some words more, at the end of it."), lexicon).word == "edited"
