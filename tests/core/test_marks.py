"""Marks that a language may leave out: keys and sketches without them, and simhash-doc as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.core.text import shingle_hashes, token_hashes, tokenise, without_marks, words_of
from indexer.schemes import registry
from indexer.text.features import recipe
from tests import oracle

SAME = {
    "vowels": ("فَتَحَ البَحَّارُ بابَ المَخزَنِ قَبلَ شُروقِ الشَّمسِ بِساعَةٍ", "فتح البحار باب المخزن قبل شروق الشمس بساعة"),
    "tatweel": ("فتـــح البحار بـــاب المخـــزن قبل الشروق بساعة", "فتح البحار باب المخزن قبل الشروق بساعة"),
    "alef": ("أخذ الأب إبنه إلى آخر الشارع وٱنتظر هناك", "اخذ الاب ابنه الى اخر الشارع وانتظر هناك"),
    "persian": ("یک کشتی کوچک در ۲۵ مایلی ساحل دیده شد", "يك كشتي كوچك در ٢٥ مايلي ساحل ديده شد"),
    "hebrew": ("הַדַּיָּג חָזַר לַנָּמֵל עִם שְׁתֵּי סִירוֹת קְטַנּוֹת", "הדיג חזר לנמל עם שתי סירות קטנות"),
    "syriac": ("ܟܬܳܒܳܐ ܛܳܒܳܐ ܥܰܠ ܝܰܡܳܐ ܘܣܰܦܝܢ̈ܶܐ ܕܰܩܪܺܝܬܳܐ", "ܟܬܒܐ ܛܒܐ ܥܠ ܝܡܐ ܘܣܦܝܢ̈ܐ ܕܩܪܝܬܐ"),
}
ALWAYS = {
    "hindi": ("में कल दिल्ली की और दो किताबें", "म कल दलल क और द कतब"),
    "thai": ("ที่นี่มีน้ำใสและต้นไม้", "ทนมนำใสและตนไม"),
    "vietnamese": ("má mà mạ mã mả đi chợ sớm", "ma ma ma ma ma đi chơ som"),
    "french": ("pêcheur péché élève déjà", "pecheur peche eleve deja"),
    "russian": ("мой край ёлка", "мои краи елка"),
}
RECIPES = ("words", "shingles", "chars")
ARABIC = st.text(
    st.sampled_from("ابتكىيکیأإآٱ\u064b\u0650\u0651\u0670\u0640ء ١۲a.\u0653שׁ\u05b0\u05c1ܐ\u0730"), max_size=40
)


@pytest.mark.parametrize("name", SAME)
def test_texts_with_and_without_such_marks_have_equal_sketches(name: str) -> None:
    left, right = SAME[name]
    assert np.array_equal(shingle_hashes(left, 5), shingle_hashes(right, 5))
    assert np.array_equal(words_of(left)[0], words_of(right)[0])
    for kind in RECIPES:
        for lower in (True, False):
            made = recipe(kind, lower=lower)
            assert np.array_equal(made.hashes(left), made.hashes(right)), kind
    for scheme in ("minhash", "passages", "passages:features=letters", "short-text", "weighted-minhash", "simhash"):
        made_of = registry.scheme(scheme)
        assert made_of.sketch(left) == made_of.sketch(right), scheme
    # The hash of simhash-doc stays what it is.
    assert not np.array_equal(token_hashes(left), token_hashes(right))


def test_the_mark_between_letters_of_syriac_is_left_out_also_without_others() -> None:
    assert without_marks("ܟܬ\u0711ܒܐ") == "ܟܬܒܐ".encode()


@pytest.mark.parametrize("name", ALWAYS)
def test_marks_that_a_language_always_writes_stay(name: str) -> None:
    left, right = ALWAYS[name]
    assert without_marks(left) == left.encode()
    assert not np.array_equal(shingle_hashes(left, 2), shingle_hashes(right, 2))


@given(ARABIC | st.text(max_size=20))
def test_texts_without_marks_are_those_of_the_oracle(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    folded = oracle.without_marks(text)
    made = without_marks(text)
    assert made == (text.encode() if folded == oracle.normalise(text) else folded.encode())
    assert without_marks(folded) == folded.encode()
    cut = tokenise(folded, numbers=True)
    assert shingle_hashes(text, 3, numbers=True).tolist() == shingle_hashes(folded, 3, numbers=True).tolist()
    assert words_of(text, identifiers=False)[0].tolist() == [oracle.lookup8(token) for token in cut.tokens]


def test_a_word_of_marks_alone_is_none_and_places_are_those_of_the_text() -> None:
    text = "كَتَبَ ـــ الدَّرْسَ"
    hashes, starts, ends = words_of(text)
    assert [text[start:end] for start, end in zip(starts, ends, strict=True)] == ["كَتَبَ", "الدَّرْسَ"]
    assert hashes.tolist() == words_of("كتب الدرس")[0].tolist()
