"""The README can be pasted, shows what really comes out, and leaves no command or option out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command import clean_environment

from indexer.cli import cli
from indexer.extract import REASONS
from indexer.pipeline import REASONS as PIPELINE_REASONS

README = Path(__file__).resolve().parents[2] / "README.md"


def section(title: str, level: str = "##") -> str:
    found = re.search(
        rf"^{level} {re.escape(title)}\n(.*?)(?=^{level} |^## |\Z)", README.read_text(), re.MULTILINE | re.DOTALL
    )
    assert found, f"README has no section {title!r}"
    return found[1]


def steady(text: str) -> str:
    return re.sub(r"in [\d.]+ s$", "in 0.2 s", text.strip(), flags=re.MULTILINE)


def test_the_tutorial_shows_what_comes_out(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(sh|text)\n(.*?)^```$", section("Tutorial"), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 6
    # Each step ends with a mark on standard output, so that one shell can run them all, as a reader's does.
    script = f'set -e\nneardup() {{ "{sys.executable}" -m indexer "$@"; }}\n'
    shown: list[str] = []
    for kind, content in blocks:
        if kind == "sh":
            script += content + "echo ==== end of step\n"
            shown.append("")
        else:
            shown[-1] = content
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split("==== end of step\n")[:-1]
    assert [steady(text) for text in printed] == [steady(text) for text in shown]


def test_the_example_in_python_runs(tmp_path: Path) -> None:
    [example] = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    [tutorial, *_] = re.findall(r"^```sh\n(.*?)^```$", section("Tutorial"), re.MULTILINE | re.DOTALL)
    script = f'{tutorial}"{sys.executable}" -m indexer index docs\n"{sys.executable}" -c "$EXAMPLE"\n'
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=tmp_path,
        env={**clean_environment(), "EXAMPLE": example},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "docs/tea-iced.txt 46% near\n" in done.stdout


@pytest.mark.parametrize("name", cli.commands)
def test_every_option_is_in_the_reference(name: str) -> None:
    reference = section("Reference of every option")
    found = re.search(rf"^### `neardup {name}\b.*?`\n(.*?)(?=^### |\Z)", reference, re.MULTILINE | re.DOTALL)
    assert found, f"the reference has no section for {name}"
    options = {option for each in cli.commands[name].params if isinstance(each, click.Option) for option in each.opts}
    named = set(re.findall(r"`(--?[a-z-]+)", found[1]))
    assert options <= named
    assert named <= options | {"--json", "--limit"}, "the reference has options that are gone"


def test_every_reason_and_exit_code_is_in_the_reference() -> None:
    reference = section("Reference of every option")
    for reason in (*REASONS, *PIPELINE_REASONS):
        assert f"`{reason}`" in reference
    in_help = set(re.findall(r"(?:^|\s)(\d+)  ", (cli.epilog or "").partition("Exit codes:")[2]))
    in_readme = set(
        re.findall(r"\d+", " ".join(re.findall(r"^\| ([\d, ]+) \|", section("Exit codes", "###"), re.MULTILINE)))
    )
    assert in_help <= in_readme
