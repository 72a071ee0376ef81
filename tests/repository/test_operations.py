"""Every command line in the guides is one that the command takes, and every link leads somewhere."""

from __future__ import annotations

import ast
import contextlib
import re
from pathlib import Path

import click
import hypothesis
import pytest

from tests.command_lines import command_lines, parse
from tests.pages import DOCS, PAGES, README, ROOT, blocks, name_of, without_blocks

# Between backticks in a sentence a command may lack what it needs.
INLINE = re.compile(r"(?<!`)`(neardup [^`\n]+)`(?!`)")
PLACEHOLDER = re.compile(r"…|\.\.\.|\b[A-Z]{3,}\b")


def lines_of(guide: Path) -> tuple[list[str], list[str]]:
    """The command lines of the blocks, and those in sentences."""
    inline = INLINE.findall(without_blocks(guide))
    whole, part = ([line for each in some for line in command_lines(each)] for some in (blocks(guide, "sh"), inline))
    return [line for line in whole if not line.split()[1].startswith("-")], [
        line for line in part if not PLACEHOLDER.search(line) and not line.split()[1].startswith("-")
    ]


@pytest.mark.parametrize("guide", PAGES, ids=name_of)
def test_the_commands_are_commands(guide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_STORE", "https://host:9200/articles")
    whole, part = lines_of(guide)
    for line in whole:
        parse(line)
    for line in part:
        with contextlib.suppress(click.MissingParameter):
            parse(line)


@pytest.mark.parametrize("guide", PAGES, ids=name_of)
def test_no_command_is_outside_the_blocks_that_are_run(guide: Path) -> None:
    assert not re.findall(r"^    (?:neardup|curl|docker|make|pip) .*", without_blocks(guide), re.MULTILINE)


def test_the_commands_are_found_at_all() -> None:
    whole, part = lines_of(DOCS / "operations.md")
    assert len(whole) > 10
    assert len(part) > 5
    assert len([line for page in PAGES for line in lines_of(page)[0]]) > 90


@pytest.mark.parametrize("guide", PAGES, ids=name_of)
def test_links_lead_somewhere(guide: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)", guide.read_text()):
        path = (guide.parent / target) if target else guide
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^a-z0-9_ -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_each_promise_to_an_owner_is_held_by_tests() -> None:
    text = (DOCS / "operations.md").read_text().partition("## What an owner is promised\n")[2].partition("\n## ")[0]
    promises = re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)
    assert len(promises) > 15
    for promise in promises:
        held = re.findall(r"`([\w/]+\.py)::(\w+)`", promise)
        assert held, promise
        for file, name in held:
            tree = ast.parse((ROOT / "tests" / file).read_text())
            assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, (
                f"{file}::{name}"
            )


def test_the_readme_leads_to_operations() -> None:
    assert "(docs/operations.md)" in README.read_text()


def test_no_example_has_a_deadline() -> None:
    """A test never measures time, neither its own."""
    assert hypothesis.settings().deadline is None
