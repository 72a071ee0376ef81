"""Records print well, and turn into arrays, tables and frames; what a document says is shown and not obeyed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import indexer
from indexer.errors import UsageError
from indexer.library.outcomes import Indexed
from indexer.library.records import Cluster, Match, Pair
from indexer.library.rows import Rows
from tests.cli.written import prose

PAIRS = Rows(Pair, [Pair("a", "b", 0.75), Pair("a", "c", 1.0)])
MATCH = Match(
    "a\x1b[31m", "", None, None, None, 0, False, "", "", "<script>alert(1)</script>", "text", "", 9, "", "", "", "", "",
    {"year": 2024}, 0.99999, True, False, None, "near", None, None,
    None, None, (), "", "", (), "", 0.0, "",
)  # fmt: skip


def test_a_sequence() -> None:
    assert len(PAIRS) == 2
    assert PAIRS[0].left == "a"
    assert PAIRS[1:] == Rows(Pair, [Pair("a", "c", 1.0)])
    assert list(PAIRS) == [PAIRS[0], PAIRS[1]]
    assert PAIRS[0] in PAIRS
    assert Rows(Pair) != PAIRS
    assert not Rows(Pair)


def test_arrays() -> None:
    related = ("relation", "evidence", "facts", "order", "order_confidence", "order_evidence")
    assert PAIRS.columns == ("left", "right", "similarity", "bits", *related)
    assert PAIRS.column("similarity").dtype == np.float64
    assert PAIRS.column("similarity").tolist() == [0.75, 1.0]
    assert PAIRS.column("left").tolist() == ["a", "a"]
    assert list(PAIRS.to_numpy()) == list(PAIRS.columns)
    assert Rows(Pair).column("similarity").shape == (0,)
    with pytest.raises(UsageError, match="there are: left, right, similarity, bits, relation"):
        PAIRS.column("none")


def test_tables() -> None:
    related = {
        "relation": "",
        "evidence": "",
        "facts": "[]",
        "order": "",
        "order_confidence": 0.0,
        "order_evidence": "",
    }
    bare = {"left": "a", "right": "b", "similarity": 0.75, "bits": None}
    assert PAIRS.to_arrow().to_pylist()[0] == bare | related
    assert Rows(Pair).to_arrow().schema == PAIRS.to_arrow().schema
    assert pa.table(PAIRS) == PAIRS.to_arrow()
    [row] = Rows(Match, [MATCH]).to_arrow().to_pylist()
    assert (row["bits"], row["metadata"], row["passages"]) == (None, '{"year": 2024}', "[]")
    [row] = Rows(Cluster, [Cluster("i", 2, "a", ("a", "\udcff"), (1.0, 0.5))]).to_arrow().to_pylist()
    assert (row["members"], row["similarities"]) == (["a", "\\udcff"], [1.0, 0.5])


def test_frames() -> None:
    pytest.importorskip("pandas")
    frame = PAIRS.to_pandas()
    assert frame["similarity"].tolist() == [0.75, 1.0]
    assert tuple(frame.columns) == PAIRS.columns


def test_they_print_as_a_table() -> None:
    assert repr(PAIRS) == "left  right  similarity\na     b      0.75\na     c      1"
    many = Rows(Pair, [Pair("x" * 100, str(n), 1.0) for n in range(30)], note="by a rule")
    lines = repr(many).splitlines()
    assert max(map(len, lines)) < 80
    assert lines[-2:] == ["... 20 more", "by a rule"]
    assert repr(Rows(Pair)) == "no pair"


def test_what_a_document_says_is_shown_and_not_obeyed() -> None:
    shown = Rows(Match, [MATCH], note="<b>")
    assert "\x1b" not in repr(shown)
    assert "0.9999" in repr(shown)
    page = shown._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    assert "<p>&lt;b&gt;</p>" in page


def test_summaries_print_what_happened() -> None:
    found = Indexed(
        store="s", indexed=3, failed=Counter(malformed=2), seconds=0.5, marked=0, new=None, near=None,
        reading_seconds=None, refused=0, dead_letters=None, left_out=0, stopped=False,
    )  # fmt: skip
    assert repr(found) == 'Indexed\n  store    s\n  failed   {"malformed": 2}\n  indexed  3\n  seconds  0.5'
    assert found._repr_html_().count("<tr>") == 4
    assert found.done == 5


def test_a_collection_prints(tmp_path: Path) -> None:
    with indexer.open(tmp_path / "<b>.neardup") as collection:
        collection.add("a", prose(1))
        assert repr(collection).endswith("1 document")
        assert "&lt;b&gt;" in collection._repr_html_()
