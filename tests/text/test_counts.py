"""Numbers with their nouns: one way to write them, which every message takes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from indexer.cli.terminal.output import size
from indexer.text.counts import counted

PACKAGE = Path(__file__).resolve().parents[2] / "indexer"


@pytest.mark.parametrize(
    ("number", "words", "shown"),
    [
        (0, ("cluster",), "0 clusters"),
        (1, ("cluster",), "1 cluster"),
        (2, ("cluster",), "2 clusters"),
        (1234567, ("document",), "1,234,567 documents"),
        (1, ("index", "indices"), "1 index"),
        (3, ("index", "indices"), "3 indices"),
        (1, ("pair was", "pairs were"), "1 pair was"),
    ],
)
def test_one_is_singular_and_all_else_plural(number: int, words: tuple[str, ...], shown: str) -> None:
    assert counted(number, *words) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (2_500_000, "2.5 MB"), (10**13, "10.0 TB")],
)
def test_sizes(number: int, shown: str) -> None:
    assert size(number) == shown


def test_no_message_counts_in_another_way() -> None:
    """A number with thousands separators goes before a plural only by way of the helper."""
    offences = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            for value, text in zip(node.values, node.values[1:], strict=False):
                grouped = isinstance(value, ast.FormattedValue) and ast.unparse(value.format_spec or node) == "f','"
                if grouped and isinstance(text, ast.Constant) and re.match(r" [a-z]+s\b", str(text.value)):
                    offences.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: ...{text.value}")
    assert offences == []
