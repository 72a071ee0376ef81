"""The commands of the guides that are for an engine, run on one, as a reader would paste them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.written import pdf, prose
from tests.engines.fleet import Servers
from tests.engines.servers import Server
from tests.pages import DOCS, ROOT, blocks
from tests.warm import run_script

HOST = "https://host:9200"
INDICES = ",".join(f"{name},{name}-*,neardup-{name}-*" for name in ("articles", "archive", "news", "papers_docs"))
# Written for a reader's own machine: an installation, a secret (the engine of the tests asks for none), Kibana,
# a measurement.
NOT_HERE = re.compile(
    r"^(?:pip install|export NEARDUP_|neardup setup .*--dashboards|python -m tests\.benchmarks).*\n", re.MULTILINE
)
BEFORE = """
  case "$* " in "setup "*" --remove "*) set -- "$@" --yes ;; esac  # where nobody can be asked
  if [ "$1" = follow ]; then set -- "$@" --once; fi
"""
GUIDES = {
    "first-index.md": "",
    "for/newsrooms.md": "",
    "for/search.md": "",
    "how-to/engines.md": "neardup annotate --store https://host:9200/news-2024 --field body\n"
    "neardup setup --store https://host:9200/articles\n",
    "how-to/annotating.md": "",
    "how-to/pipelines.md": "",
    "how-to/pruning.md": "neardup annotate --store https://host:9200/articles --field body\n",
    "how-to/recipes.md": "",
    "operations.md": "neardup setup --store https://host:9200/articles\n",
}


@pytest.fixture(scope="module")
def painless(servers: Servers) -> Server:
    """The engine at hand that has Painless."""
    return servers.get("opensearch")


@pytest.fixture
def owned(painless: Server) -> Iterator[Server]:
    """The engine with an owner's documents in the indices that the guides name."""
    for index, name in (("articles", "42"), ("archive-2024", "42"), ("news-2024", "17")):
        document: dict[str, Any] = {
            "title": "A title",
            "body": prose(1),
            "lang": "en",
            "date": "2024-05-01",
            "site": "agency.example",
        }
        painless.request("PUT", f"/{index}/_doc/{name}?refresh=true", document)
    # As FSCrawler leaves it.
    about = {"content": prose(1), "meta": {"title": "A title"}, "path": {"real": "/papers/a.pdf", "virtual": "/a.pdf"}}
    painless.request("PUT", "/papers_docs/_doc/9b1c?refresh=true", about)
    painless.request("PUT", "/archive-2024/_alias/archive")
    yield painless
    painless.request("DELETE", f"/{INDICES}?ignore_unavailable=true")


def write_folders(folder: Path) -> None:
    """The files that the guides name."""
    for number, name in enumerate(("docs/a.txt", "docs/b.txt", "archive/c.txt", "new/d.txt")):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(prose(number))
    (folder / "draft.pdf").write_bytes(pdf(prose(1)))
    (folder / "refused.jsonl").write_text(json.dumps({"id": "refused", "text": prose(9)}) + "\n")


def run(script: str, server: Server, folder: Path) -> None:
    """Run commands in one shell; fails the test unless all succeed."""
    if not shutil.which("curl"):
        pytest.skip("NEEDS curl: the commands of the guides did not run")
    run_script(NOT_HERE.sub("", script).replace(HOST, server.url), folder, before=BEFORE, CLUSTER=server.url)


@pytest.mark.parametrize("guide", GUIDES)
def test_the_commands_for_an_engine_run(owned: Server, tmp_path: Path, guide: str) -> None:
    write_folders(tmp_path)
    here = [block for block in blocks(DOCS / guide, "sh") if HOST in block]
    assert here
    run(GUIDES[guide] + "\n".join(here), owned, tmp_path)


def test_the_mappings_can_be_installed_by_hand(painless: Server) -> None:
    here = blocks(ROOT / "mappings" / "README.md", "sh")
    assert len(here) == 2
    run("\n".join(here), painless, ROOT / "mappings")
