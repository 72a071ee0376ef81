"""Features: what is a token, with each choice; what the corpora count."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
import regex
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from indexer.core.text import UNICODE_VERSION, normalise, tokenise, without_marks
from indexer.errors import UsageError
from indexer.schemes.testing import document
from indexer.text import languages
from indexer.text.features import Features, Recipe, parse_recipe, recipe, weighted
from tests import oracle

ANY = st.text(max_size=60) | st.text(
    st.sampled_from("aZßİJǅΐ\u0345\u030c\u0308\u20dd 1٣_.-人カーกำ\u06e1\u00ad"), max_size=30
)


class Token(NamedTuple):
    """A token: as it counts, in folded case, and whether nothing lies between it and the token before."""

    text: str
    folded: str
    adjacent: bool


def tokens_of(made: Recipe, text: str) -> list[Token]:
    shown, folded = made.cut(text)
    columns = zip(shown.tokens, folded.tokens, folded.adjacent.tolist(), strict=True)
    return [Token(one.decode(), other.decode(), adjacent) for one, other, adjacent in columns]


def shown(made: Recipe, text: str) -> list[str]:
    return [token.text for token in tokens_of(made, text)]


@given(ANY)
def test_plain_tokens_are_those_of_the_core(text: str) -> None:
    tokens = [token.decode() for token in tokenise(without_marks(text)).tokens]
    assert shown(recipe(), text) == tokens


@given(ANY)
@settings(max_examples=300)
def test_kept_case_folds_to_the_same_tokens(text: str) -> None:
    plain, cased = tokens_of(recipe(), text), tokens_of(recipe(lower=False), text)
    assert [token.folded for token in cased] == [token.text for token in plain]
    assert [normalise(token.text).decode() for token in cased] == [token.text for token in plain]


@given(ANY)
@settings(max_examples=300)
def test_kept_case_is_cut_from_the_composed_text(text: str) -> None:
    whole = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    for _ in range(2):
        whole = unicodedata.normalize("NFKC", regex.sub(r"\p{Default_Ignorable_Code_Point}", "", whole))
    assume("\u0345" not in text)
    # Where marks are left out, case is folded too.
    assume(oracle.without_marks(whole) == oracle.normalise(whole))
    end = 0
    for token in tokens_of(recipe(lower=False), text):
        end = whole.index(token.text, end) + len(token.text)


def test_case_is_kept_where_folding_changes_the_length() -> None:
    text = "Straße ﬁNance İstanbul J̌x T̈ ΐ QUICK 3RD a⃝B https://A.b/X Ǆ"
    assert shown(recipe(lower=False), text) == [
        *("Straße", "fiNance", "İstanbul", "J̌x", "T̈", "ΐ", "QUICK", "3RD", "a", "B", "DŽ")
    ]


def test_numbers_are_dropped_kept_or_stripped() -> None:
    text = "v2 10 1,000 2024年 ก1 12_3 a1b ⅷ ²"
    assert shown(recipe(), text) == ["v2", "年", "ก", "a1b", "viii"]
    kept = ["v2", "10", "1", "000", "2024", "年", "ก", "1", "12_3", "a1b", "viii", "2"]
    assert shown(recipe(numbers="keep"), text) == kept
    assert shown(recipe(numbers="strip"), text) == ["v", "年", "ก", "ab", "viii"]


@given(ANY)
@example("A\u06df\u0300")
@settings(max_examples=200)
def test_kept_numbers_are_the_pieces_that_rule_3_drops(text: str) -> None:
    # Marks go first, and then a text is cut as simhash-doc cuts it: what composes then is one letter.
    cut = oracle.blank_identifiers(oracle.normalise(oracle.without_marks(text)))
    pieces = [piece for word in oracle.words(cut) for piece in oracle.KEPT.findall(word)]
    wanted = [piece for piece in pieces if oracle.ALPHABETIC.search(piece) or regex.search(r"\p{Nd}", piece)]
    assert shown(recipe(numbers="keep"), text) == wanted


def test_a_mark_on_the_stop_within_a_number_counts_with_what_follows() -> None:
    text = "1.\u03012 3"
    pieces = [piece for word in oracle.words(text) for piece in oracle.KEPT.findall(word)]
    assert shown(recipe(numbers="keep"), text) == pieces == ["1", "\u03012", "3"]


@given(ANY, st.integers(1, 64), st.sampled_from(["drop", "keep", "strip"]), st.sampled_from(["none", "en"]))
@settings(max_examples=100)
def test_character_shingles_are_runs_of_the_line(text: str, size: int, numbers: str, stop: str) -> None:
    made = recipe("chars", size, numbers=numbers, stop=stop)
    tokens = tokens_of(made, text)
    line = "".join(token.text if token.adjacent else f" {token.text}" for token in tokens)[1:]
    runs = [line[at : at + size] for at in range(max(1, len(line) - size + 1))] if line else []
    assert made.hashes(text).tolist() == [oracle.lookup8(run.encode()) for run in runs]


@given(ANY, st.sampled_from(["uax29", "icu"]), st.booleans())
@settings(max_examples=100)
def test_hashes_are_those_of_the_tokens(text: str, tokenizer: str, lower: bool) -> None:
    made = recipe(tokenizer=tokenizer, lower=lower, stop="en")
    words, folded = made.folded(text)
    tokens = tokens_of(made, text)
    assert words.tolist() == [oracle.lookup8(token.text.encode()) for token in tokens]
    assert folded.tolist() == [oracle.lookup8(token.folded.encode()) for token in tokens]


def test_dictionaries_cut_what_is_written_without_spaces_and_leave_the_rest() -> None:
    text = "The END of 人人生而自由，すべての人間はスーパー มนุษย์ทั้งหลายเกิดมามีอิสระน้ำ ມະນຸດທຸກຄົນ 3rd"
    plain, cut = shown(recipe(), text), shown(recipe(tokenizer="icu"), text)
    assert "".join(plain) == "".join(cut)
    assert cut[:3] == plain[:3] == ["the", "end", "of"]
    assert {"自由", "人間", "すべて", "มนุษย์", "อิสระ"} <= set(cut)
    assert len(cut) < len(plain)
    assert normalise("น้ำ").decode() in cut, "the vowel sign that NFKC takes apart does not hide a word"


@given(ANY)
def test_dictionaries_lose_nothing(text: str) -> None:
    wanted = "".join(shown(recipe(), text))
    assert "".join(shown(recipe(tokenizer="icu"), text)) == wanted


def test_word_shingles_are_hashes_of_hashes() -> None:
    words = ["the", "cat", "is", "in", "the", "cat", "is", "out"]
    hashes = [oracle.lookup8(word.encode()) for word in words]
    runs = [b"".join(each.to_bytes(8, "little") for each in hashes[n : n + 3]) for n in range(6)]
    wanted = Counter(oracle.lookup8(run) for run in runs)
    found = recipe("shingles").features(" ".join(words))
    assert dict(zip(found.hashes.tolist(), found.counts.tolist(), strict=True)) == wanted
    assert recipe("shingles", 9).features("the cat").hashes.size == 1
    assert recipe("shingles").features("12 .").hashes.size == 0


def test_character_shingles_cross_words_by_one_space_and_none_where_there_was_none() -> None:
    found = recipe("chars", 2).features("人生, 而 AB-c")
    parts = ["人生", "生 ", " 而", "而 ", " a", "ab", "b ", " c"]
    assert sorted(found.hashes.tolist()) == sorted(oracle.lookup8(part.encode()) for part in parts)
    dropped = recipe("chars", 3, stop="en").features("cat is out")
    parts = (
        ["cat", "at ", "t o", " ou", "out"]
        if "out" not in languages.stop_words(recipe(stop="en").stop, "")
        else ["cat"]
    )
    assert sorted(dropped.hashes.tolist()) == sorted(oracle.lookup8(part.encode()) for part in parts)


def test_stop_words_go_by_language_or_by_document() -> None:
    english, german = "the cat is there and it was black", "die Katze ist da und sie war schwarz"
    assert shown(recipe(stop="en", lower=False), "The cat " + english) == ["cat", "cat", "black"]
    assert recipe(stop="de.en").id == recipe(stop="en.de").id
    assert shown(recipe(stop="en.de"), f"{english} {german}") == ["cat", "black", "katze", "schwarz"]
    automatic = recipe(stop="auto")
    assert shown(automatic, english) == ["cat", "black"]
    assert shown(automatic, german) == ["katze", "schwarz"]
    assert shown(automatic, "") == []
    assert languages.detected("12 ... 34") == ""


def test_versions_are_part_of_the_id() -> None:
    made = recipe("shingles", stop="auto", tokenizer="icu", lower=False)
    assert parse_recipe(made.id) == made
    assert UNICODE_VERSION in recipe().id
    for written in (
        "words",
        "words:lower=true",
        made.id.replace("icu-", "icu-0."),
        made.id.replace("auto-", "auto-0."),
    ):
        with pytest.raises(UsageError):
            parse_recipe(written)


def test_a_package_that_is_not_there_is_named() -> None:
    program = """
