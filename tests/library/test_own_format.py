"""The page about formats of one's own: what it shows is read like any other format, by workers, in every command."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.errors import UsageError
from indexer.extract import brought
from indexer.extract.base import Limits, Options
from indexer.extract.document import read_document
from tests.cli.command import Neardup
from tests.cli.written import prose
from tests.pages import DOCS, steps

PAGE = DOCS / "how-to" / "own-formats.md"
FILE = re.compile(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the files of the page were installed as it says."""
    folder = tmp_path_factory.mktemp("package")
    for name, content in FILE.findall(PAGE.read_text("utf-8")):
        (folder / name).write_text(content, "utf-8")
    [(commands, _)] = steps(PAGE)
    assert commands.splitlines()[0] == "pip install ."
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", "into", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "into"


def notebook(text: str, output: str = "") -> str:
    cells = [
        {"cell_type": "markdown", "source": ["# On the tides\n", "\n", text]},
        {"cell_type": "code", "source": ["print(1)"], "outputs": [{"text": output}]},
    ]
    return json.dumps({"cells": cells})


@pytest.fixture
def course(tmp_path: Path) -> Path:
    (tmp_path / "course").mkdir()
    (tmp_path / "course/a.ipynb").write_text(notebook(prose(1)), "utf-8")
    (tmp_path / "course/b.ipynb").write_text(notebook(prose(1), output=prose(2)), "utf-8")
    (tmp_path / "course/c.dat").write_text(notebook(prose(3)), "utf-8")
    return tmp_path


