"""The written forms against the files that other implementations check themselves by."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.schemes import interchange
from indexer.schemes.registry import scheme

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vectors"))

from make_interchange import lines

ROOT = Path(__file__).resolve().parents[2]
PAGE = "one two three four five six seven eight nine ten eleven twelve"


@pytest.mark.parametrize("short", interchange.SHORT_IDS)
def test_the_core_writes_what_the_files_say(short: str) -> None:
    entries = (ROOT / "docs" / "vectors" / f"{short}.tsv").read_text("ascii").splitlines()
    assert len(entries) > 40
    for entry in entries:
        written, form = entry.split("\t")
        assert (interchange.fingerprints(bytes.fromhex(written))[short] or "-") == form


@pytest.mark.parametrize("short", interchange.SHORT_IDS)
def test_the_oracles_write_the_same_files(short: str) -> None:
    assert (ROOT / "docs" / "vectors" / f"{short}.tsv").read_text("ascii") == lines(short)


def test_the_form_is_that_of_the_scheme_by_default() -> None:
    assert interchange.FORMS["mh2"].id == scheme("minhash").id


def test_the_form_of_earlier_stores_can_be_read() -> None:
    earlier = scheme("minhash:bands=25,bits=8,rows=5,shingle=5,values=128")
    assert interchange.FORMS["mh1"].id == earlier.id == "minhash:bands=25,bits=8,rows=5,shingle=5,values=128"
    forms = interchange.fingerprints(PAGE)
    assert forms["mh1"]
    assert forms["mh2"]
    with pytest.raises(UsageError, match="can't be compared"):
        interchange.similarity(forms["mh1"], forms["mh2"])


@given(st.binary(min_size=128, max_size=128), st.sampled_from(["mh1", "mh2"]))
def test_forms_read_back(payload: bytes, short: str) -> None:
    form = interchange.written(short, payload)
    assert len(form) == 4 + 205
    assert interchange.parse(f" {form.upper()}\n") == (short, payload)
    assert interchange.similarity(form, form) == 1.0


@pytest.mark.parametrize("short", ["mh1", "mh2"])
def test_forms_tell_how_much_is_shared(short: str) -> None:
    form = interchange.fingerprints(PAGE)[short]
    other = interchange.fingerprints(PAGE.replace("twelve", "dozen"))[short]
    assert form
    assert other
    assert 0.5 < interchange.similarity(form, other) < 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mh1",
        "mh1-",
        "mh3-" + "a" * 205,
        "sd1-o45z6ig5gps3e",
        "mh1-" + "a" * 204,
        "mh1-" + "1" * 205,
        "mh1-" + "a" * 204 + "b",
        "mh2-" + "a" * 204 + "b",
    ],
)
def test_forms_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        interchange.parse(text)
