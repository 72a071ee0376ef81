"""JSON lines: compressed or not, with fields by name, with and without ids."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.ingest.readers import JSON_LINES, BadEntry, ColumnNames, FileEntry, ReaderOptions, base
from indexer.ingest.readers.base import json_text, printable_id
from indexer.ingest.sources import Input, Rejected, Selection, Sources

PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": zstd.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def lines(*items: dict[str, Any]) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def taken(path: Path, **selection: Any) -> list[Input | Rejected]:
    return list(Sources([str(path)], Selection(id_from="relative", **selection)))


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_lines_in_several_members(tmp_path: Path, suffix: str) -> None:
    pack = PACKED[suffix]
    written = [{"id": str(number), "text": f"text {number}"} for number in range(3000)]
    (tmp_path / f"a.jsonl{suffix}").write_bytes(pack(lines(*written[:1000])) + pack(lines(*written[1000:])))
    found = taken(tmp_path)
    assert [(item.id, item.data) for item in found if isinstance(item, Input)] == [
        (line["id"], line["text"].encode()) for line in written
    ]


@pytest.mark.parametrize("suffix", PACKED)
def test_what_is_cut_off_is_told_and_the_rest_is_read(tmp_path: Path, suffix: str) -> None:
    written = [{"id": str(number), "text": f"text {number * 7919}"} for number in range(50_000)]
    whole = PACKED[suffix](lines(*written))
    (tmp_path / f"a.jsonl{suffix}").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "b.jsonl").write_bytes(lines({"id": "after", "text": "x"}))
    found = taken(tmp_path)
    [broken] = [item for item in found if isinstance(item, Rejected) and item.reason == "unreadable"]
    assert "breaks off" in broken.detail
    assert found[-1].id == "after"
    if suffix != ".bz2":
        assert len(found) > 1000


def test_of_a_short_file_that_is_cut_off_all_that_is_there_is_read(tmp_path: Path) -> None:
    written = [{"id": str(number), "text": f"text {number * 7919}"} for number in range(500)]
    whole = gzip.compress(lines(*written))
    (tmp_path / "a.jsonl.gz").write_bytes(whole[:-20])
    found = taken(tmp_path)
    assert len(found) > 480
    assert isinstance(found[-1], Rejected)


@pytest.mark.parametrize("suffix", PACKED)
def test_the_first_bytes_outdo_the_name(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(PACKED[suffix](lines({"id": "a", "text": "x"})))
    (tmp_path / "b.jsonl.gz").write_bytes(PACKED[suffix](lines({"id": "b", "text": "x"})))
    assert [item.id for item in taken(tmp_path)] == ["a", "b"]


def test_fields_by_name_and_in_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    columns = ColumnNames(text="article.body", id="meta.key", title="article.head")
    path.write_bytes(
        lines(
            {
                "meta": {"key": 7, "lang": "fr"},
                "article": {"body": "words", "head": "T"},
                "text": "not this",
                "id": "n",
            },
            {"meta.key": "flat", "article.body": "flat words", "meta": {"key": "deep"}},
            {"meta": {"key": "k"}, "article": "no object"},
            {"meta": {}, "article": {"body": "words"}},
        )
    )
    one, two, three, four = taken(path, columns=columns)
    assert isinstance(one, Input)
    assert isinstance(two, Input)
    assert (one.id, one.data, one.title, one.format) == ("7", b"words", "T", "text")
    assert one.metadata == {"meta": {"lang": "fr"}, "text": "not this", "id": "n"}
    assert (two.id, two.data) == ("flat", b"flat words")
    assert isinstance(three, Rejected)
    assert (three.reason, three.detail) == ("malformed", 'no "article.body"')
    assert isinstance(four, Rejected)
    assert four.detail == 'no "meta.key"'


def test_a_named_field_with_html(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines({"id": "a", "body": "<p>é"}))
    [item] = taken(tmp_path, columns=ColumnNames(text="body", format="html"))
    assert isinstance(item, Input)
    assert (item.format, item.data.decode("utf-8-sig")) == ("html", "<p>é")


@pytest.mark.parametrize(
    ("rule", "first"), [("relative", "sub/a.jsonl:1"), ("name", "a.jsonl:1"), ("stem", "a:1"), ("digest", "")]
)
def test_lines_without_an_id_have_a_number(tmp_path: Path, rule: Any, first: str) -> None:
    path = tmp_path / "sub" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(lines({"text": "one"}) + b"\nnonsense\n" + lines({"id": "own", "text": "two"}, {"text": "three"}))
    found = list(Sources([str(tmp_path)], Selection(id_from=rule)))
    assert isinstance(found[1], Rejected)
    if rule == "digest":
        assert [item.id for item in (found[0], *found[2:])] == ["", "", ""]
    else:
        assert [item.id for item in (found[0], *found[2:])] == [first, "own", first[:-1] + "5"]


def test_a_missing_package_stops_with_the_extra_that_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl.zst").write_bytes(zstd.compress(lines({"id": "a", "text": "x"})))

    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(base.importlib, "import_module", absent)
    with pytest.raises(UsageError, match=r"not installed: pip install 'neardup\[zst\]'"):
        taken(tmp_path)


@given(st.binary(max_size=200), st.sampled_from(["", *PACKED]))
def test_damage_never_escapes(data: bytes, suffix: str) -> None:
    packed = PACKED[suffix](data) if suffix else data
    for stored in (packed, packed[:-3], packed[:8] + data + packed[8:]):
        for entry in JSON_LINES.entries(io.BytesIO(stored), f"a.jsonl{suffix}", ReaderOptions(50)):
            assert isinstance(entry, FileEntry | BadEntry)


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.just('-Infinity "NaN'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_numbers_without_bounds_are_json_all_the_same(value: Any) -> None:
    written = json_text(value)
    assert written.isascii()
    read = json.loads(written, parse_constant=no_constant)
    # What is no number is in no JSON; everything else reads back.
    assert "NaN" in repr(value) or "nan" in repr(value) or read == value


IDS = ["a\ud800", "a\ud801", "a\udc00\ud800", "a\ufffd", "a\\ud800", "a\\x5cud800", "a\\", "\ud83d", "😀", "a"]


def test_ids_that_differ_in_half_a_surrogate_pair_stay_apart() -> None:
    data = lines(*({"id": name, "text": "words \ud800"} for name in IDS))
    found = list(JSON_LINES.entries(io.BytesIO(data), "a.jsonl", ReaderOptions(1000)))
    names = [entry.id for entry in found if isinstance(entry, FileEntry)]
    assert len(set(names)) == len(IDS)
    assert (names[0], names[3], names[-4:]) == ("a\\ud800", "a\ufffd", ["a\\", "\\ud83d", "😀", "a"])
    assert {entry.data for entry in found if isinstance(entry, FileEntry)} == {"words \ufffd".encode()}


@given(st.text(st.sampled_from("\\xu5cd8a0\ud800\udfff")), st.text(st.sampled_from("\\xu5cd8a0\ud800\udfff")))
def test_no_two_ids_are_written_alike(one: str, other: str) -> None:
    assert (printable_id(one) == printable_id(other)) == (one == other)
    printable_id(one).encode()
