"""The workflows: pinned, with no more rights than they need, and about the same versions as the package."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import QUICK
from tests.pages import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def read(name: str) -> dict[str, Any]:
    workflow: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))
    return workflow


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_to_a_commit_and_says_its_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text("utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d[\d.]*", action), action


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_nothing_is_allowed_but_by_name(path: Path) -> None:
    workflow = read(path.stem)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"]
        writes = {name for name, right in job["permissions"].items() if right == "write"}
        assert not writes or job["environment"]["name"] in ("pypi", "github-pages")


def test_zizmor_finds_nothing() -> None:
    command = [str(Path(sys.executable).with_name("zizmor")), "--offline", "--no-progress", str(ROOT / ".github")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_versions_of_python_are_those_of_the_package() -> None:
    named = [one.rpartition(" :: ")[2] for one in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert read("tests")["jobs"]["systems"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"
    assert PROJECT["tool"]["cibuildwheel"]["build"] == f"cp{named[0].replace('.', '')}-*"
    assert PROJECT["tool"]["scikit-build"]["wheel"]["py-api"] == f"cp{named[0].replace('.', '')}"


def test_the_tests_that_windows_runs_are_there() -> None:
    for name in read("tests")["jobs"]["systems"]["env"]["TESTS"].split():
        assert (ROOT / name).is_file()


def test_a_free_threaded_python_is_refused(tmp_path: Path) -> None:
    command = ["cmake", "-S", str(ROOT / "cffi_build"), "-B", str(tmp_path), "-DSKBUILD=2"]
    done = subprocess.run([*command, "-DSKBUILD_SOABI=cpython-314t-x86_64-linux-gnu"], capture_output=True, text=True)
    assert done.returncode != 0
    said = re.sub(r"\s+", " ", done.stderr)
    assert "not built for a free-threaded Python" in said


def test_the_tests_of_make_quick_are_there() -> None:
    assert [name for name in QUICK if not (ROOT / "tests" / name).exists()] == []
