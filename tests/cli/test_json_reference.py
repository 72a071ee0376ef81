"""The page on JSON names every member that an answer has, and none that no answer has."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from typing import Any

import pytest

from indexer.cli import cli
from indexer.library.collection import open as open_collection
from indexer.model.decisions import DecidedDocument, Decision
from tests.cli.command import Neardup, mixed_folder, write
from tests.cli.written import prose
from tests.decision_files import decisions_text
from tests.judged import judgments_of
from tests.pages import DOCS, section

PAGE = DOCS / "reference" / "json.md"
# Objects whose members are no fixed names.
COUNTS = {"failed", "failures", "passed_over", "formats", "relations", "extra", "made_with", "metadata", "parameters"}
RECORD = "A stored document"
REMARKS = "Remarks"
# What is asked so that every member of an answer is there; engines' answers are looked at by their own tests.
ASKED: dict[str, list[list[str]]] = {
    "index": [["index", "docs", "--cluster", "--new-to", "new.txt"], ["index", "docs", "--dry-run"]],
    "similar": [["similar", "docs/a.html", "--explain", "--passages"]],
    "compare": [["compare", "docs/a.html", "docs/near.txt"]],
    "hash": [["hash", "docs/a.html", "--scheme", "minhash"]],
    "pairs": [["pairs", "--format", "jsonl"], ["pairs", "-k", "3", "--format", "jsonl"]],
    "passages": [["passages", "--held-by"]],
    "cluster": [["cluster"]],
    "history": [["history", "docs/a.html"]],
    "report": [["report", "--format", "json"]],
    "evaluate": [["evaluate", "--sample", "20", "--parts"], ["evaluate", "--judgments", "judgments.json"]],
    "diff": [["diff", "docs/a.html", "docs/near.txt"]],
    "delete": [
        ["delete", "docs/broken.pdf", "--dry-run"],
        ["delete", "docs/broken.pdf"],
        ["delete", "--copies-of", "docs/a.html", "--yes"],
    ],
    "failures": [["failures"]],
    "stats": [["stats"]],
    "doctor": [["doctor"]],
    "ocr": [["ocr"]],
    "schemes": [["schemes", "--store", "collection.neardup"]],
    "corpus": [["corpus", "--scheme", "i-match", "docs"]],
    "decisions": [["decisions", "decisions.json"]],
    "undo": [["undo", "acts.jsonl", "--yes"]],
    "prune": [
        ["prune", "--dry-run"],
        ["prune", "--move-to", "away", "--yes", "--list", "moved.jsonl"],
        ["prune"],
        ["prune", "--delete", "--yes", "--remove", "identical"],
    ],
}
ENGINES = {"setup", "annotate"}
BATCH = {
    "batch sketch",
    "batch cluster",
    "batch filter",
    "batch passages",
    "batch report",
    "batch dedupe",
    "batch load",
}
# Members only where a store has several indices, where one document is a part of another, where very many documents
# share a key or a passage, where a file is gone, where a package's scheme is broken, where facts
# differ, and columns of other formats.
ELSEWHERE = {
    "similar": {"reason", "kind", "left", "right"},
    "compare": {"kind", "left", "right"},
    "pairs": {"kind"},
    "cluster": {"id", "scheme", "reason", "share", "words", "held_by", "text"},
    "diff": {"start", "end", "word", "page", "before", "text", "after", "kind"},
    "passages": {"reason"},
    # Elsewhere counts of this name are an object.
    "report": {"relation"},
    "prune": {"kind", "left", "right"},
    # Versions have a test of their own.
    "history": {
        *("ordinal", "is_latest", "title", "source", "change", "relation", "removed", "added", "facts", "unread"),
    },
    "schemes": {"reason"},
}
NO_MEMBERS = {"pairs": {"csv", "jsonl", "parquet"}, "report": {"section", "name", "measure", "value"}}


def names(title: str) -> set[str]:
    """The members that a section names, those of objects by their paths."""
    paths = re.findall(r"`([a-z_0-9.\[\]]+)`", section(PAGE, title))
    return {name.removesuffix("[]") for path in paths for name in path.split(".")}


def members(value: Any, inside: str = "") -> Iterator[str]:
    """Every member of an answer, at any depth."""
    if isinstance(value, dict) and inside not in COUNTS:
        for name, each in value.items():
            yield name
            yield from members(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from members(each, inside)


def answers(neardup: Neardup, asked: list[str]) -> list[Any]:
    """What a command answers, whether on one line, on several, or an object a line."""
    chosen = [] if "--format" in asked else ["--json"]
    out = neardup(*asked, *chosen).out
    try:
        return [json.loads(out)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in out.splitlines()]


def test_every_command_has_its_section() -> None:
    with_json = {name for name, command in cli.commands.items() if "json" in {each.name for each in command.params}}
    titles = set(re.findall(r"^## (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)) - {RECORD, REMARKS}
    assert with_json - {"show"} | {"pairs", "report"} == titles - BATCH == {*ASKED, *ENGINES}
    assert titles >= BATCH


def test_the_page_is_as_the_results_are_declared() -> None:
    """To write it: python docs/site/json_reference.py."""
    page = runpy.run_path(str(DOCS / "site" / "json_reference.py"))["page"]
    assert page(PAGE.read_text("utf-8")) == PAGE.read_text("utf-8")


@pytest.fixture
def stored(neardup: Neardup) -> Neardup:
    """A store of documents with near-duplicates, a failure, and clusters."""
    mixed_folder(neardup.folder)
    write(neardup.folder, {"docs/lines.jsonl": json.dumps({"id": "1", "text": prose(9), "lang": "en"}) + "\n"})
    neardup("index", "docs", "docs/lines.jsonl")
    neardup("cluster")
    digest = neardup("show", "docs/near.txt", "--json").json["read_digest"]
    names = {"docs/near.txt": digest, "docs/a.html": neardup("show", "docs/a.html", "--json").json["read_digest"]}
    documents = [DecidedDocument(name, text, "keep") for name, text in {**names, "gone": digest}.items()]
    neardup("prune", "--move-to", "aside", "--yes", "--list", "acts.jsonl")
    neardup("undo", "acts.jsonl", "--yes")
    neardup("prune", "--move-to", "aside", "--yes", "--list", "acts2.jsonl")
    (neardup.folder / "acts2.jsonl").replace(neardup.folder / "acts.jsonl")
    (neardup.folder / "decisions.json").write_text(decisions_text([Decision(tuple(documents))]))
    with open_collection(neardup.folder / "collection.neardup", read_only=True) as collection:
        judgments = judgments_of(collection.store, lambda _: True)
    gone = {"documents": [{"id": name, "digest": digest, "choice": "keep"} for name in ("gone", "too")]}
    sample = json.loads(judgments)
    sample["sample"]["judged"].append(gone)
    (neardup.folder / "judgments.json").write_text(json.dumps(sample))
    return neardup


def test_a_stored_document(stored: Neardup) -> None:
    stored("prune")
    # The text has a cluster, and the page parts that are left out.
    found = {name for one in ("near.txt", "a.html") for name in members(stored("show", f"docs/{one}", "--json").json)}
    assert found == names(RECORD) - {"show"}


@pytest.mark.parametrize("command", ASKED)
def test_every_member_is_named(stored: Neardup, command: str) -> None:
    found = {name for asked in ASKED[command] for answer in answers(stored, asked) for name in members(answer)}
    assert found <= names(command) | names(RECORD)
    assert names(command) - NO_MEMBERS.get(command, set()) - ELSEWHERE.get(command, set()) <= found | set(cli.commands)
