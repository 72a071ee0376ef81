"""Documents with equal texts that differ in what stands beside these: both stay."""

from __future__ import annotations

from tests.cli.command import Neardup, write

WORDS = " ".join(f"word{number} of the ferry" for number in range(30))


def test_bills_that_differ_in_an_attribute_are_forms(neardup: Neardup) -> None:
    bills = {f"docs/{price}.xml": f'<bill><line price="{price}">{WORDS}</line></bill>' for price in (250, 999)}
    write(neardup.folder, bills)
    neardup("index", "docs")
    neardup("cluster")
    for options in ([], ["--remove", "identical"]):
        assert "0 documents" in neardup("prune", "--dry-run", *options).err
    assert "line/@price 999 / 250" in neardup("prune", "--dry-run").err
