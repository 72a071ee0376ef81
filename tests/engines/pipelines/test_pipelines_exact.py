"""The fingerprint computed in the cluster is the C core's, or the document is marked: on a real OpenSearch."""

from __future__ import annotations

import base64
import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.text import shingle_hashes
from indexer.engine.index.sketches import KeyFields
from indexer.engine.setup.pipelines import script_forms
from indexer.extract import Extracted, Failed, Item, Limits, Options, WorkerPool
from indexer.ingest.indexing import store_info
from indexer.schemes import registry
from tests.engines.pipelines.pipelined import (
    DIRECTORY,
    MINHASH,
    agree,
    put_by_hand,
    put_with_sketch,
    sketched,
    through,
)
from tests.engines.servers import Server
from tests.schemes import oracle_minwise

ROOT = Path(__file__).resolve().parents[3]
VECTORS = json.loads((ROOT / "tests" / "vectors" / "simhash-doc.json").read_text("utf-8"))["vectors"]
SKETCHES = json.loads((ROOT / "tests" / "vectors" / "minhash.json").read_text("utf-8"))

PIECES = [
    *"aZI7_ \n\t.,:;'\"-/@", *"éßﬁſÅẛİı", *"αΏΐΣς", *"ЁйЖѣ", "\u0301", "\u0323", "\u0345", "\u0308", "\u200d", "\u00ad",
    "\u00a0", "…", "½", "™", "𝐀", "👍🏽", "🇫🇷", *"אב״", "कि", "ไทย", "漢字", "カー", "ひ", "\u1100\u1161", "한",
    "www.", "http://", "doi:", "10.1000/", "x@y.z", "123e4567-e89b-12d3-a456-426614174000", "0000-0002-1825-009X",
    "://", "mailto", "isbn", "a.b", "\u0085", "\u2028", "\ufffd", "\U00020000", "\ua7cb", "\u1add",
    "12", "3.14", "1,000", "٣", "७x", "1_0", "12th",
]  # fmt: skip
SCRIPTS = st.characters(min_codepoint=1, max_codepoint=0x2FFF, categories=["L", "M", "N", "P", "Z", "S", "Cc", "Cf"])
EUROPEAN = st.one_of(
    st.characters(max_codepoint=0x24F, min_codepoint=1),
    st.characters(min_codepoint=0x250, max_codepoint=0x52F),
    st.characters(min_codepoint=0x1C80, max_codepoint=0x1C8A),
    st.characters(min_codepoint=0x1D00, max_codepoint=0x20CF),
    st.characters(min_codepoint=0x2C60, max_codepoint=0x2C7F),
    st.characters(min_codepoint=0x2DE0, max_codepoint=0x2DFF),
    st.characters(min_codepoint=0xA640, max_codepoint=0xA69F),
    st.characters(min_codepoint=0xA720, max_codepoint=0xA7FF),
    st.characters(min_codepoint=0xAB30, max_codepoint=0xAB6F),
    st.characters(min_codepoint=0xFB00, max_codepoint=0xFB06),
)
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=24).map("".join),
    st.text(alphabet=EUROPEAN, max_size=40),
    st.text(alphabet=SCRIPTS, max_size=40),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=20),
)
# What is written today, with accents apart and not: all of it known for long.
WRITTEN = st.one_of(
    st.characters(min_codepoint=9, max_codepoint=0x24F, categories=["L", "N", "P", "Z", "S"]),
    st.sampled_from("\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0323\u0327\u0331"),
    st.characters(min_codepoint=0x386, max_codepoint=0x3CE, categories=["L"]),
    st.characters(min_codepoint=0x400, max_codepoint=0x4FF, categories=["L"]),
    st.characters(min_codepoint=0x1E00, max_codepoint=0x1FBC, categories=["L"]),
    st.sampled_from("‘’“”–—…•€№™ \u00a0\u00ad"),
)


@pytest.fixture(scope="module")
def painless(painless: Server) -> Server:
    """The same with the pipeline that makes the sketches of a new store."""
    put_with_sketch(painless)
    return painless


def test_the_golden_vectors(painless: Server) -> None:
    assert agree(painless, [vector["text"] for vector in VECTORS]) == {"equal": len(VECTORS)}


