"""short-text: the contract, what is found whatever the words are, and twins that never meet."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from indexer.model.ragged import Ragged
from indexer.schemes import registry
from indexer.schemes.base import Scheme, Sketches
from indexer.schemes.short_text import _compared, _SortedWords
from indexer.schemes.testing import SchemeContract
from tests.vectors import make_short_vectors

# No word is another one misspelt, and none is of grammar.
WORDS = [
    "".join((a, b, "tol", c))
    for a in ("ba", "ke", "mo", "ri")
    for b in ("fund", "gark", "zelp")
    for c in ("x", "wem", "quist")
]
NEAR = 0.65


class TestShortText(SchemeContract):
    specification = "short-text"
    bad = ("short-text:words=7", "short-text:words=1001", "short-text:words=x", "short-text:words=2.5")
    payload_limit = 6000
    bad_payloads = (b"", b"x", b"0123456789abcdef", b"0123456789abcdefword")


class TestShortTextOfManyWords(SchemeContract):
    specification = "short-text:words=1000"
    bad = ("short-text:words=true",)
    payload_limit = 20000
    bad_payloads = (b"", b"x" * 40)


def scheme() -> Scheme:
    return registry.scheme("short-text")


def met(one: str, other: str) -> tuple[bool, float]:
    """Whether two texts share a key, and their similarity."""
    made = scheme()
    left, right = made.sketch(one), made.sketch(other)
    assert left is not None
    assert right is not None
    return bool({*made.probes(left, NEAR)} & {*right.keys}), float(made.similarities(left.payload, [right.payload])[0])


def near(one: str, other: str) -> bool:
    meets, similarity = met(one, other)
    return meets and similarity >= NEAR


@given(st.lists(st.sampled_from(WORDS), min_size=8, max_size=30, unique=True), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_one_word_in_ten_and_one_at_least_may_be_changed_cut_or_swapped_with_the_next(
    words: list[str], draw: random.Random
) -> None:
    count = max(1, len(words) // 10)
    places = draw.sample(range(len(words)), count)
    changed = [f"other{chr(97 + place)}" if place in places else word for place, word in enumerate(words)]
    assert near(" ".join(words), " ".join(changed))
    cut = [word for place, word in enumerate(words) if place not in places]
    assert near(" ".join(words), " ".join(cut))
    swapped = words[:]
    for place in places:
        first = min(place, len(words) - 2)
        swapped[first], swapped[first + 1] = swapped[first + 1], swapped[first]
    assert near(" ".join(words), " ".join(swapped))


@given(st.lists(st.sampled_from(WORDS), min_size=5, max_size=9, unique=True), st.data())
@settings(max_examples=60, deadline=None)
def test_in_five_words_or_more_any_one_may_be_another(words: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(words) - 1))
    assert near(" ".join(words), " ".join([*words[:place], "other", *words[place + 1 :]]))


@given(st.lists(st.sampled_from(WORDS), min_size=3, max_size=12, unique=True), st.data())
@settings(max_examples=60, deadline=None)
def test_a_misspelt_word_is_the_same_from_three_words_on(words: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(words) - 1))
    letter = data.draw(st.integers(1, len(words[place]) - 1))
    misspelt = words[place][:letter] + words[place][letter + 1 :]
    assert near(" ".join(words), " ".join([*words[:place], misspelt, *words[place + 1 :]]))


TWINS = (
    ("Nike running shoe black, size 42", "Nike running shoe black, size 43"),
    ("Orange juice 1.5 l", "Orange juice 15 l"),
    ("Orange juice 500 ml", "Orange juice 500 g"),
    ("Cable white 2 m", "Cable white 2m, 3 pcs"),
    ("Cotton shirt blue M", "Cotton shirt blue L"),
    ("cotton shirt blue size m", "cotton shirt blue size l"),
    ("Cotton shirt blue small", "Cotton shirt blue large"),
    ("Cotton shirt blue XL", "Cotton shirt blue XXL"),
    ("Compiler for the arm64 architecture", "Compiler for the sparc64 architecture"),
    ("Vitamin C tablets from Bayer", "Vitamin D tablets from Bayer"),
    ("A short history of World War I", "A short history of World War II"),
    ("The jury found the two men guilty of fraud", "The jury found the two men not guilty of fraud"),
    ("The jury found three men guilty of fraud", "The jury found four men guilty of fraud"),
    ("Sales fell by 5% in the last quarter of the year", "Sales fell by $5 in the last quarter of the year"),
    ("Le ministre ne veut pas parler de la loi", "Le ministre veut parler de la loi"),
    ("El precio sube 12 euros por persona en mayo", "El precio sube 21 euros por persona en mayo"),
    ("中国队今天以三比零战胜对手", "中国队今天以四比零战胜对手"),
    ("It was -5 degrees on the mountain at noon", "It was 5 degrees on the mountain at noon"),
)


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_twins_that_differ_in_a_number_a_size_or_a_negation_share_no_key(one: str, other: str) -> None:
    assert met(one, other) == (False, 0.0)


NAMED = (
    ("The mayor of Berlin opens a new bridge over the river", "The mayor of Paris opens a new bridge over the river"),
    ("Berlin opens a new bridge over the river today", "Paris opens a new bridge over the river today"),
    ("Samsung Galaxy Phone Case Black", "Apple Galaxy Phone Case Black"),
    (
        "The president of Gambia meets the press in the capital",
        "The president of Zambia meets the press in the capital",
    ),
    ("check/gst/gstcaps.c: update of the tests", "check/gst/gstelement.c: update of the tests"),
    ("call open_file where nothing is there", "call close_file where nothing is there"),
    ("The court says the plan is legal under the new law", "The court says the plan is illegal under the new law"),
)


@pytest.mark.parametrize(("one", "other"), NAMED)
def test_another_name_or_the_opposite_is_not_near(one: str, other: str) -> None:
    assert met(one, other)[1] == 0.0


SAME = (
    ("Orange juice 500ml, pack of 6", "orange juice 500 ml  pack of 6"),
    ("SENATE PASSES BILL ON CLEAN WATER", "Senate passes bill on clean water"),
    ("L'été arrive dans le sud de la France", "L\N{RIGHT SINGLE QUOTATION MARK}été arrive dans le sud de la France"),
    ("ＡＢＣ 新闻 报道", "abc 新闻报道"),
    ("Acme® Turbine™ mill, black", "Acme Turbine mill, black"),
    ("Moving up: E-Commerce on databases", "Moving up: e-commerce on databases"),
    ("Der Donau\N{SOFT HYPHEN}dampfer fährt heute", "Der Donaudampfer fährt heute"),
    ("\u202eالسلام عليكم ورحمة\u200f الله", "السلام عليكم ورحمة الله"),
    ("the sum ℝ of all rooms", "the sum R of all rooms"),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_case_spaces_and_signs_count_for_nothing(one: str, other: str) -> None:
    assert met(one, other) == (True, 1.0)


def test_a_text_that_is_not_short_is_near_its_equal_alone() -> None:
    words = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(101)]
    assert met(" ".join(words), " ".join(words)) == (True, 1.0)
    assert met(" ".join(words), " ".join([*words[:-1], "other"])) == (False, 0.0)


def pairs(made: Scheme, texts: Sequence[str], least: float = NEAR) -> set[tuple[int, int]]:
    sketches = [sketch for text in texts if (sketch := made.sketch(text))]
    table = Sketches(
        Ragged.of_bytes([each.payload for each in sketches]), Ragged.of_integers([each.keys for each in sketches])
    )
    blocks = list(made.join(table, least))
    return {pair for left, right in blocks for pair in zip(left.tolist(), right.tolist(), strict=True)}


def test_what_more_than_a_thousand_have_in_common_makes_no_pairs_of_them() -> None:
    frame = "watch the new video of {} at the great stadium of our town"
    names = [f"{a}{b}" for a in WORDS for b in WORDS][:1200]
    texts = [frame.format(name) for name in names] + [frame.format(f"{names[0]}, {names[1]}")]
    met_by = pairs(scheme(), texts)
    assert len(met_by) < 10
    assert (0, 1200) in met_by


LETTERS = "法院拒绝批准大桥预算医生调查工厂市场村庄风暴森林剧院港口画家铁路边境选举保险"


@pytest.mark.parametrize("count", range(6, 37))
def test_a_word_of_two_letters_may_change_wherever_it_stands_in_chinese(count: int) -> None:
    for place in range(0, count - 1, 2):
        text = LETTERS[:count]
        for other in ("天气", "", "云"):
            meets, similarity = met(text, text[:place] + other + text[place + 2 :])
            assert meets, (text, place, other)
            assert similarity == pytest.approx((count - 2) / (count + len(other)))


# Two that begin and end alike, two misspelt, and short ones.
BRANDS = ["Tarozu", "Taorzu", "Trozu", "Tarozzu", "Tarozuk", "Belimo", "Belima", "Beklimo", "Zonda", "Kiru", "Üllerno"]


@given(
    st.lists(st.sampled_from([*BRANDS, *WORDS]), min_size=3, max_size=9),
    st.sampled_from(["", *BRANDS, *(name.lower() for name in BRANDS), *WORDS[::5]]),
    st.sampled_from(["change", "add"]),
    st.data(),
)
@settings(max_examples=400, deadline=None)
def test_texts_of_up_to_nine_words_that_are_near_and_differ_in_one_word_meet(
    words: list[str], new: str, way: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(words) - 1))
    if way == "change" and new and len(words) <= 4:
        # There the two have to begin alike, or to begin and end alike.
        ends = [{word[:2], word[0] + word[-1]} for word in (new.lower(), words[place].lower())]
        assume(ends[0] & ends[1])
    other = [*words[:place], *new.split(), *words[place + (way == "change") :]]
    for one, two in ((words, other), (other, words)):
        meets, similarity = met(" ".join(one), " ".join(two))
        assert len(other) > 9 or similarity < NEAR or meets, (one, two)


@pytest.mark.parametrize("name", ["Tarozu", "Belimok", "Sandover"])
def test_a_name_misspelt_in_any_letter_but_the_first_meets_the_name(name: str) -> None:
    frame = "{} running shoe, black, 38"
    misspelt = {name[:at] + letter + name[at:] for at in range(1, len(name) + 1) for letter in "x"}
    misspelt |= {name[:at] + letter + name[at + 1 :] for at in range(1, len(name)) for letter in ("x", "")}
    misspelt |= {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in range(1, len(name) - 1)}
    for other in misspelt:
        if len(other) >= 6:
            assert near(frame.format(name), frame.format(other)), other
            assert near(frame.format(other), frame.format(name)), other
            assert near(frame.format(name), frame.format(other.lower())), other


@given(
    st.lists(
        st.lists(st.sampled_from([*BRANDS, *WORDS[:6], "tall", "7", "not"]), min_size=1, max_size=12),
        min_size=2,
        max_size=14,
    ),
    st.sampled_from([0.4, NEAR, 0.9]),
)
@settings(max_examples=150, deadline=None)
def test_a_join_gives_all_that_meet_and_are_near(lists: list[list[str]], least: float) -> None:
    made, texts = scheme(), [" ".join(words) for words in lists]
    sketches = [sketch for text in texts if (sketch := made.sketch(text))]
    wanted = set()
    for (i, one), (j, other) in combinations(enumerate(sketches), 2):
        if {*made.probes(one, least)} & {*other.keys} and made.similarities(one.payload, [other.payload])[0] >= least:
            wanted.add((i, j))
    assert wanted <= pairs(made, texts, least)


@pytest.mark.parametrize("frame", ["{} jacket", "tall {} jacket"])
def test_of_three_or_four_words_another_one_meets_only_where_it_is_the_same_misspelt(frame: str) -> None:
    colours = ["black", "white", "green", "brown", "violet", "orange"]
    texts = [frame.format(f"Zonda {colour}") for colour in colours]
    misspelt = [frame.format(f"Zonda {colour[:2]}{colour[3]}{colour[2]}{colour[4:]}") for colour in colours]
    without = frame.format("Zonda")
    met_by = pairs(scheme(), [*texts, *misspelt, without])
    assert {(place, place + 6) for place in range(6)} <= met_by
    assert {(place, 12) for place in range(12)} <= met_by
    assert len(met_by) == 6 + 12


def test_products_that_differ_in_the_name_of_the_model_are_not_compared_and_misspelt_ones_are() -> None:
    names = [f"{a}{b}{c}" for a in ("Ba", "Ke", "Mo", "Ri", "Su", "Ta") for b in WORDS[::2] for c in "aeiou"]
    texts = [f"Zonda {name} running shoe, black, 38" for name in names]
    without, misspelt = "Zonda running shoe, black, 38", "Zonda Babafundtloxa running shoe, black, 38"
    met_by = pairs(scheme(), [*texts, without, misspelt])
    assert {(number, len(texts)) for number in range(len(texts))} <= met_by, "the name is left out"
    assert (texts.index("Zonda Babafundtolxa running shoe, black, 38"), len(texts) + 1) in met_by
    others = {pair for pair in met_by if pair[1] < len(texts)}
    # Of each, those that begin with the same two letters, or with the same one and end with the same three.
    assert len(others) < len(texts) ** 2 / 2 / 3


def test_without_spaces_few_texts_meet_for_what_they_have_in_common() -> None:
    """Three letters in a row are in very many titles, and made a pair of each two of them."""
    draw = random.Random(4)
    words = [LETTERS[place : place + 2] for place in range(0, 36, 2)]
    texts = ["".join(draw.choices(words, k=9)) for _ in range(400)]
    assert len(pairs(scheme(), texts)) < 4 * len(texts)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("张伟明拒绝批准大桥预算", "孙超艳拒绝批准大桥预算", False),
        ("张伟明拒绝批准大桥预算", "张伟艳拒绝批准大桥预算", False),
        ("部长拒绝批准大桥的预算", "张伟明拒绝批准大桥的预算", False),
        ("森林大桥拒绝批准的预算", "森林大路拒绝批准的预算", True),
        ("严重风暴关闭大桥和工厂", "严重风暴关闭港口和工厂", True),
    ],
)
def test_another_name_is_another_title_in_chinese(one: str, other: str, same: bool) -> None:
    assert near(one, other) == same


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 10, 100])
def test_keys_are_few_sorted_and_do_not_depend_on_the_other_texts(count: int) -> None:
    sketch = scheme().sketch(" ".join(f"{WORDS[n % len(WORDS)]}" for n in range(count)))
    assert sketch is not None
    assert list(sketch.keys) == sorted({*sketch.keys})
    assert len(sketch.keys) <= 1 + 9 + max(0, count - 2)
    assert np.all(np.diff(np.array(sketch.keys)) > 0)


@pytest.mark.parametrize("identifier", make_short_vectors.IDENTIFIERS)
def test_the_scheme_meets_every_vector(identifier: str) -> None:
    written = json.loads((Path(make_short_vectors.__file__).parent / "short-text.json").read_text("ascii"))
    [wanted] = [each for each in written["documents"] if each["id"] == identifier]
    assert written["texts"] == make_short_vectors.TEXTS
    assert make_short_vectors.document(identifier) == wanted


NAMES = ["Tarozu", "Tarozo", "Belima", "belima", "Dorane", "NASA", "Über", "Ubel"]


@given(
    st.lists(st.sampled_from([*NAMES, *WORDS[::9]]), min_size=2, max_size=4),
    st.lists(st.sampled_from([*NAMES, *WORDS[::9]]), min_size=2, max_size=4),
)
def test_pairs_that_are_told_at_once_are_as_they_are_word_by_word(shared_by_all: list[str], own: list[str]) -> None:
    titles = [[*shared_by_all, word] for word in own]
    scheme = registry.scheme("short-text")
    made = [scheme.sketch(" ".join(["the", *words])) for words in titles]
    payloads = Ragged.of_bytes([sketch.payload for sketch in made if sketch])
    left, right = np.triu_indices(len(titles), 1)
    words = _SortedWords.of(payloads)
    for mine, yours, value in zip(left.tolist(), right.tolist(), scheme.compare(payloads, left, right), strict=True):
        one, other = words.of_text(mine), words.of_text(yours)
        shared = len(one.keys() & other.keys())
        if words.facts[mine] == words.facts[yours] and shared < min(len(one), len(other)) <= 2 * shared:
            assert value == pytest.approx(_compared(one, other, shared))


@pytest.mark.parametrize(
    ("one", "other"),
    [("three", "four"), ("hundred", "thousand"), ("drei", "vier"), ("trois", "quatre"), ("tres", "cuatro"),
     ("tre", "quattro"), ("três", "quatro"), ("3", "4")],
)  # fmt: skip
def test_numbers_in_words_tell_titles_apart_in_the_languages_that_the_page_names(one: str, other: str) -> None:
    scheme = registry.scheme("short-text")
    made = [scheme.sketch(f"blue chairs with {number} legs and a cushion") for number in (one, other)]
    assert made[0] is not None
    assert made[1] is not None
    assert scheme.similarities(made[0].payload, [made[1].payload]).tolist() == [0.0]
