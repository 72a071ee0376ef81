"""The wheel, installed in a clean environment away from the checkout, does the main job."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import DOCS

ROOT = Path(__file__).resolve().parents[2]

PAGE = "<html><head><title>{title}</title></head><body><nav>{nav}</nav><article>{body}</article></body></html>"
BODY = " ".join(f"Sentence {n} of an article that two sites carry under their own design." for n in range(40))
OTHER = " ".join(f"Nothing here resembles line {n}: oranges, violins, tides and granite." for n in range(40))


def run(*command: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment into which the wheel, and nothing else, was installed."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT), cwd=folder)
    (wheel,) = folder.glob("neardup-*.whl")
    assert "-abi3-" in wheel.name
    run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"), cwd=folder)
    own = str(folder / "venv" / "bin" / "python")
    run(sys.executable, "-m", "pip", "--python", own, "install", "--quiet", "--no-compile", str(wheel), cwd=folder)
    return own


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NEARDUP", "VIRTUAL"))}


def test_the_main_job(python: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.html").write_text(PAGE.format(title="One", nav="Home Shop", body=BODY), "utf-8")
    (docs / "b.html").write_text(PAGE.format(title="Two", nav="Start Kontakt Impressum", body=BODY), "utf-8")
    (docs / "c.txt").write_text(OTHER, "utf-8")
    neardup = str(Path(python).with_name("neardup"))
    env = clean_environment()
    run(neardup, "index", "docs", "--store", "s.neardup", cwd=tmp_path, env=env)
    answer = json.loads(run(neardup, "similar", "docs/a.html", "--store", "s.neardup", "--json", cwd=tmp_path, env=env))
    assert [Path(match["source"]).name for match in answer["matches"]] == ["b.html"]
    run(neardup, "cluster", "--store", "s.neardup", cwd=tmp_path, env=env)
    run(neardup, "report", "--store", "s.neardup", "-o", "r.html", cwd=tmp_path, env=env)
    assert "<title>" in (tmp_path / "r.html").read_text("utf-8")
    assert run(python, "-m", "neardup", "--version", cwd=tmp_path, env=env).strip()


def test_the_mapping_files_travel_with_it(python: str, tmp_path: Path) -> None:
    script = "from indexer.engine.index.mapping import mappings_directory as d; print(d())"
    folder = Path(run(python, "-c", script, cwd=tmp_path, env=clean_environment()).strip())
    assert ROOT not in folder.parents
    there = [path for path in (ROOT / "mappings").rglob("*") if path.is_file()]
    # What makes some of the files stays in the checkout.
    wanted = {path.relative_to(ROOT / "mappings") for path in there if path.suffix not in (".py", ".pyc")}
    assert wanted
    assert {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} == wanted


def test_the_library_needs_nothing_else(python: str, tmp_path: Path) -> None:
    script = (
        "import neardup; a, b = neardup.fingerprint('one two three'), neardup.fingerprint('One, two - three!'); "
        "print(a.distance(b), a, len(neardup.__all__))"
    )
    distance, text, names = run(python, "-c", script, cwd=tmp_path, env=clean_environment()).split()
    assert (distance, text[:4]) == ("0", "sd1-")
    assert int(names) <= 20


def test_a_program_that_imports_neardup_is_typed(python: str, tmp_path: Path) -> None:
    # Each module that the pages name, so that its stub is there.
    named = {
        match
        for page in DOCS.rglob("*.md")
        for match in re.findall(r"from (neardup[\w.]*) import (\w+)", page.read_text())
    }
    assert len(named) > 5
    lines = [f"from {module} import {name}" for module, name in sorted(named)]
    lines += [
        "import neardup",
        "kept: list[int] = neardup.dedupe(['a', 'b']).kept.tolist()",
        "neardup.errors.UsageError('no')",
    ]
    (tmp_path / "program.py").write_text("\n".join(lines) + "\n")
    (tmp_path / "wrong.py").write_text("import neardup\nneardup.dedupe(3)\nneardup.nosuch\n")
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", str(tmp_path))
    env = clean_environment()
    run(*mypy, "--ignore-missing-imports", "program.py", cwd=tmp_path, env=env)
    done = subprocess.run([*mypy, "wrong.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert len(re.findall(r"^wrong\.py:[23]: error:", done.stdout, re.MULTILINE)) == 2, done.stdout
