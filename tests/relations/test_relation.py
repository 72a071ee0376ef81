"""The relation of two texts, of cases read by eye."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from indexer.relations.comparing import relate
from indexer.relations.lexicon import Lexicon
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
    assert word(one, two) == word(two, one) == "form"


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
        ("The module is Foreign here.", "The module is Foreign.Safe here.", "name nothing / Safe"),
        ("It includes magick_wand.h first.", "It includes magick-wand.h first.", "name magick_wand / magick-wand"),
        ("They call mongo alone.", "They call mongosh alone.", "word mongo / mongosh"),
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


@pytest.mark.parametrize(
    ("title", "longer"),
    [
        ("Fast parser of JSON", "Fast parser of JSON - documentation"),
        ("Tool for cheese", "Tool for cheese (transitional dummy package)"),
        ("Parser", "Parser library"),
    ],
)
def test_a_word_more_in_a_title_makes_it_another_one(title: str, longer: str) -> None:
    assert {word(title, longer), word(longer, title)} == {"form"}
    assert word(FRAME.format(title + "."), FRAME.format(longer + ".")) == "edited"


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


STEP = "make room for the new system on your hard disk"


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        (STEP, True),
        (STEP.replace(" your", ""), True),
        ("make room for the system there", False),
        ("Page Page Page Page Page Page Page Page Page", False),
        ("Name\nKeywords\nSee also\nNotes\nAuthors\nExamples\nSources", False),
        ("在硬盘上为新系统留出空间", True),
    ],
)
def test_a_line_that_says_something_is_lost_and_short_ones_and_lists_of_headings_are_not(line: str, lost: bool) -> None:
    frame = "\n".join([FRAME.format(""), "{}", FRAME.format("").lower()] * 3) + "\nPage and page"
    found = relate(Wording(frame.format("", line, "")), Wording(frame.format("", "", "")))
    assert found.word == "edited"
    assert bool(found.lost_facts) == lost
    # Said elsewhere, or a second time, it is not lost.
    again = relate(Wording(frame.format(line, "", line)), Wording(frame.format("", line, "")))
    assert not again.lost_facts


def test_what_only_the_left_says_is_counted_with_its_facts() -> None:
    found = relate(Wording(FRAME.format("The cellar was built in the year 1873 by the owner.")), Wording(FRAME))
    assert (found.word, found.removed, found.lost_facts[0]) == ("edited", 11, "1873")
    assert found.lost == pytest.approx(
        found.removed / len(Wording(FRAME.format("The cellar was built in the year 1873 by the owner.")))
    )


def test_a_cut_clause_with_a_negation_says_something_that_the_other_text_does_not() -> None:
    clause = "pay for all, but not for a lost key, of what they break"
    said, short = FRAME.format(f"They {clause}."), FRAME.format("They pay for all, of what they break.")
    found = relate(Wording(said), Wording(short))
    assert (found.word, found.lost_facts) == ("edited", ("not for a",))
    assert relate(Wording(short), Wording(said)).lost_facts == ()
    assert relate(Wording(said), Wording(f"It is not for pets. {short}")).lost_facts == ()


@pytest.mark.parametrize(
    ("left", "right", "expected", "lost"),
    [
        ("Houses; documentation", "Houses", "form", ()),
        ("Houses of the town", "Houses", "form", ()),
        ("Tools for houses", "Tools and headers for houses", "form", ()),
        ("Bindings (C++)", "Bindings (C++ header files)", "form", ()),
        ("The houses", "Houses", "edited", ()),
        ("Town\nHouses", "Houses", "edited", ()),
        ("Houses\nThey rent old-town-house.", "Houses\nThey rent old-town.", "edited", ("house",)),
        # In the text itself words are lost by their share.
        ("Houses\nThey have large gardens.", "Houses\nThey have gardens.", "edited", ()),
    ],
)
def test_a_word_of_a_title_tells_in_a_short_text(left: str, right: str, expected: str, lost: tuple[str, ...]) -> None:
    behind = FRAME.format("Of its documentation it has a copy.")
    found = relate(Wording(f"{left}\n{behind}"), Wording(f"{right}\n{behind}"))
    assert (found.word, found.lost_facts) == (expected, lost)
    back = relate(Wording(f"{right}\n{behind}"), Wording(f"{left}\n{behind}"))
    assert (back.word, back.lost_facts) == (expected, ())
    # Of a page it is one of many.
    found = relate(Wording(f"{left}\n{5 * behind}"), Wording(f"{right}\n{5 * behind}"))
    assert (found.word, found.lost_facts) == ("edited", ())


def test_a_word_that_another_one_is_put_for_is_lost_where_it_stands_elsewhere_too() -> None:
    shared, static = (FRAME.format(f"It has a shared yard, and a {kind} garden.") for kind in ("shared", "static"))
    lexicon = Lexicon()
    for _ in range(6):
        lexicon.add([Wording(f"{shared} {static}").hashes])
    found = relate(Wording(shared), Wording(static), lexicon)
    assert (found.word, found.lost_facts) == ("edited", ("shared",))
    assert not relate(Wording(5 * f"{shared} "), Wording(4 * f"{shared} " + static), lexicon).lost_facts


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("It is made in C there.", "It is made in C++ there."),
        ("It is made in C#, there.", "It is made in C, there."),
        ("It compiles Objective-C first.", "It compiles Objective-C++ first."),
        ("It was given an A+ for it.", "It was given an A for it."),
        ("It calls libcdio.", "It calls libcdio++."),
        ("We use libcdio now, which is good.", "We use it with libcdio++, which is fine and good."),
    ],
)
def test_signs_behind_a_word_are_a_part_of_it(left: str, right: str) -> None:
    assert of(left, right).startswith("form: ")


@pytest.mark.parametrize(("left", "right"), [("# Rooms", "Rooms#"), ("a+b", "a + b"), ("## Rooms ##", "Rooms")])
def test_marks_of_headings_and_sums_are_no_part_of_a_word(left: str, right: str) -> None:
    assert of(left, right).partition(":")[0] in ("reflowed", "identical")


def test_a_letter_alone_is_no_article() -> None:
    """Pages of a reference, one of an instruction with an operand more."""
    assert of("Operands: v, a.", "Operands: v.") == "form: 1 fact differs: name a / nothing"
    assert of("It has a garden, a yard.", "It has garden, a yard.").startswith("edited: ")
    assert of("See the file(s).", "See the file.").startswith("edited: ")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("bindings of zlib for guile", "bindings of lzlib for guile", "form"),
        ("Spanish words for aspell", "Spanish words for myspell", "form"),
        ("Qt 6 Quick 3D module", "Qt 6 3D Quick module", "form"),
        ("how Ann met Paul again", "how Paul met Ann again", "form"),
        ("transport for chats (client)", "transport for chats (library)", "form"),
        ("transport for chats in networks", "transport for chats in netvvorks", "noise"),
        ("transport for chats in networks", "transport for chats in netwrks", "noise"),
        ("sends requests to Lomiri hosts", "sends requests to the Lomiri hosts", "edited"),
    ],
)
def test_in_a_title_another_word_is_another_word(left: str, right: str, expected: str) -> None:
    lexicon = Lexicon()
    # Every word of the left titles is known, and common.
    for other in range(6):
        lexicon.add([Wording(f"{left} client library {other}").hashes])
    assert word(left, right, lexicon) == word(right, left, lexicon) == expected


def test_an_article_is_no_number() -> None:
    text = "Der Mieter hat es bis zehn Uhr gebracht. " + FRAME
    assert word(text.format(""), text.replace("es bis", "es um bis").format("")) == "edited"


def test_a_page_with_little_but_the_frame_of_its_site_is_no_copy_of_another() -> None:
    head, foot = "Garden tools, release 2.7 Home", " ".join(f"of our {n} gardens" for n in "abcdefghi") + " all rights"
    search, other = f"{head} {foot}", f"{head} Up: Home On this page: It was moved to growing apples {foot}"
    assert len(Wording(search)) < 50 < len(Wording(other))
    assert {word(search, other), word(other, search)} == {"form"}


def test_pages_of_classes_of_which_one_lists_all_that_the_other_does() -> None:
    members = "TNumericField Create TComponent " + " ".join(f"Method{name}" for name in FRAME.split()[:60])
    assert word(f"TLongField\nTIntegerField\n{members}", f"TIntegerField\n{members}") == "form"
    assert word(f"TField\n{members}", f"TLongField\nValue\nAlignment\nMaximum\nTField\n{members}") == "form"
    assert word(f"Contents\n{FRAME}", FRAME) == "edited"
    lost = relate(Wording(f"{FRAME}\nTLongField\n{FRAME}"), Wording(f"{FRAME}\n{FRAME}")).lost_facts
    assert lost == ("TLongField",)


def test_tables_of_which_one_has_all_entries_of_the_other_and_more() -> None:
    rows = [f"REG_{name.upper()}_LO\n00{place} ; [.1C{place}] # {name}" for place, name in enumerate(FRAME.split())]
    table = "\n".join(rows) + "\n"
    entries = "0077 ; [.2247.0021] # LATIN SMALL LETTER W\n0057 ; [.2247.0008] # LATIN CAPITAL LETTER W\n"
    for more in (entries, "0077 0030 1D10 0323 1D16 ", "REG_SHARED_HI Memory aperture\n"):
        assert word(f"{FRAME}\n{more}{table}", f"{FRAME}\n{table}") == "form"
        assert word(f"{FRAME}\n{table}", f"{FRAME}\n{more}{table}") == "form"
    dated = "This page was last changed on 2022-01-20 21:38:08 by somebody of the house."
    assert word(f"{FRAME}\n{dated}", FRAME) == "edited"


def test_each_word_of_a_short_text_tells() -> None:
    said = "Scalar offset. Size: 1 dword. An instruction uses it to address memory. Operands: s, vcc, ttmp, {}off"
    assert word(said.format("null, "), said.format("")) == "form"
    assert word(f"{FRAME} {said.format('null, ')}", f"{FRAME} {said.format('')}") == "edited"


def test_two_words_with_a_letter_between_them_are_no_misread_ones() -> None:
    assert of("It is for lodgers and guests alone.", "It is for lodgers vguests alone.").startswith("form: ")
    assert of("It is a lodg ers house alone.", "It is a lodgcrs house alone.").startswith("noise: ")


def test_a_word_is_misread_again_in_the_same_way_where_many_are() -> None:
    """The words are of a language of which the collection has no other text."""
    clean = " ".join(f"{kind}{end}ela" for kind in ("mor", "tid", "gun", "sav", "pol", "wik") for end in ("dar", "fos"))
    text = f"{clean} bonehado ruvine. {clean} bonehado {FRAME}"
    noisy = text.replace("ela", "cla", 8).replace("bonehado", "bonebado")
    assert word(noisy, text) == word(text, noisy) == "noise"
    # These look nothing like each other, and there are too few of these.
    assert word(noisy.replace("bonebado", "bonenado"), text) == "form"
    assert word(text.replace("bonehado", "bonebado"), text) == "form"


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
        ("All: ^^- in Data and ^- in Data", "All: *> in Data and ** in Data", "^- ^^- / ** *>"),
        ("promise< T& > has set(T &)", "promise< T > has set(T &)", "& / nothing"),
        ("unique_ptr<T> and get()", "unique_ptr<T[]> and get()", "nothing / []"),
        ("operator<< takes (L && l)", "operator&& takes (L && l)", "operator<< / operator&&"),
        ("result<This(Ref &)> is", "result<This(Ref)> is", "& / nothing"),
        ("when<G, R(A...)> is", "when<G, R(A..., ...)> is", "nothing / ,..."),
        ("cast(U const * u) is", "cast(U * u) is", "const / nothing"),
    ],
)
def test_pages_that_differ_in_an_operator_are_forms(left: str, right: str, signs: str) -> None:
    assert of(left, right) == f"form: 1 fact differs: sign {signs}"


def test_a_word_that_only_one_has_again_and_again_is_what_it_is_about() -> None:
    """The pages of two commands of which one has a word more in its name."""
    said = "List them by: cloud {0}groups list. First {0}groups begin, then {0}groups end. It asks for {0}groups."
    assert of(said.format("managed "), said.format("")) == "form: 1 fact differs: word managed / nothing"
    once = said.replace("{0}", "managed ", 3)
    assert of(once.format("managed "), once.format("")).startswith("edited: ")


def test_a_word_that_is_all_that_differs_is_what_it_is_about_if_it_does_so_twice() -> None:
    said = FRAME.format("It is of the {0}result.") + " These are all members of the {0}result."
    assert of(said.format("volatile "), said.format("")) == "form: 1 fact differs: word volatile / nothing"
    more = said.format("volatile ") + " It was made anew by somebody."
    assert of(more, said.format("")).startswith("edited: ")


def test_a_word_for_one_like_it_twice_is_no_misread_one_where_nothing_else_is() -> None:
    """The pages of two commands, of which the collection knows one."""
    lexicon = Lexicon()
    for number in range(3):
        lexicon.add([Wording(f"page {number}: dir, damage, notice, house").hashes])
    said = f"NAME - list a folder. {FRAME} See also: NAME manual"
    page, other = said.replace("NAME", "dir"), said.replace("NAME", "vdir")
    assert of(other, page, lexicon) == "form: 1 fact differs: word vdir / dir"
    misread = page.replace("damage", "darnage").replace("house", "bouse").replace("notice", "noticc")
    assert of(misread, page, lexicon).startswith("noise: ")


def test_a_word_of_grammar_in_a_name_is_part_of_it() -> None:
    one, other = (FRAME.format(f"Call pages-{language} now.") for language in ("de", "es"))
    assert of(one, other).startswith("form: ")


def test_a_common_word_in_the_name_of_a_file_is_no_ordinary_word() -> None:
    lexicon = Lexicon()
    for number in range(20):
        lexicon.add([Wording(f"page {number}: a default, by posix, of threads").hashes])
    one, other = (FRAME.format(f"It includes the {kind} threads.") for kind in ("default", "posix"))
    assert of(one, other, lexicon).startswith("edited: ")
    one, other = (text.replace(" threads", ".h") for text in (one, other))
    assert of(one, other, lexicon).startswith("form: ")


def test_a_common_word_for_another_again_and_again_is_what_it_is_about() -> None:
    """The pages of a command in two stages of its development, which both name the other one."""
    lexicon = Lexicon()
    for number in range(20):
        lexicon.add([Wording(f"command {number}: it is there in alpha and in beta").hashes])
    said = "({1}) It begins by: cloud {0} list. Then cloud {0} list ends. It is in {0}. See also alpha and beta."
    one, other = (said.format(word, word.upper()) for word in ("alpha", "beta"))
    assert of(one, other, lexicon) == "form: 1 fact differs: word alpha / beta"


def test_emphasis_and_lines_under_headings_are_marks_of_a_format() -> None:
    assert of("Do _not_ smoke.", "Do not smoke.") == "reflowed"
    assert of("Do _not_ smoke.", "Do smoke.").startswith("form: ")
    assert of("It has _two_ rooms.", "It has rooms.").startswith("form: ")
    assert of("It is for _Meyer_ alone.", "It is for alone.").startswith("form: ")
    assert of("Call _init now.", "Call init now.").startswith("form: ")
    assert word(f"Contract\n========\n\n{FRAME}", f"Contract {FRAME}") == "reflowed"


def test_marks_of_a_format_are_no_operators() -> None:
    one, other = FRAME.format("**(see below)** |a||b| (R&D, ...)"), FRAME.format("(see below) a b (R&D, \u2026)")
    assert word(f"# Title\n\n{one}", f"Title\n{other}") == "reflowed"


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
