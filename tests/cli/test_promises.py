"""Sentences of the front page, of SECURITY and of the reference that no other test holds."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indexer
from indexer.cli import cli
from indexer.extract import pool
from indexer.library.options import RemovalRequest
from tests.cli.command import Neardup, leaves, write
from tests.cli.written import changed, html, pdf, prose
from tests.made_forms import invoices

ROOT = Path(__file__).parents[2]
INVOICES = invoices(4)


def test_security_names_what_a_worker_gets_of_the_environment() -> None:
    page = " ".join((ROOT / "SECURITY.md").read_text().split())
    [listed] = re.findall(r"a worker gets only these variables[^:]*: (.*?)\. `HOME`", page)
    assert {*re.findall(r"`([^`]+)`", listed)} == {*pool._PASSED, "LC_*"}


def test_the_front_page_calls_nothing_safe_but_identical_texts() -> None:
    safe = [line for line in (ROOT / "README.md").read_text().splitlines() if re.search(r"\bsafe", line)]
    assert len(safe) == 1
    assert safe[0].startswith(
        "| copies that are safe to delete | the default, then `neardup prune --remove identical`:"
    )


def test_what_lets_more_be_deleted_is_said_on_the_command_line_alone() -> None:
    deciding = {
        "prune": "delete yes remove verify unverified with-documents ignore-field parts older-versions decisions",
        "delete": "copies-of similarity match verify remove yes",
        "setup": "remove yes",
        "index": "verify skip",
        "batch dedupe": "verify remove unverified",
        "batch cluster": "verify remove",
        "batch filter": "unverified",
    }
    commands = dict(leaves(cli))
    for name, options in deciding.items():
        free = {
            max(option.opts, key=len)[2:]
            for option in commands[name].params
            if isinstance(option, click.Option) and option.allow_from_autoenv
        }
        assert not free & {*options.split()}, name


def test_nothing_of_anybody_is_in_the_way_of_a_batch(neardup: Neardup) -> None:
    write(neardup.folder, {"docs/a.txt": prose(1), "docs/b.txt": prose(1), "file": "mine", "full/mine": "mine"})
    write(neardup.folder, {"kept.whole/mine": "mine"})
    neardup("batch", "sketch", "docs", "--out", "tea")
    neardup("batch", "cluster", "tea", "--out", "tea")
    cut = ["--texts", "--passages", "cut"]
    for out, more, said in (("file", [], "is a file"), ("full", [], "is not empty"), ("kept", cut, "remove it first")):
        before = sorted(neardup.folder.rglob("*"))
        assert said in neardup("batch", "filter", "docs", "--clusters", "tea", "--out", out, *more, code=2).err
        assert sorted(neardup.folder.rglob("*")) == before
    assert {(neardup.folder / name).read_text() for name in ("file", "full/mine", "kept.whole/mine")} == {"mine"}


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["same", "case", "lines", "digit", "word"])), min_size=2),
    st.sampled_from([None, "simhash-doc@7bits", "minhash@0.3"]),
)
def test_what_prune_identical_deletes_has_the_text_of_one_that_stays(
    drawn: list[tuple[int, str]], match: str | None
) -> None:
    ways = {
        "same": str,
        "case": str.swapcase,
        "lines": lambda text: text.replace(" ", " \n "),
        "digit": lambda text: text.replace("1", "7", 1),
        "word": changed,
    }
    texts = {f"{place}": ways[how](INVOICES[number]) for place, (number, how) in enumerate(drawn)}
    plain = {name: " ".join(text.split()).casefold() for name, text in texts.items()}
    with TemporaryDirectory() as folder, indexer.open(f"{folder}/s.neardup") as collection:
        for name, text in texts.items():
            collection.add(name, text)
        collection.cluster(match=match)
        done = collection.prune(RemovalRequest(remove="identical"), delete=True)
        left = {document.id for document in collection}
    gone = texts.keys() - left
    assert done.deleted == len(gone)
    assert {plain[name] for name in gone} <= {plain[name] for name in left}
    # And of each text one is left.
    assert {*plain.values()} == {plain[name] for name in left}


@pytest.mark.parametrize(
    "given", [["empty.txt"], ["empty.txt", "full.txt"], ["full.txt", "broken.pdf"], ["--text", "..."]]
)
@pytest.mark.parametrize("command", ["hash", "similar"])
def test_exit_code_6_where_a_document_gave_no_text(command: str, given: list[str], neardup: Neardup) -> None:
    write(neardup.folder, {"empty.txt": "", "full.txt": prose(1), "broken.pdf": b"%PDF-1.4\nnothing"})
    if command == "similar":
        neardup("index", "full.txt")
    neardup(command, *given, code=6)
    neardup(command, "full.txt")


def test_what_was_not_asked_for_is_an_empty_cell(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "b.txt": changed(prose(1))})
    neardup("index", "a.txt", "b.txt")
    [pair] = csv.DictReader(io.StringIO(neardup("pairs").out))
    assert {name for name, value in pair.items() if value == "[]"} == set()
    assert (pair["facts"], pair["relation"]) == ("", "")


def test_a_path_that_is_the_id_is_shown_once(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "b.txt": prose(1)})
    neardup("index", "a.txt", "b.txt", "--id-from", "absolute")
    assert neardup("similar", "a.txt").out.split("\n")[0].split() == ["id", "shares", "bits", "label", "title"]
    neardup("index", "a.txt", "b.txt", "--id-from", "stem", "--store", "stems.neardup")
    assert neardup("similar", "a.txt", "--store", "stems.neardup").out.split("\n")[0].split()[-1] == "path"


def test_archives_are_never_unpacked_to_disk(neardup: Neardup, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, temporary = neardup.folder, tmp_path_factory.mktemp("temporary")
    write(folder, {"docs/a.txt": prose(1), "docs/b.html": html(prose(2)), "docs/c.pdf": pdf(prose(3))})
    for kind in ("zip", "gztar"):
        shutil.make_archive(os.fspath(folder / "packed"), kind, folder / "docs")
    shutil.rmtree(folder / "docs")
    before = temporary.stat().st_mtime_ns
    done = neardup("index", "packed.zip", "packed.tar.gz", "--json", TMPDIR=os.fspath(temporary))
    assert (done.json["indexed"], done.json["failed"]) == (6, {})
    # Whatever is made in a folder and taken away again leaves another time.
    assert temporary.stat().st_mtime_ns == before
    assert {path.name.partition("-")[0] for path in folder.iterdir()} == {
        "packed.zip",
        "packed.tar.gz",
        "collection.neardup",
    }


def test_json_is_plain_ascii(neardup: Neardup) -> None:
    write(neardup.folder, {"é.html": html(prose(1) + " ü \u2028 \U0001f600", "Große \u202e Titel")})
    neardup("index", "é.html")
    for command in (["show", "é.html"], ["similar", "é.html"], ["hash", "é.html"], ["stats"], ["index", "é.html"]):
        assert neardup(*command, "--json").out.isascii()


def test_a_program_without_a_guard_is_not_run_again_by_workers(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.html").write_bytes(html(prose(number)))
    lines = ["import indexer", "print('begins')", "with indexer.open('s.neardup') as collection:"]
    (tmp_path / "own.py").write_text("\n".join([*lines, "    print(collection.index('.', jobs=2).indexed)"]))
    done = subprocess.run(
        [sys.executable, "own.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ["begins", "4"]
