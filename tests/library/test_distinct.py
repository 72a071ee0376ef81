"""Hits are folded only into what says the same, and each folded one has its relation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import indexer
from tests.cli.written import prose
from tests.relations.reprints import reprints

BILL = (
    ". ".join([f'{prose(1)} They call it "the rent" here', "Please pay the sum of 250 EUR by 3 May 2031", prose(2)])
    + "."
)
OTHER_BILL = BILL.replace("250 EUR", "310 EUR")


def folded(collection: indexer.Collection, *hits: Any, **asked: Any) -> list[tuple[int, list[tuple[int, str]]]]:
    rows = collection.distinct([hit if isinstance(hit, tuple) else (None, hit) for hit in hits], **asked)
    return [(hit.position, [(copy.position, copy.relation) for copy in hit.copies]) for hit in rows]


def test_a_form_is_never_folded_and_its_copies_are_folded_into_it(tmp_path: Path) -> None:
    with indexer.open(tmp_path / "s.neardup") as collection:
        lines = OTHER_BILL.replace(' "', "\n“").replace('" ', "” ")
        assert folded(collection, BILL, OTHER_BILL, BILL.upper(), lines, prose(3)) == [
            (0, [(2, "identical")]),
            (1, [(3, "reflowed")]),
            (4, []),
        ]
        for name, text in (("bill", BILL), ("other", OTHER_BILL), ("lines", lines), ("longer", f"{BILL} {prose(4)}")):
            (tmp_path / f"{name}.txt").write_text(text)
        collection.index(tmp_path, include=["*.txt"], id_from="stem")
        stored = [(name, None) for name in ("lines", "bill", "other", "longer", "bill")]
        assert folded(collection, *stored, BILL) == [
            (0, [(2, "reflowed")]),
            (1, [(4, "identical"), (5, "identical")]),
            (3, []),
        ]


def test_renditions_are_folded_on_request_and_corrected_ones_never(tmp_path: Path) -> None:
    pair = next(iter(reprints(1)))
    first, second, corrected = pair.left, pair.right, pair.corrected
    with indexer.open(tmp_path / "s.neardup") as collection:
        assert folded(collection, first, second, corrected) == [(0, []), (1, []), (2, [])]
        assert folded(collection, first, second, corrected, renditions=True) == [(0, [(1, "rendition")]), (2, [])]


def test_what_cannot_be_read_stands_for_itself(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BILL)
    with indexer.open(tmp_path / "s.neardup") as collection:
        collection.index(tmp_path / "a.txt")
        (tmp_path / "a.txt").unlink()
        [name] = [one.id for one in collection]
        near, unread = collection.distinct([(None, OTHER_BILL), (name, None)])
        assert (list(near.copies), near.error) == ([], None)
        assert "not verified" in str(unread.error)