import sys
sys.modules["icu4py"] = sys.modules["py3langid"] = None
from indexer.errors import UsageError
from indexer.text.features import recipe
for asked in ({"tokenizer": "icu"}, {"stop": "auto"}):
    try:
        recipe(**asked)
    except UsageError as error:
        print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install 'neardup[icu]'" in said
    assert "pip install 'neardup[languages]'" in said


def test_weights() -> None:
    found = Features(np.array([1, 2, 3], dtype=np.uint64), np.array([1, 2, 8], dtype=np.int64))
    assert weighted(found, "occurrence").tolist() == [1, 2, 8]
    assert weighted(found, "set").tolist() == [1, 1, 1]
    assert weighted(found, "log").tolist() == [65536, round(65536 * (1 + np.log(2))), round(65536 * (1 + np.log(8)))]
    assert weighted(found, "tfidf", lambda hashes: hashes / 4).tolist() == [16384, 65536, 8 * 3 * 16384]
    assert weighted(found, "tfidf", lambda hashes: hashes * 0.0).tolist() == [1, 1, 1]
    with pytest.raises(UsageError, match="tfidf"):
        weighted(found, "tfidf")


def test_long_texts_of_every_kind_are_read() -> None:
    text = document(1, 3000) + "中文" * 3000 + "ก" * 3000 + "\u0301" * 3000
    for asked in ({"tokenizer": "icu"}, {"lower": False}, {"numbers": "keep"}, {"stop": "auto"}):
        assert recipe(**asked).features(text).hashes.size > 100  # type: ignore[arg-type]