def test_the_golden_sketches_of_every_form(painless: Server) -> None:
    forms = SKETCHES["documents"]
    # What has no words but numbers is given none (agree).
    texts = {name: text for name, text in SKETCHES["texts"].items() if name != "no word"}
    try:
        for each in forms:
            put_with_sketch(painless, registry.scheme(each["id"]))
            found = through(painless, "neardup-simhash", ({"body": text} for text in texts.values()))
            for name, document in zip(texts, found, strict=True):
                fields, wanted = document["neardup"]["minhash"], each["vectors"][name]
                assert fields["features"] == wanted["features"], (each["id"], name)
                payload = base64.b64decode(fields["sketch"]).hex() if wanted["payload"] else fields.get("sketch")
                assert payload == wanted["payload"], (each["id"], name)
                info = registry.scheme(each["id"]).info
                keys = [info.layout.pack(table, int(key, 16)) for table, key in enumerate(wanted["keys"])]
                assert list(map(int, KeyFields.of(info).read(fields))) == keys, (each["id"], name)
    finally:
        put_with_sketch(painless)


@pytest.mark.parametrize(
    "form",
    [
        "values=8,bands=2,rows=3",
        "values=4096,bits=16,bands=120,rows=33",
        "bits=8,numbers=drop",
        "bits=2,shingle=64",
        "bits=4,shingle=1,values=256,bands=256,rows=1",
    ],
)
def test_other_forms(painless: Server, form: str) -> None:
    scheme = registry.scheme(f"minhash:{form}")
    texts = [counted(words) for words in (0, 1, 2, 63, 64, 65, 516, 1000)]
    texts += ["12 + 34", *(vector["text"] for vector in VECTORS)]
    put_with_sketch(painless, scheme)
    try:
        assert agree(painless, texts, scheme) == {"equal": len(texts)}
    finally:
        put_with_sketch(painless)


def counted(words: int, vocabulary: int = 5000) -> str:
    """This many words and numbers."""
    chance = random.Random(words)
    return " ".join(f"{'w' * (number % 3)}{number}" for number in chance.choices(range(vocabulary), k=words))


@pytest.mark.parametrize("form", ["", "shingle=1,window=1", "shingle=3,window=7", "shingle=64,window=1024"])
def test_passages_are_those_of_the_core(painless: Server, form: str) -> None:
    scheme = registry.scheme(f"passages:{form}" if form else "passages")
    infos = [store_info("landmarks", [MINHASH, scheme])]
    put_by_hand(painless, "neardup-simhash", **script_forms(infos))
    texts = [counted(words, vocabulary) for words in (0, 1, 4, 5, 36, 37, 1000, 30_000) for vocabulary in (1, 3, 5000)]
    texts += ["12 + 34", *(vector["text"] for vector in VECTORS)]
    try:
        found = list(through(painless, "neardup-simhash", ({"body": text} for text in texts)))
    finally:
        put_with_sketch(painless)
    for text, document in zip(texts, found, strict=True):
        record = document["neardup"]
        assert record["passages"] == sketched(scheme, text), ascii(text)
        assert record["minhash"] == sketched(MINHASH, text), ascii(text)


def test_texts_of_every_size(painless: Server) -> None:
    # Few shingles leave places to the permutations, many are done after a round; of three words there are 243 at most.
    sizes = (*range(1, 12), 30, 100, 128, 130, 200, 500, 1000, 2000, 5000, 20_000)
    texts = [counted(words, vocabulary) for words in sizes for vocabulary in (1, 3, 5000)]
    assert agree(painless, texts) == {"equal": len(texts)}


def test_shingles_that_leave_too_much_to_do_are_marked(painless: Server) -> None:
    words = crowded(3700, 768)
    texts = [" ".join(words[:count]) for count in (1800, len(words))]
    assert agree(painless, texts) == {"equal": 1, "too-long": 1}


def crowded(shingles: int, places: int) -> list[str]:
    """Words chosen so that their shingles of five go to the first of 1,024 places in every round."""
    multipliers = [np.uint64(each | 1) for each in itertools.islice(oracle_minwise.splitmix(1), 8)]
    chosen = ["a", "b", "c", "d"]
    tried = 0
    while len(chosen) < shingles + 4:
        words = [f"x{number}" for number in range(tried, tried + 64)]
        tried += len(words)
        # What each word would make with the four before it.
        text = " ".join(" ".join([*chosen[-4:], word]) for word in words)
        hashes = shingle_hashes(text, 5, numbers=True)[::5]
        fits = np.ones(len(words), dtype=bool)
        for multiplier in multipliers:
            fits &= hashes * multiplier >> np.uint64(54) < places
        chosen += [words[int(place)] for place in np.flatnonzero(fits)[:1]]
    return chosen


