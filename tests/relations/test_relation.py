"""The relation of two texts, of cases read by eye."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import relate
from indexer.relations.wording import Wording

FRAME = (
    "The tenant pays the rent on the third working day of each month to the account of the owner named below. "
    "{} The house is to be kept clean, and every damage to it is to be reported at once. Repairs are paid by the owner "
    "unless the tenant has caused the damage. The contract ends when one side gives notice of three months in writing."
)


SIGNS = st.lists(st.sampled_from([*"ab5-<>=!$€%.,:/° \n", "\n\n\n", "1.5", " - ", "12"]), max_size=30).map("".join)


@given(SIGNS)
def test_signs_beside_words_are_the_same_in_every_encoding(text: str) -> None:
    behind = Wording(text + "\n\n\n\n\N{GREEK SMALL LETTER ALPHA}").values
    assert Wording(text + "\n\n\n\nx").values[:-1].tolist() == behind[:-1].tolist()


@given(SIGNS)
def test_white_space_moves_no_sign_to_another_word(text: str) -> None:
    assert Wording(" ".join(text.split())).values.tolist() == Wording(text).values.tolist()


def word(left: str, right: str, lexicon: Lexicon | None = None) -> str:
    return relate(Wording(left), Wording(right), lexicon).word


def of(left: str, right: str, lexicon: Lexicon | None = None) -> str:
    """The relation of two fillings of the frame, with its evidence; the same word in both directions."""
    one, other = FRAME.format(left), FRAME.format(right)
    assert word(one, other, lexicon) == word(other, one, lexicon)
    return str(relate(Wording(one), Wording(other), lexicon))


@pytest.mark.parametrize(
    ("left", "right", "evidence"),
    [
        ("The rent is 120.00 EUR.", "The rent is 95.50 EUR.", "amount 120.00 EUR / 95.50 EUR"),
        ("It begins on 2024-01-05.", "It begins on 2024-01-06.", "date 2024-01-05 / 2024-01-06"),
        ("We meet at 12:30.", "We meet at 12:45.", "time 12:30 / 12:45"),
        ("The yard has 1.5 acres.", "The yard has 1,5 acres.", "number 1.5 / 1,5"),
        ("It may be -5 degrees.", "It may be 5 degrees.", "number -5 / 5"),
        ("It costs 5 € more.", "It costs 5 $ more.", "amount 5 € / 5 $"),
        ("The flat has the key AB-17x.", "The flat has the key AB-18x.", "code 17x / 18x"),
        ("It belongs to Anna Meyer alone.", "It belongs to Anna Meier alone.", "name Meyer / Meier"),
        ("Animals are allowed.", "Animals are not allowed.", "negation nothing / not"),
        ("They may sublet it now.", "They may sublet it not.", "negation now / not"),
        ("Subletting is legal here.", "Subletting is illegal here.", "word legal / illegal"),
        ("They don't smoke.", "They do smoke.", "negation don't / do"),
        ("The floor is made of copper there.", "The floor is made of walnut there.", "word copper / walnut"),
        ("Use the call to strcpy for it.", "Use the call to strcat for it.", "word strcpy / strcat"),
        ("Room 5 belongs to it.", "Room belongs to it.", "number 5 / nothing"),
        ("Pay 5 of 7 parts.", "Pay 7 of 5 parts.", "order of numbers 5 of 7 / 7 of 5"),
        ("if (x < y) return", "if (x > y) return", "sign < / >"),
        ("if (ready) return", "if (!ready) return", "negation ready / !ready"),
        ("It lasts two years.", "It lasts ten years.", "number two / ten"),
        ("房屋 适合 五 人 居住", "房屋 不 适合 五 人 居住", "negation nothing / 不"),
    ],
)
def test_a_fact_that_differs_makes_a_form(left: str, right: str, evidence: str) -> None:
    said = of(left, right)
    assert said.startswith("form: ")
    assert evidence in said


def test_a_fact_that_differs_makes_a_form_beside_other_edits() -> None:
    other = FRAME.format("The rent is 95 EUR.") + " Keys are handed over on the first day, by the owner or a neighbour."
    assert word(FRAME.format("The rent is 120 EUR."), other) == "form"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("The Rent Is 120 EUR.", "the rent is\n120 EUR.", "identical"),
        ("The rent is 120 EUR.", "* The rent is **120 EUR**.", "reflowed"),
        ("It is well-known in the region.", "It is well known in the re-\ngion.", "reflowed"),
        ("Rooms:\n1. kitchen\n2. bath\n", "Rooms:\n* kitchen\n* bath\n", "reflowed"),
        ("It is kept clcan by the tenant.", "It is kept clean by the tenant.", "noise"),
        ("The darnage is to be paid.", "The damage is to be paid.", "noise"),
        (
            "There is a garden too.",
            "There is a garden too, which the owner of the house looks after in summer.",
            "edited",
        ),
        ("The owner looks after all of it himself.", "All of it the owner himself looks after.", "edited"),
        ("It shows a report.", "It shows the reports.", "edited"),
        (
            "Never lock it! Keys are lent.",
            "Never lock it! The owner has none of them here but lends some. Keys are lent.",
            "edited",
        ),
        (
            "Use <name>. Keys are lent.",
            "Use <name>. Keys are lent by the owner of the house or by neighbours.",
            "edited",
        ),
    ],
)
def test_without_a_fact_that_differs_it_is_a_copy(left: str, right: str, expected: str) -> None:
    assert of(left, right).partition(":")[0] == expected


def test_a_sentence_that_was_moved_is_edited() -> None:
    first, *others = FRAME.format("It has 5 rooms.").split(". ")
    assert word(". ".join([*others, first]), ". ".join([first, *others])) == "edited"


def test_the_same_words_in_another_order_are_another_text() -> None:
    words = FRAME.format("It has a garden.").split()
    assert word(" ".join(sorted(words)), " ".join(words)) == "form"


def test_a_part_and_what_contains_it() -> None:
    more = " ".join(f"Rule {number} says that there is much more to it than that." for number in range(12))
    assert word(FRAME, f"{FRAME} {more}") == "part"
    assert word(f"{FRAME} {more}", FRAME) == "contains"


def test_words_that_a_collection_knows_are_no_misread_ones() -> None:
    lexicon = Lexicon()
    for other in ("the boat is in the harbour", "a boat with a coat of paint", "the coat is warm", "rain and wind"):
        lexicon.add([Wording(other).hashes])
    assert of("It has a nice boat there.", "It has a nice coat there.", lexicon).startswith("form: ")
    assert of("It has a nice boat there.", "It has a nice bcat there.", lexicon).startswith("noise: ")


def test_what_only_the_left_says_is_counted_with_its_facts() -> None:
    found = relate(Wording(FRAME.format("The cellar was built in the year 1873 by the owner.")), Wording(FRAME))
    assert (found.word, found.removed, found.lost_facts) == ("edited", 11, ("1873",))
    assert found.lost == pytest.approx(
        found.removed / len(Wording(FRAME.format("The cellar was built in the year 1873 by the owner.")))
    )


def test_a_common_word_for_another_is_lost_where_the_other_text_never_says_it() -> None:
    """In a collection of court orders, granted and denied are common words."""
    lexicon = Lexicon()
    for number in range(20):
        lexicon.add([Wording(f"order {number}: the motion is granted or denied, for some and because").hashes])
    one, other = FRAME.format("The motion is granted."), FRAME.format("The motion is denied.")
    assert relate(Wording(one), Wording(other), lexicon).lost_facts == ("granted",)


def test_the_cleaner_of_two_texts_has_fewer_misread_words() -> None:
    clean, misread = FRAME, FRAME.replace("damage to", "darnage to").replace("house", "bouse")
    assert relate(Wording(misread), Wording(clean)).cleaner == "right"
    assert relate(Wording(clean), Wording(misread)).cleaner == "left"


@pytest.mark.parametrize(
    ("left", "right", "signs"),
    [
        (
            "template operator* takes operator*(Left && left)",
            "template operator- takes operator-(Left && left)",
            "* / -",
        ),
        ("the operator (<*>) applies", "the operator (<|>) applies", "<*> / <|>"),
        ("when ready && open", "when ready || open", "&& / ||"),
        ("f :: a -> b", "f :: a => b", "-> / =>"),
    ],
)
def test_pages_that_differ_in_an_operator_are_forms(left: str, right: str, signs: str) -> None:
    assert of(left, right) == f"form: 1 fact differs: sign {signs}"


def test_marks_of_a_format_are_no_operators() -> None:
    one, other = FRAME.format("**(see below)** |a||b| now"), FRAME.format("(see below) a b now")
    assert word(f"# Title\n\n{one}", f"Title\n{other}") == "reflowed"
