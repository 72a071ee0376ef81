"""The relation of two texts: of single cases by kind, and of labelled pairs by the thousand."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from indexer.clustering.verdicts import Permitted
from indexer.errors import UsageError
from indexer.relations.comparing import relate
from indexer.relations.frame import line_hashes
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import COPIES, PARTS, REMOVABLE, WORDS, Relation, verdict_of
from indexer.relations.wording import Wording
from tests.relations.labelled import GENRES, KINDS, LANGUAGES, labelled
from tests.relations.measure import measured

FRAME = (
    "The tenant pays the rent on the third working day of each month to the account of the owner named below. "
    "{} The house is to be kept clean, and every damage to it is to be reported at once. Repairs are paid by the owner "
    "unless the tenant has caused the damage. The contract ends when one side gives notice of three months in writing."
)
SIGNS = st.lists(st.sampled_from([*"ab5-<>=!$€%.,:/° \n", "\n\n\n", "1.5", " - ", "12"]), max_size=30).map("".join)


@given(SIGNS)
def test_signs_are_the_same_in_every_encoding(text: str) -> None:
    behind = Wording(text + "\n\n\n\n\N{GREEK SMALL LETTER ALPHA}").values
    assert Wording(text + "\n\n\n\nx").values[:-1].tolist() == behind[:-1].tolist()


@given(SIGNS)
def test_white_space_changes_no_sign(text: str) -> None:
    assert Wording(" ".join(text.split())).values.tolist() == Wording(text).values.tolist()


def known(*texts: str) -> Lexicon:
    """The words of a collection."""
    lexicon = Lexicon()
    for number in range(6):
        lexicon.add([Wording(f"{text} {number}").hashes for text in texts])
    return lexicon


def related(left: str, right: str, lexicon: Lexicon | None = None) -> Relation:
    """The relation of two texts; the other direction has the same word, but for which is a part of which."""
    found, back = (relate(Wording(one), Wording(other), lexicon) for one, other in ((left, right), (right, left)))
    turned = {"part": "contains", "contains": "part"}
    assert turned.get(found.word, found.word) == back.word
    return found


def of(left: str, right: str, lexicon: Lexicon | None = None) -> Relation:
    """The relation of two fillings of the frame."""
    return related(FRAME.format(left), FRAME.format(right), lexicon)


def test_lost_are_words_without_a_counterpart() -> None:
    menu = "Start | Ferries | Prices\n"
    lexicon = Lexicon()
    for number in range(10):
        lexicon.add([line_hashes(Wording(f"{menu}{number} other things are said here."))])
    assert of("The rent is 120 EUR.", "The rent is 130 EUR and due.").lost == 1
    assert of("The rent is 130 EUR and due.", "The rent is 120 EUR.").lost == 3
    framed = menu + FRAME
    assert related(framed, FRAME, lexicon).lost == len(Wording(menu))
    assert related(FRAME, framed, lexicon).lost == 0


def test_labelled_pairs_are_judged_right() -> None:
    figures = measured(labelled(1))
    assert not figures.wrong
    assert {pair.kind for pair in labelled(1)} == KINDS.keys()
    # Words that a small collection doesn't know are in doubt.
    assert figures.named >= 0.98 * figures.copies
    assert figures.different > len(LANGUAGES) * len(GENRES) * 10


@given(
    st.sampled_from(["", "A", "v", "AB-", "€", "-"]),
    st.integers(0, 99_999).map(str),
    st.sampled_from(["", "m", ".50", "th", "%"]),
    st.integers(0, 4),
    st.sampled_from([*"0123456789OolISBZ"]),
    st.booleans(),
)
def test_a_digit_that_differs_is_no_misread_one(
    before: str, number: str, behind: str, place: int, other: str, misread: bool
) -> None:
    place %= len(number)
    assume(number[place] != other)
    changed = number[:place] + other + number[place + 1 :]
    one = FRAME.format(f"It has {before}{number}{behind} there.")
    two = FRAME.format(f"It has {before}{changed}{behind} there.")
    if misread:
        two = two.replace("notice", "noticc").replace("damage", "darnage").replace("account", "acconnt")
    found = related(one, two)
    assert found.word in ("form", "reworded")
    if other.isdigit():
        assert found.word == "form"


@pytest.mark.parametrize(
    ("left", "right", "evidence"),
    [
        ("The rent is 120.00 EUR.", "The rent is 95.50 EUR.", "amount 120.00 EUR / 95.50 EUR"),
        ("It begins on 2024-01-05.", "It begins on 2024-01-06.", "date 2024-01-05 / 2024-01-06"),
        ("We meet at 12:30.", "We meet at 12:45.", "time 12:30 / 12:45"),
        ("The yard has 1.5 acres.", "The yard has 1,5 acres.", "number 1.5 / 1,5"),
        ("It may be -5 degrees.", "It may be 5 degrees.", "number -5 / 5"),
        ("It costs 5 € more.", "It costs 5 $ more.", "amount 5 € / 5 $"),
        ("It is 12 mm wide.", "It is 12 cm wide.", "number 12 mm / 12 cm"),
        ("It belongs to Anna Meyer alone.", "It belongs to Anna Meier alone.", "name Meyer / Meier"),
        ("Animals are allowed.", "Animals are not allowed.", "negation nothing / not"),
        ("Room 5 belongs to it.", "Room belongs to it.", "number 5 / nothing"),
        (
            "Sent 2026-10-06T18:12:54.125+01:00.",
            "Sent 2026-10-06T18:12:54.125+02:00.",
            "date 2026-10-06T18:12:54.125+01:00 / 2026-10-06T18:12:54.125+02:00",
        ),
        ("It lasts two years.", "It lasts ten years.", "number two / ten"),
        ("Set max_row now.", "Set max_col now.", "code max_row / max_col"),
        ("Tenants do smoke here.", "Tenants don't smoke here.", "negation nothing / t"),
        ("Close it if ready.", "Close it if !ready.", "negation nothing / !"),
        ("Take the log\u2082 of it.", "Take the log\u00b2 of it.", "code log\u2082 / log\u00b2"),
    ],
)
def test_a_typed_fact_that_is_replaced_makes_a_form(left: str, right: str, evidence: str) -> None:
    found = of(left, right)
    assert found.word == "form"
    assert evidence in str(found)


def test_a_name_is_misread_only_beside_words_that_surely_are() -> None:
    lexicon = known(FRAME.format("The chair is Peter Novak of the harbour office."))
    left, right = "The chair is Peter Novak of the harbour office.", "The chair is Peter Novah of the harbour office."
    assert of(left, right, lexicon).word == "form"
    assert of(left, right.replace("harbour", "barbour"), lexicon).word == "noise"


def test_a_word_of_a_script_without_case_is_no_code() -> None:
    assert of("هو مع صديقه هنا", "هو مع والده هنا").word == "reworded"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Subletting is legal here.", "Subletting is illegal here."),
        ("They may sublet it.", "They must sublet it."),
        ("The floor is made of copper.", "The floor is made of walnut."),
        ("It runs from Ulm to Dover.", "It runs from Dover to Ulm."),
        ("The garden is kept.", "The garden is kept, unless it rains."),
        ("The garden is kept.", "Nobody says that the garden is kept."),
        ("It shows a report.", "It shows the reports."),
        ("Call the therapist.", "Call the rapist."),
        ("They call mongo alone.", "They call mongosh alone."),
        ("You come with us.", "You come with us?"),
        ("costs 10⁶ there", "costs 106 there"),
        ("Blood group A+ here", "Blood group A here"),
        ("The balance is (500) now", "The balance is 500 now"),
        ("The result is 5 × 3 there", "The result is 5 ÷ 3 there"),
        ("if (ready) return", "if (!ready) return"),
        ("Rooms 12 3 are let.", "Rooms 1 23 are let."),
        ("It costs 5 10⁶ there", "It costs 5 106 there"),
        ("Take log₂ of it there", "Take log^2 of it there"),
        ("Brakes ☑ horn ☐ tyres", "Brakes ☐ horn ☑ tyres"),
        ("Revenue ↑ now", "Revenue ↓ now"),
        ("It made -$5m there", "It made $5m there"),
        ("It made –€5m there", "It made €5m there"),
        ("Ships to 🇫🇷 only", "Ships to 🇩🇪 only"),
        ("the operator (<*>) applies", "the operator (<|>) applies"),
        ("result<This(Ref &)> is", "result<This(Ref)> is"),
        ("It is made in C there.", "It is made in C++ there."),
        ("compile again with -fPIC", "compile again with -fPIE"),
        ("It can run cron.", "It can run cron -l."),
        ("1. Rent is due.", "2. Rent is due."),
        ("It is for lodgers and guests.", "It is for lodgers vguests."),
        ("It calls f(A...) there.", "It calls f(A..., ...) there."),
    ],
)
def test_what_says_something_else_stays(left: str, right: str) -> None:
    lexicon = known(FRAME.format(left))
    for pair in ((left, right), (FRAME.format(left), FRAME.format(right))):
        found = related(*pair, lexicon)
        assert found.word not in COPIES, found
        assert Permitted.named("edited").reason_to_keep(found, "") is not None


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("The Rent Is 120 EUR.", "the rent is\n120 EUR.", "identical"),
        ("The rent is 1,250,000 EUR.", "The rent is 1 250 000 EUR.", "reflowed"),
        ("The rent is 1,250,000 EUR.", "The rent is ١٬٢٥٠٬٠٠٠ EUR.", "reflowed"),
        ("It lies in the region.", "It lies in the re-\ngion.", "reflowed"),
        ("It says “no” to all – of them…", 'It says "no" to all - of them...', "reflowed"),
        ("It is the year “1984”.", 'It is the year "1984".', "reflowed"),
        ("In the ’90s the door was 6’ wide.", "In the ’90s the door was 6 wide.", "form"),
        ("In the ’90s, the wreck lay at 40°26′ north.", "In the ’90s, the wreck lay at 40°26 north.", "reworded"),
        ("Rooms:\nkitchen\nbath\n", "Rooms:\n• kitchen\n• bath\n", "identical"),
        ("Contract\n========\nIt is.", "Contract\nIt is.", "reflowed"),
        ("It goes on.\n7\n\fIt ends.", "It goes on.\n\nIt ends.", "reflowed"),
        ("It is kept clcan by the tenant.", "It is kept clean by the tenant.", "noise"),
        ("The darnage is to be paid.", "The damage is to be paid.", "noise"),
        ("The damgae is to be paid.", "The damage is to be paid.", "noise"),
        ("Never lock it! Keys are lent.", "Never lock it! The owner lends some. Keys are lent.", "edited"),
        ("Keys are lent.", "The keys are red. The keys are lent. Keys are lent.", "edited"),
    ],
)
def test_what_is_equal_or_only_missing(left: str, right: str, expected: str) -> None:
    assert of(left, right, known(FRAME.format(right))).word == expected


def test_sentences_in_another_order_are_edited_and_stay() -> None:
    first, *others = FRAME.format("It has 5 rooms.").split(". ")
    found = related(". ".join([*others, first]), ". ".join([first, *others]))
    assert found.word in ("edited", "reworded")
    assert Permitted.named("edited").reason_to_keep(found, "") is not None


def test_a_line_cut_from_a_wrapped_paragraph_changes_its_sentence() -> None:
    wrapped = (
        "The gate of the yard is open on each day of the week,\nbut never on the days of the yearly fair in the town,\n"
        "from eight in the morning until the lamps are lit."
    )
    found = related(wrapped, wrapped.replace("but never on the days of the yearly fair in the town,\n", ""))
    assert found.word in ("form", "reworded")


def test_what_says_less_goes_only_where_that_is_permitted() -> None:
    more = f"{FRAME} It was repealed."
    less, longer = related(FRAME, more), related(more, FRAME)
    assert less.word == "edited"
    assert (less.only_left, less.only_right, longer.only_left) == ((), ("It was repealed",), ("It was repealed",))
    assert Permitted().reason_to_keep(less, "") is not None
    assert Permitted.named("edited").reason_to_keep(less, "") is None
    assert Permitted.named("edited").reason_to_keep(longer, "") is not None


def test_a_part_and_what_contains_it() -> None:
    more = " ".join(f"Rule {number} says that there is much more to it than that." for number in range(12))
    assert related(FRAME, f"{FRAME} {more}").word == "part"
    assert related(f"{FRAME} {more}", FRAME).word == "contains"


def test_words_that_a_collection_knows_are_no_misread_ones() -> None:
    lexicon = known(FRAME.format("It has a nice boat there, and a coat."))
    assert of("It has a nice boat there.", "It has a nice coat there.", lexicon).word == "reworded"
    assert of("It has a nice boat there.", "It has a nice bcat there.", lexicon).word == "noise"
    # Of neither something is known, and nothing in the texts tells.
    assert of("It has a nice burela there.", "It has a nice bnrela there.").word == "reworded"


def test_the_cleaner_of_two_texts_stays() -> None:
    clean, misread = FRAME, FRAME.replace("damage to", "darnage to").replace("house", "honse")
    lexicon = known(FRAME)
    assert related(misread, clean, lexicon).cleaner == "right"
    assert Permitted().reason_to_keep(related(misread, clean, lexicon), "") is None
    assert Permitted().reason_to_keep(related(clean, misread, lexicon), "") is not None


SAID = st.lists(
    st.sampled_from(["the", "owner", "ovvner", "not", "12", "95.50", "Meyer", "Meier", "rents", "a", "garden.", "\n"]),
    max_size=25,
).map(" ".join)


@given(SAID, SAID)
def test_the_word_is_the_same_where_only_the_first_fact_is_looked_for(left: str, right: str) -> None:
    one, other = Wording(FRAME.format(left)), Wording(FRAME.format(right))
    whole, brief = relate(one, other), relate(one, other, brief=True)
    assert whole.word == brief.word
    assert whole == brief if whole.word != "form" else {*brief.facts} <= {*whole.facts}


def test_the_verdict_is_could_go_for_copies_alone_and_what_was_not_read_stays() -> None:
    assert {word for word in WORDS if verdict_of(word) == "could go"} == set(COPIES)
    assert {verdict_of(word) for word in WORDS} == {"could go", "differs"}
    assert {verdict_of(word) for word in (None, "", "unverified")} == {"stays"}


def test_a_removal_names_its_relations_and_no_others_go() -> None:
    kinds = {word: Relation(word) for word in WORDS}
    assert {word for word in WORDS if Permitted.named(None).lets_go(kinds[word])} == set(COPIES)
    for word in REMOVABLE:
        assert [each for each in WORDS if Permitted.named(word).lets_go(kinds[each])] == [word]
        reason = Permitted.named("identical" if word != "identical" else "noise").loses(kinds[word], "b.txt")
        assert reason
        assert "beside b.txt" in reason.sentence
    assert Permitted.named(("form", "noise")) == Permitted.named("noise, form")
    for wrong in ("contains", "odd", "", "form,"):
        with pytest.raises(UsageError, match="identical, reflowed, noise"):
            Permitted.named(wrong)
    with pytest.raises(UsageError, match="--parts"):
        Permitted.named("form,part")
    assert not any(Permitted.named(REMOVABLE).lets_go(kinds[word]) for word in PARTS)
