"""From text to tokens: the C core against the slow oracle."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.native import set_simd_level, simd_level
from indexer.core.sketches import fingerprint
from indexer.core.text import normalise, tokenise
from indexer.errors import ExtractionError
from indexer.extract import Options, extract
from tests import oracle

# Letters of many scripts, marks that reorder or compose, joiners, and the pieces that identifiers are made of.
PIECES = [
    *"aZİı7_ \n\r\t.,:;'\"’·@-/",
    *"éßﬁǆſÅẛ",
    *"אבגְֱ״",
    *"अक्षरनि़",
    *"กำลังใจ",
    *"ខ្មែរ",
    *"中文字々〇㐀䷀",
    *"ひらがなカタカナー",
    *"한글\u1100\u1161\u11a8ᄀ",
    *"العربيةﷺ\u0600\u06dd",
    *"тЁЙ",
    *"αΏΐͅ",
    "\u0301", "\u0323", "\u0345", "\u0307", "\u1dce", "\u0f71\u0f72", "\u200d", "\u200c", "\u00ad", "\u2060", "\ufe0f",
    "👨\u200d👩", "🇫🇷", "\U000e0061", "\ud800", "\udfff", "\ufffd", "\x00", "\x85", "\u2028",
    "www.", "http://", "doi:", "10.1000/", "x@y.z", "123e4567-e89b-12d3-a456-426614174000", "0000-0002-1825-009X",
]  # fmt: skip

texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=24).map("".join),
    st.text(max_size=40),
    st.text(alphabet=st.characters(codec="utf-8", categories=["L", "M", "N", "P"]), max_size=40),
)


def agree(text: str) -> None:
    plain = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    assert normalise(text).decode() == oracle.normalise(plain)
    found = tokenise(text)
    assert [token.decode() for token in found.tokens] == oracle.tokens(plain)
    assert fingerprint(text) == oracle.fingerprint(plain)


@given(texts)
@settings(max_examples=1500, deadline=None)
def test_core_and_oracle_agree(text: str) -> None:
    agree(text)


@given(st.binary(max_size=60))
@settings(max_examples=500, deadline=None)
def test_bytes_that_are_not_utf8_are_read_as_replacement_characters(data: bytes) -> None:
    assert fingerprint(data) == oracle.fingerprint(data.decode("utf-8", "replace"))
    assert normalise(data).decode() == oracle.normalise(data.decode("utf-8", "replace"))


@given(
    st.lists(st.sampled_from(["word ", "naïve ", "中文", "x@y.zz ", "a.b", "\n", "1", "é"]), max_size=200).map("".join)
)
@settings(max_examples=150, deadline=None)
def test_texts_over_many_blocks(text: str) -> None:
    agree(text)


@given(texts, texts)
@settings(max_examples=300, deadline=None)
def test_a_line_end_parts_all(left: str, right: str) -> None:
    whole = tokenise(f"{left}\n{right}").tokens
    assert whole == tokenise(left).tokens + tokenise(right).tokens


@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_instruction_level_gives_the_same(level: int) -> None:
    texts = [f"Größe {n} the quick brown 狐 jumps over https://example.org/{n} " * (n % 7 + 1) for n in range(200)]
    best = simd_level()
    try:
        expected = [fingerprint(text) for text in texts]
        if set_simd_level(level) != level:
            pytest.skip(f"NEEDS A PROCESSOR with instruction level {level}; it was not compared")
        assert [fingerprint(text) for text in texts] == expected
    finally:
        set_simd_level(best)


def test_every_code_point_by_itself_and_after_a_letter() -> None:
    for code in range(0x30000):
        if 0xD800 <= code < 0xE000:
            continue
        char = chr(code)
        assert normalise(char).decode() == oracle.normalise(char), hex(code)
    # Beyond, nearly all is unassigned or private: many at once, one in seven, or with NEARDUP_ALL all of them.
    step = 1 if os.environ.get("NEARDUP_ALL") else 7
    for first in range(0x30000, 0x110000, 0x1000):
        chars = " ".join(map(chr, range(first, first + 0x1000, step)))
        assert normalise(chars).decode() == oracle.normalise(chars), hex(first)
    letters = "".join(chr(code) + " a" for code in range(0x20, 0x30000) if not 0xD800 <= code < 0xE000)
    for start in range(0, len(letters), 3000):
        agree(letters[start : start + 3000])


def documents(shared_data: Path) -> list[Path]:
    lines = (shared_data / "truth" / "all.jsonl").read_text("utf-8").splitlines()
    return [shared_data / json.loads(line)["path"] for line in lines]


@pytest.mark.parametrize("part", range(4))
def test_every_real_document(shared_data: Path, part: int) -> None:
    known: dict[str, list[str]] = {}
    read = 0
    # The oracle is slow: one in six, or with NEARDUP_ALL all of them.
    step = 1 if os.environ.get("NEARDUP_ALL") else 6
    for path in documents(shared_data)[part :: 4 * step]:
        try:
            text = extract(path, options=Options(content="full")).text
        except ExtractionError:
            continue
        read += 1
        expected = []
        for line in text.split("\n"):
            if line not in known:
                known[line] = oracle.tokens(line)
            expected += known[line]
        assert [token.decode() for token in tokenise(text).tokens] == expected, path
        found = fingerprint(text)
        assert (found[1] if found else 0) == len(expected), path
    assert read > 500 // step
