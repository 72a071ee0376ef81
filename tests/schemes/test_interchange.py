"""The written forms against the files that other implementations check themselves by."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.schemes import interchange
from indexer.schemes.registry import scheme
from tests.vectors.make_interchange import lines

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
    assert interchange.FORMS["mh3"].id == scheme("minhash").id
    assert interchange.FORMS["pa2"].id == scheme("passages").id


@given(st.binary(min_size=128, max_size=128))
def test_forms_read_back(payload: bytes) -> None:
    form = interchange.written("mh3", payload)
    assert len(form) == 4 + 205
    assert interchange.parse(f" {form.upper()}\n") == ("mh3", payload)
    assert interchange.similarity(form, form) == 1.0


def test_forms_tell_how_much_is_shared() -> None:
    form = interchange.fingerprints(PAGE)["mh3"]
    other = interchange.fingerprints(PAGE.replace("twelve", "dozen"))["mh3"]
    assert form
    assert other
    assert 0.5 < interchange.similarity(form, other) < 1.0


@given(st.sets(st.integers(0, 2**40 - 1), min_size=1, max_size=50))
def test_forms_of_passages_read_back(keys: set[int]) -> None:
    payload = b"".join(key.to_bytes(5, "big") for key in sorted(keys))
    form = interchange.written("pa2", payload)
    assert interchange.parse(form.upper()) == ("pa2", payload)
    assert interchange.similarity(form, form) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mh3",
        "mh3-",
        "mh1-" + "a" * 205,
        "mh2-" + "a" * 205,
        "sd1-o45z6ig5gps3e",
        "mh3-" + "a" * 204,
        "mh3-" + "1" * 205,
        "mh3-" + "a" * 204 + "b",
        "pa2-",
        "pa2-" + "a" * 7,
        "pa2-" + "a" * 10,
        "pa2-aaaaaaac" + "aaaaaaab",
    ],
)
def test_forms_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        interchange.parse(text)
