"""The pages can be pasted and show what really comes out: README, the tutorial, and every how-to."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from io import BytesIO
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from indexer.cli import cli
from indexer.extract.ocr import tesseract
from indexer.ingest.left_out import REASONS
from indexer.model.decisions import JudgedSample
from tests.cli.command import write
from tests.cli.written import html, pdf, prose
from tests.decision_files import decisions_text
from tests.extract.made_scans import BRIDGE, image
from tests.pages import DOCS, PAGES, README, ROOT, blocks, name_of, section, steps
from tests.warm import run_script

TUTORIAL = DOCS / "tutorial.md"
GUIDES = (DOCS / "concepts.md", DOCS / "deciding.md")
HOW_TO = (*sorted((DOCS / "how-to").glob("*.md")), *sorted((DOCS / "for").glob("*.md")), *GUIDES)
# Blocks that need more than a shell and neardup: an engine (tests/engines runs them), the service (tests/service), an
# installation, a container.
ELSEWHERE = re.compile(
    r"(?:https?|spark)://host|localhost:8600|\$CLUSTER"
    r"|^(?:pip|make|docker|node|python3 -m venv|python -m tests\.benchmarks|neardup serve) ",
    re.MULTILINE,
)
END = "==== end of step"
BEFORE = """case " $* " in *" --delete "*) set -- "$@" --yes ;; esac  # where nobody can be asked"""
WHAT_ZSH_HAS = 'fpath=(none "$HOME")\n'


def here(page: Path) -> list[tuple[str, str]]:
    """The steps that run anywhere."""
    return [step for step in steps(page) if not ELSEWHERE.search(step[0])]


def run(script: str, folder: Path) -> str:
    return run_script(WHAT_ZSH_HAS + script, folder, before=BEFORE, HOME=str(folder))


def printed(page: list[tuple[str, str]], folder: Path, before: str = "") -> list[str]:
    """What each of the steps prints."""
    script = before + "".join(f"{commands}echo '{END}'\n" for commands, _ in page)
    return run(script, folder).split(END + "\n")[:-1]


def steady(text: str) -> str:
    return re.sub(r"in [\d.]+ s$", "in 0.2 s", text.strip(), flags=re.MULTILINE)


def the_documents() -> str:
    """The first block of the tutorial, which writes its documents."""
    return steps(TUTORIAL)[0][0]


@pytest.mark.parametrize(
    "page", [TUTORIAL, DOCS / "tutorial-parts.md", DOCS / "tutorial-news.md"], ids=lambda page: page.stem
)
def test_the_tutorials_show_what_comes_out(page: Path, tmp_path: Path) -> None:
    shown = here(page)
    assert sum(bool(text) for _, text in shown) >= 3
    assert [steady(text) for text in printed(shown, tmp_path)] == [steady(text) for _, text in shown]


def test_the_readme_shows_what_comes_out(tmp_path: Path) -> None:
    shown = here(README)
    assert [commands.split()[1] for commands, _ in shown] == ["index", "similar"]
    assert all(text for _, text in shown)
    assert [steady(text) for text in printed(shown, tmp_path, the_documents())] == [steady(text) for _, text in shown]


def test_the_readme_is_a_front_page() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 150


def warc(url: str, page: bytes | str) -> bytes:
    """A record of a web archive: the answer of a server."""
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + (page.encode() if isinstance(page, str) else page)
    head = f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-02T03:04:05Z\r\n"
    head += f"WARC-Record-ID: <urn:uuid:{url[-1]}>\r\nContent-Type: application/http; msgtype=response\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body + b"\r\n\r\n"


