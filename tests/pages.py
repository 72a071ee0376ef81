"""The pages of the documentation, and the blocks in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = (
    README,
    *sorted(DOCS.rglob("*.md")),
    ROOT / "mappings/README.md",
    ROOT / "docker/README.md",
    ROOT / "ARCHITECTURE.md",
)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    """A page's path from the top of the repository."""
    return page.relative_to(ROOT).as_posix()


def without_blocks(page: Path) -> str:
    """What a page says between its blocks."""
    return _BLOCK.sub("", page.read_text("utf-8"))


def blocks(page: Path, kind: str) -> list[str]:
    """The fenced blocks of a kind, in order."""
    return [content for found, content in _BLOCK.findall(page.read_text("utf-8")) if found == kind]


def steps(page: Path, language: str = "sh") -> list[tuple[str, str]]:
    """Each block of commands with the text block behind it, empty where there is none."""
    found: list[tuple[str, str]] = []
    for kind, content in _BLOCK.findall(page.read_text("utf-8")):
        if kind == language:
            found.append((content, ""))
        elif kind == "text" and found:
            found[-1] = (found[-1][0], content)
    return found


def section(page: Path, title: str) -> str:
    """What stands below a heading, up to the next one of its level or above."""
    found = re.search(
        rf"^(##+) {re.escape(title)}\n(.*?)(?=^##? |\Z)", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found, f"{name_of(page)} has no section {title!r}"
    return found[2]