def test_without_a_form_there_is_no_sketch(painless: Server) -> None:
    put_by_hand(painless, "neardup-simhash")
    try:
        [document] = through(painless, "neardup-simhash", [{"body": counted(30)}])
    finally:
        put_with_sketch(painless)
    assert "simhash-doc" in document["neardup"]
    assert "minhash" not in document["neardup"]


def test_every_code_point(painless: Server) -> None:
    texts = [
        " ".join(f"x{chr(code)}y {chr(code)}z q{chr(code)} {chr(code)}" for code in range(start, start + 16))
        for start in range(0, 0x21000, 16)
        if not 0xD800 <= start < 0xE000
    ]
    counts = agree(painless, texts)
    # U+001B and U+009B; all of U+20000 to U+20FFF, and what the server's Java does not know.
    assert set(counts) == {"equal", "escapes", "unicode"}
    assert counts["escapes"] == 2
    assert counts["equal"] > 0.95 * (0x20000 - 0x800) / 16


@given(st.lists(TEXTS, min_size=40, max_size=80))
@settings(max_examples=60, deadline=None)
def test_any_text(painless: Server, texts: list[str]) -> None:
    agree(painless, texts)


@given(st.lists(st.text(alphabet=WRITTEN, max_size=60), max_size=60))
@settings(max_examples=15, deadline=None)
def test_european_text_is_not_handed_over(painless: Server, texts: list[str]) -> None:
    counts = agree(painless, [text for text in texts if text.strip()])
    assert set(counts) <= {"equal"}


def test_marks_and_letters_that_fold_are_those_of_the_core(painless: Server) -> None:
    folding = [*range(0x590, 0x750), *range(0x870, 0x900)]
    # Beside no other mark, since the core looks for one first.
    assert set(agree(painless, [f"x {chr(code)} x{chr(code)}x" for code in folding])) <= {"equal", "unicode"}


def test_real_documents(painless: Server, shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(filter(Path.is_file, shared_data.rglob("*")))
    # One in four, or with NEARDUP_ALL all of them.
    step = 1 if os.environ.get("NEARDUP_ALL") else 4
    paths = [path for path in files if path.suffix in (".html", ".xml", ".pdf")][::step]
    items: Iterable[Item[Path] | Failed[Path]] = (Item(path, path.read_bytes(), path.name) for path in paths)
    with WorkerPool[None](2, Options(), Limits(seconds=10, memory=1 << 30)) as pool:
        found = [each.document.text for each in pool.outcomes(items) if isinstance(each, Extracted)]
    texts = [text.encode("utf-8", "replace").decode() for text in found if text]
    counts = agree(painless, texts)
    marked = counts.total() - counts["equal"]
    with capsys.disabled():
        print(f"\n{counts.total()} real documents through the pipeline: {marked / counts.total():.1%} marked, {counts}")
    assert marked < 0.02 * counts.total()


def test_long_texts(painless: Server) -> None:
    word = "съешь ещё этих мягких булок "
    whole = word * (300_000 // len(word))
    ideographs = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9F00), k=300_000)))
    assert agree(painless, [whole, "漢字 " * 99_000, ideographs, "a 1 " * 75_000]) == {"equal": 4}
    assert agree(painless, [whole + "x" * 1000, "e" + "\u0301\u0323" * 40]) == {"too-long": 1, "marks": 1}
    # One character becomes eighteen, and so the bytes are too many for a pass.
    assert agree(painless, ["\ufdfa" * 40_000]) == {"too-long": 1}


def test_the_files_are_what_their_generator_writes(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "cffi_build" / "text"))
    try:
        from make_unicode_tables import PINNED
    except ImportError as error:
        pytest.skip(f"NEEDS THE GENERATOR'S PACKAGES: {error}; the pipelines were not made again")
    finally:
        sys.path.remove(str(ROOT / "cffi_build" / "text"))
    for package, wanted in PINNED.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            found = "nothing"
        if found != wanted:
            pytest.skip(f"NEEDS {package} {wanted}, found {found}; the pipelines were not made again")
    generator = ROOT / "cffi_build" / "text" / "make_pipelines.py"
    subprocess.run([sys.executable, str(generator), "--output", str(tmp_path)], check=True)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(path.name for path in DIRECTORY.glob("*.json"))
    for name in made:
        assert (tmp_path / name).read_bytes() == (DIRECTORY / name).read_bytes()
