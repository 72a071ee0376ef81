"""Pages, help, messages and docstrings are plain English: few relative words, short sentences, no old turns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, name_of

RELATIVE = re.compile(r"\b(?:that|those|which|what|who|whom|whose|where|such)\b", re.IGNORECASE)
MOST_RELATIVE = 2.0
MOST_WORDS = 15.0
# Of all docstrings of the package: they say what names and types leave open, and nothing else.
MOST_IN_DOCSTRINGS = 60_000
# A page of fewer words says too little for a share.
FEWEST = 100
TURNS = (
    "but for",
    "in place of",
    "in the place of",
    "none of which",
    "one that it repeats",
    "such a one",
    "those of which",
    "those that",
    "what comes",
    "what is near",
    "what is none",
    "what is there",
    "what repeats",
    "who asks",
    "who wants",
    "whichever",
    "whoever",
)
ALL = (*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md")
HOW_TO = sorted((ROOT / "docs/how-to").glob("*.md"))
MOST_IN_A_HOW_TO = 800
_TERMS = re.findall(r"^- \*\*(.+?)\*\*", (ROOT / "docs/glossary.md").read_text("utf-8"), re.MULTILINE)
GLOSSARY = re.compile(rf"\b(?:{'|'.join(', '.join(_TERMS).split(', '))})(?:e?s)?\b", re.IGNORECASE)
SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")


def prose(page: Path) -> str:
    """A page without code, tables and addresses."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "X", text))


def words(text: str) -> int:
    return len(re.findall(r"[A-Za-z'’]+", text))


def sentences(text: str) -> int:
    """The sentences of three words or more; a paragraph, a list item and a heading end one too."""
    blocks = re.split(r"\n\s*\n|\n\s*(?:[-*#]|\d+\.)\s", text)
    return sum(words(each) > 2 for block in blocks for each in re.split(r"(?<=[.!?:])\s", block))


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_a_page_is_plain_english(page: Path) -> None:
    text = prose(page)
    if words(text) < FEWEST:
        return
    require_plain([text])


def require_plain(texts: list[str]) -> None:
    count = sum(map(words, texts))
    relative = 100 * sum(len(RELATIVE.findall(text)) for text in texts) / count
    assert relative <= MOST_RELATIVE, f"{relative:.1f} relative words in 100"
    length = count / max(1, sum(map(sentences, texts)))
    assert length <= MOST_WORDS, f"{length:.1f} words a sentence"


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_a_page_has_no_turn_that_was_given_up(page: Path) -> None:
    text = " ".join(prose(page).lower().split())
    assert [turn for turn in TURNS if re.search(rf"\b{turn}\b", text)] == []


@pytest.mark.parametrize("page", HOW_TO, ids=name_of)
def test_a_how_to_answers_one_question_and_links_the_first_of_its_words(page: Path) -> None:
    text = re.sub(r"```.*?```|^[#|][^\n]*", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert words(prose(page)) < MOST_IN_A_HOW_TO
    text = re.sub(r"`[^`]*`|\[[^\]]*\]\((?!\.\./glossary)[^)]*\)", "X", text)
    first = GLOSSARY.search(text)
    assert first
    assert text[first.end() :].startswith("](../glossary.md)"), first[0]


def parsed(*folders: str) -> list[ast.Module]:
    return [ast.parse(path.read_text("utf-8")) for name in folders for path in sorted((ROOT / name).rglob("*.py"))]


def test_help_and_messages_are_plain_english() -> None:
    texts = [text for tree in parsed("indexer") for text in said(tree) if SENTENCE.search(text)]
    assert len(texts) > 1_000
    require_plain([re.sub(r"`[^`]*`", "X", text) for text in texts])
    assert [text for text in texts if any(re.search(rf"\b{turn}\b", text.lower()) for turn in TURNS)] == []


def said(tree: ast.Module) -> Iterator[str]:
    """The strings of a module that people read, with X for each value; no docstrings."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    parts |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def test_docstrings_are_few_and_plain_english() -> None:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    trees = parsed("indexer", "neardup", "docs/site", "mappings")
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, documented)]
    found = [text for node in nodes if (text := ast.get_docstring(node))]
    assert len(found) > 1_000
    assert sum(len(text.split()) for text in found) <= MOST_IN_DOCSTRINGS
    require_plain([re.sub(r"`[^`]*`", "X", text) for text in found])
