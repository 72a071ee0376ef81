"""Remarks as JSON: the same as those in words, each an object on a line of its own, and nothing else beside them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import warnings
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.cli.options.shared import RunOutput
from indexer.cli.terminal import output
from indexer.engine.documents.annotating import AnnotationSummary
from indexer.text.remarks import spoken
from tests.cli.command import COMMAND, Neardup, mixed_folder
from tests.processes import on_terminal
from tests.warm import clean_environment

LEVELS = {"info", "warning", "error"}
# What each says on standard error, and with which exit code it ends.
TALKATIVE: list[tuple[list[str], int]] = [
    (["index", "nowhere"], 5),
    (["index", "docs", "--dry-run"], 0),
    (["index", "docs", "-q", "--retry-failed"], 0),
    (["index", "docs", "--no-such"], 2),
    (["hash", "nowhere.txt", "docs/broken.pdf"], 6),
    (["similar", "docs/short.txt"], 0),
    (["similar", "docs/other.html", "--explain"], 0),
    (["cluster", "--match", "simhash-doc@3bits", "--dry-run"], 0),
    (["pairs"], 0),
    (["prune", "--dry-run"], 0),
    (["prune", "--delete"], 2),
    (["delete", "nothing"], 5),
    (["stats", "--store", "elsewhere.neardup"], 3),
    (["setup", "--store", "x.neardup"], 2),
]


@pytest.fixture
def stored(neardup: Neardup) -> Neardup:
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    neardup("cluster")
    return neardup


def lines(err: str) -> list[dict[str, Any]]:
    """The remarks, each of which has what every one has."""
    told = [json.loads(line) for line in err.splitlines()]
    for each in told:
        moment = datetime.fromisoformat(each["time"])
        assert each["time"].endswith("Z")
        assert abs(datetime.now(UTC) - moment) < timedelta(minutes=10)
        assert each["level"] in LEVELS
        assert each["message"]
    return told


@pytest.mark.parametrize(
    ("words", "code"), TALKATIVE, ids=lambda value: " ".join(value) if isinstance(value, list) else str(value)
)
def test_the_same_is_said_in_both_forms(stored: Neardup, words: list[str], code: int) -> None:
    text, machine = stored(*words, code=code), stored("--log-format", "json", *words, code=code)
    told = lines(machine.err)
    sentences = [line.removeprefix("neardup: ") for line in text.err.splitlines() if line.startswith("neardup: ")]
    assert sentences
    assert [each["message"] for each in told] == sentences
    assert [each["usage"] for each in told if "usage" in each] == [
        line for line in text.err.splitlines() if not line.startswith("neardup: ")
    ]
    assert machine.out == text.out
    assert stored(*words, code=code, NEARDUP_LOG_FORMAT="json").err.count("\n") == len(told)


def test_an_error_names_its_kind_the_command_the_store_and_the_exit_code(neardup: Neardup) -> None:
    [told] = lines(neardup("--log-format=json", "stats", "--store", "none.neardup", code=3).err)
    expected = {"level": "error", "command": "stats", "store": "none.neardup", "error": "NoStoreError", "exit_code": 3}
    assert expected.items() <= told.items()
    assert "traceback" not in told
    command = [*COMMAND, "--log-format", "json", "--debug", "stats"]
    done = subprocess.run(command, cwd=neardup.folder, env=clean_environment(), capture_output=True, text=True)
    [told] = lines(done.stderr)
    assert told["traceback"].startswith("Traceback")


def test_a_document_that_failed_has_its_reason(stored: Neardup) -> None:
    [told] = lines(stored("--log-format", "json", "hash", "docs/broken.pdf", code=6).err)
    assert (told["error"], told["reason"]) == ("ExtractionError", "malformed")
    [told] = lines(stored("--log-format", "json", "index", "docs", "-q", "--retry-failed").err)
    assert (told["level"], told["failed"]) == ("warning", {"malformed": 1})


def test_wrong_use_before_any_command(neardup: Neardup) -> None:
    for words in ([], ["--no-such"], ["indx"]):
        [told] = lines(neardup("--log-format", "json", *words, code=2).err)
        assert told["exit_code"] == 2
    assert "xml" in neardup("--log-format", "xml", "stats", code=2).err


def test_on_a_terminal_there_is_no_progress_and_no_question(stored: Neardup) -> None:
    said = ""
    for words, code in ((["index", "docs", "--retry-failed"], 0), (["prune", "--delete"], 2)):
        command = [*COMMAND, "--log-format", "json", *words]
        said += on_terminal(command, "stdin", "stderr", code=code, cwd=stored.folder, env=clean_environment())[1]
    assert [told["exit_code"] for told in lines(said) if "exit_code" in told] == [2]


@pytest.mark.parametrize("as_json", [True, False])
def test_what_libraries_warn_of_is_for_those_who_ask(
    as_json: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def warned() -> str:
        with warnings.catch_warnings(), spoken(as_json=as_json):
            warnings.simplefilter("always")
            warnings.warn("an old way\nof doing it", UserWarning, stacklevel=1)
        return capsys.readouterr().err

    assert warned() == ""
    monkeypatch.setattr(sys, "warnoptions", ["default"])
    said = warned()
    assert "UserWarning: an old way" in said
    assert len(said.splitlines()) == 1
    assert not as_json or json.loads(said)["level"] == "warning"


def test_nothing_is_said_in_another_way() -> None:
    """What writes to standard error by itself, in the package: remarks, the usage in words, a traceback in words."""
    package = Path(indexer.__file__).parent
    found = {
        (path.relative_to(package).as_posix(), ast.unparse(call.func))
        for path in package.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call)
        and (
            ast.unparse(call.func) == "sys.stderr.write"
            or any(ast.unparse(each) in ("err=True", "file=sys.stderr") for each in call.keywords)
        )
    }
    # A question is asked only where remarks are in words.
    questions = {("cli/terminal/output.py", "click.confirm")}
    words = {("cli/__init__.py", "click.echo"), ("cli/__init__.py", "sys.stderr.write")}
    assert found == questions | words | {("text/remarks.py", "sys.stderr.write")}


def test_a_log_gets_a_line_about_a_long_run_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts, said = AnnotationSummary(annotated=2000, total=5000, failed=Counter(malformed=1)), ""
    monkeypatch.setattr(output, "_MINUTE", 0.01)
    for talk, expected in ((RunOutput(quiet=False, json=False), True), (RunOutput(quiet=True, json=False), False)):
        with talk.following("annotating")(counts):
            while expected and "annotating" not in said:
                said += capsys.readouterr().err
    assert said.splitlines()[0] == "neardup: annotating: 2,001 of 5,000 documents, 1 failed"
    assert capsys.readouterr().err == ""