def write_collection(folder: Path) -> None:
    """What the how-tos name, beside the documents of the tutorial."""
    table = BytesIO()
    parquet.write_table(pyarrow.table({"body": [prose(26), prose(27)]}), table)
    lines = [json.dumps({"id": f"line-{number}", "text": prose(number)}) + "\n" for number in range(20, 26)]
    groups = {"tea": ["tea.html", "tea-copy.txt", "tea-iced.txt"], "bread": ["bread.xml"]}
    truth = [
        json.dumps({"id": name, "group": group, "path": f"docs/{name}"}) + "\n"
        for group, names in groups.items()
        for name in names
    ]
    write(
        folder,
        {
            "decisions.json": decisions_text([]),
            "judgments.json": decisions_text([], JudgedSample("0" * 32, 60, ())),
            "docs/old.html": html(prose(1)),
            "docs/older.html": html(prose(2)),
            "docs/listed.txt": prose(3),
            "ids.txt": "docs/listed.txt\n",
            "papers/one.pdf": pdf(prose(4)),
            "site/deep/page.html": html(prose(5)),
            "part-0.parquet": table.getvalue(),
            "pages.jsonl": "".join(lines[:2]),
            "more.jsonl.gz": gzip.compress("".join(lines[2:4]).encode()),
            "dump.jsonl.gz": gzip.compress("".join(lines[4:]).encode()),
            "crawls/collections/example/archive/rec-0.warc.gz": gzip.compress(
                b"".join(warc(f"https://example.org/{number}", html(prose(number % 2))) for number in range(3))
            ),
            "headlines.jsonl": "".join(json.dumps({"text": prose(number, 12)}) + "\n" for number in range(9)),
            "draft.pdf": pdf(prose(4)),
            "lean/one.txt": prose(6),
            "new/one.html": html(prose(1)),
            "same.html": html(prose(7)),
            "scans/one.pdf": image("PDF", BRIDGE),
            "truth.jsonl": "".join(truth),
            ".local/share/bash-completion/completions/none": "",
            ".config/fish/completions/none": "",
        },
    )


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the how-tos begin with, indexed and clustered."""
    folder = tmp_path_factory.mktemp("collection")
    (folder / "tutorial").mkdir()
    write_collection(folder / "tutorial")
    before = ["neardup index docs papers", "neardup cluster", "neardup index new --store new.neardup"]
    run(the_documents() + "".join(f"{each}\n" for each in before), folder)
    return folder / "tutorial"


@pytest.mark.parametrize("page", [each for each in HOW_TO if here(each)], ids=lambda page: page.stem)
def test_the_commands_of_a_how_to_run(page: Path, collection: Path, tmp_path: Path) -> None:
    if not shutil.which("jq"):
        pytest.skip("NEEDS jq: the commands of the how-tos did not run")
    if page.stem == "scans" and not tesseract.version():
        pytest.skip("NEEDS tesseract: the commands of this how-to did not run")
    folder = shutil.copytree(collection, tmp_path / "tutorial")
    (folder / "mappings").symlink_to(ROOT / "mappings")
    if page.stem == "indexing":  # its first commands make the store
        for store in folder.glob("*.neardup*"):
            store.unlink()
    run("".join(step for step, _ in here(page)), folder)


def test_the_settings_are_settings(tmp_path: Path) -> None:
    [example] = blocks(DOCS / "reference" / "settings.md", "toml")
    write(tmp_path, {"neardup.toml": example, "docs/a.txt": prose(1), "drafts/b.txt": prose(2)})
    out = run("neardup index . --store here.neardup --dry-run", tmp_path)
    assert "docs/a.txt" in out
    assert "drafts" not in out


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_is_made_can_be_made(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make ([\w-]+)|`make ([\w-]+)", page.read_text("utf-8"), re.MULTILINE)) <= {
        pair for target in targets for pair in ((target, ""), ("", target))
    }


def test_every_reason_and_exit_code_is_in_the_reference() -> None:
    codes = DOCS / "reference" / "exit-codes.md"
    reasons = section(codes, "Reasons of failures")
    for reason in REASONS:
        assert f"`{reason}`" in reasons
    in_help = set(re.findall(r"(?:^|\s)(\d+)  ", (cli.epilog or "").partition("Exit codes:")[2]))
    table = " ".join(re.findall(r"^\| ([\d, ]+) \|", codes.read_text("utf-8"), re.MULTILINE))
    assert in_help == set(re.findall(r"\d+", table)) - {"143"}