def declare(folder: Path, name: str, code: str, package: str = "one") -> None:
    """Install, as a package, a module that brings a format."""
    beside, module = folder / f"{package}-1.0.dist-info", f"of_{package.replace('-', '_')}"
    beside.mkdir(parents=True)
    (beside / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8")
    (beside / "entry_points.txt").write_text(f"[neardup.formats]\n{name} = {module}\n", "utf-8")
    (folder / f"{module}.py").write_text(code, "utf-8")


def test_it_is_read_like_any_other(package: Path, course: Path) -> None:
    neardup, there = Neardup(course), {"PYTHONPATH": str(package)}
    neardup("index", "course", **there)
    shown = neardup("show", "course/a.ipynb", "--json", **there).json
    assert (shown["format"], shown["title"]) == ("notebook", "On the tides")
    assert shown["extractor"] == "plug-in notebook (neardup-notebooks 1.0)"
    # The output of a cell doesn't count.
    assert neardup("show", "course/b.ipynb", "--json", **there).json["tokens"] == shown["tokens"]
    assert "identical" in neardup("compare", "course/a.ipynb", "course/b.ipynb", **there).out
    assert neardup("index", "course/a.ipynb", "--json", **there).json["unchanged"] == 1
    # By the name of the format, whatever the file is called; and again by the record's.
    neardup("index", "course/c.dat", "--format", "notebook", **there)
    assert neardup("show", "course/c.dat", "--json", **there).json["format"] == "notebook"
    # As plain text it would not be what was fingerprinted.
    assert "A to B: identical" in neardup("diff", "id:course/c.dat", "id:course/c.dat", **there).err


def test_without_it_nothing_is_read_as_something_else(package: Path, course: Path) -> None:
    neardup, there = Neardup(course), {"PYTHONPATH": str(package)}
    neardup("index", "course", **there)
    gone = "it was read by the plug-in notebook (neardup-notebooks 1.0), which is not installed here"
    again = neardup("index", "course", "--json").json
    assert again["failed"] == {"unsupported": 2}
    assert neardup("show", "course/a.ipynb", "--json").json["format"] == "notebook"
    assert {each["detail"] for each in neardup("failures", "--json").lines} == {gone}
    assert gone in neardup("diff", "id:course/a.ipynb", "id:course/b.ipynb", code=6).err
    refused = neardup("index", "course", "--format", "notebook", code=2)
    assert "format='notebook': no installed package brings this format; there are html, pdf, " in refused.err
    # Another version is another text.
    newer = course / "newer"
    shutil.copytree(package, newer)
    [beside] = newer.glob("*.dist-info")
    written = (beside / "METADATA").read_text("utf-8")
    (beside / "METADATA").write_text(written.replace("Version: 1.0", "Version: 2.0"), "utf-8")
    neardup("index", "course/a.ipynb", PYTHONPATH=str(newer))
    shown = neardup("show", "course/a.ipynb", "--json").json
    assert shown["extractor"] == "plug-in notebook (neardup-notebooks 2.0)"


READ = "def read(data): return data.decode()"
BAD = {
    "raises": ("def read(data): raise RuntimeError('no page')", "malformed", "RuntimeError: no page"),
    "leaves": ("def read(data): raise SystemExit(3)", "malformed", "SystemExit: 3"),
    "waits": ("def read(data):\n    while True: pass", "timeout", "stopped after 2 seconds, in the "),
    "dies": ("import os\ndef read(data): os._exit(3)", "crashed", "the worker ended with status 3, in the "),
    "grows": ("def read(data): return 'a' * (1 << 40)", "out-of-memory", "needed more memory than the limit"),
    "lists": ("def read(data): return ['a']", "malformed", "a tuple of text, title and dates, but list"),
    "many": ("def read(data): return 'a', 'b', {}, 'c'", "malformed", "a tuple of text, title and dates, but tuple"),
    "locked": (
        "import indexer.errors as e\ndef read(data): raise e.ExtractionError('encrypted', 'p')",
        "encrypted",
        "p",
    ),
}


def test_what_goes_wrong_in_it_is_that_documents_failure(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for kind, (code, _, _) in BAD.items():
        declare(tmp_path / "site", kind, f"endings = ('.{kind}',)\n{code}", package=f"{kind}-kind")
        (tmp_path / f"docs/a.{kind}").write_text(prose(1), "utf-8")
    (tmp_path / "docs/b.txt").write_text(prose(2), "utf-8")
    neardup = Neardup(tmp_path)
    neardup("index", "docs", "--timeout", "2", PYTHONPATH=str(tmp_path / "site"))
    failed = {each["id"]: each for each in neardup("failures", "--json").lines}
    assert len(failed) == len(BAD)
    for kind, (_, reason, says) in BAD.items():
        one = failed[f"docs/a.{kind}"]
        assert one["reason"] == reason
        assert says in one["detail"]
        assert f"plug-in {kind} ({kind}-kind 1.0)" in one["detail"]
    assert neardup("show", "docs/b.txt", "--json").json["format"] == "text"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that this process finds packages in."""

    def forget() -> None:
        for cached in (brought.brought_names, brought._by_ending, brought._loaded):
            cached.cache_clear()
        for name in ("of_one", "of_two"):
            sys.modules.pop(name, None)

    monkeypatch.syspath_prepend(str(tmp_path))
    forget()
    yield tmp_path
    forget()


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("odd", "raise SystemExit(1)", "can't be used: SystemExit(1)"),
        ("odd", "endings = ('.odd',)", "can't be used: AttributeError"),
        ("odd", "endings = '.odd'\nread = len", "needs `endings`, a tuple"),
        ("odd", "endings = ('.pdf',)\nread = len", "needs `endings`, a tuple"),
        ("odd", "endings = ('.docx',)\nread = len", "needs `endings`, a tuple"),
        ("odd", "endings = ('odd',)\nread = len", "needs `endings`, a tuple"),
        ("odd", "endings = ()\nread = len", "needs `endings`, a tuple"),
        ("pdf", "endings = ('.odd',)\nread = len", "can't have this name"),
        ("ODD", "endings = ('.odd',)\nread = len", "can't have this name"),
    ],
)
def test_what_is_no_format_is_told(name: str, code: str, says: str, site: Path) -> None:
    declare(site, name, code)
    with pytest.raises(UsageError, match=re.escape(f"the format {name} of one 1.0, of_one, {says}")):
        brought.brought_by(None, "a.odd")
    # It is asked for where a file may be its own, and no earlier.
    assert brought.brought_by(None, "b.txt") is None
    assert brought.brought_by("pdf", "a.odd") is None


def test_two_plug_ins_for_one_ending(site: Path) -> None:
    declare(site, "odd", f"endings = ('.odd',)\n{READ}")
    declare(site, "even", f"endings = ('.even', '.odd')\n{READ}", package="two")
    both = "files ending in .odd are read by two plug-ins: plug-in even (two 1.0), plug-in odd (one 1.0)"
    with pytest.raises(UsageError, match=re.escape(both)):
        brought.brought_by(None, "a.odd")


def test_two_plug_ins_of_one_name(site: Path) -> None:
    declare(site, "odd", f"endings = ('.odd',)\n{READ}")
    declare(site, "odd", f"endings = ('.even',)\n{READ}", package="two")
    with pytest.raises(UsageError, match=r"odd: several packages bring a format of this name \(of_one, of_two\)"):
        brought.brought_by("odd", "")


def test_a_tuple_may_have_a_title_and_dates(site: Path) -> None:
    code = "def read(data): return 'a\\0b', ' A  title ', {'modified': '2024-06-30', 'published': 'soon', 'x': 1}"
    declare(site, "odd", f"endings = ('.odd',)\n{code}")
    document = read_document(b"bytes", "a.odd.gz", Options(), Limits())
    assert (document.text, document.title, document.format) == ("a b", "A title", "odd")
    assert document.declared == {"modified": "2024-06-30"}


def test_files_left_out_by_their_names_are_read_where_a_plug_in_reads_them(tmp_path: Path) -> None:
    declare(tmp_path / "site", "drawing", "endings = ('.svg',)\ndef read(data): return data.decode(), 'A drawing'")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.svg").write_text(prose(1), "utf-8")
    neardup = Neardup(tmp_path)
    neardup("index", "docs", PYTHONPATH=str(tmp_path / "site"))
    shown = neardup("show", "docs/a.svg", "--json").json
    assert (shown["format"], shown["title"]) == ("drawing", "A drawing")
