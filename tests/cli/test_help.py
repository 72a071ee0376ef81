"""Help, completion, version: what a newcomer sees first."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from indexer import __version__
from indexer.cli import GROUPS, cli
from indexer.library.records import Described
from indexer.model import declared
from tests.cli.command import COMMAND, Neardup
from tests.warm import clean_environment


def commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)


ALL = dict(commands(cli))


@pytest.mark.parametrize("path", [(), *ALL], ids=" ".join)
def test_every_command_has_help_with_an_example(neardup: Neardup, path: tuple[str, ...]) -> None:
    shown = neardup(*path, "--help").out
    assert re.search(rf"^ +neardup {' '.join(path)}", shown, re.MULTILINE), "no example"
    assert neardup(*path, "-h").out == shown


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_option_says_what_it_does(path: tuple[str, ...]) -> None:
    for parameter in ALL[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
    assert len(ALL[path].get_short_help_str(60)) < 60


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_the_help_lists_options_in_their_groups(path: tuple[str, ...]) -> None:
    shown = ALL[path].get_help(click.Context(ALL[path], info_name=path[-1]))
    titles = {vars(parameter).get("title", "Options") for parameter in ALL[path].params} - {"Options"}
    assert titles <= set(re.findall(r"^(\w.*):$", shown, re.MULTILINE))


def test_the_help_says_once_what_a_stored_document_is(neardup: Neardup) -> None:
    shown = neardup("show", "--help").out
    for member in declared.members(Described):
        assert re.search(rf"^  {member.name}  ", shown, re.MULTILINE), member.name
    assert "as in neardup show" not in shown
    matches = neardup("similar", "--help").out.partition("\n  matches ")[2].partition("\n  part ")[0]
    assert " ".join(matches.split()).endswith("order_evidence, and those of neardup show --json before cluster)")
    assert "id, ...     The stored document, as in neardup show --json" in neardup("prune", "--help").out


def test_without_arguments_the_help_is_shown(neardup: Neardup) -> None:
    done = neardup(code=2)
    assert "Start here:" in done.out + done.err


def test_the_help_lists_every_command_once_in_its_group(neardup: Neardup) -> None:
    listed = neardup("--help").out.partition("Start here:\n")[2].partition("\n  Examples:")[0]
    assert re.findall(r"^  (\w+)  ", listed, re.MULTILINE) == [name for names in GROUPS.values() for name in names]
    assert re.findall(r"^(\w.*):$", listed, re.MULTILINE) == list(GROUPS)[1:]
    assert {name for names in GROUPS.values() for name in names} == set(cli.commands)


def test_the_help_names_every_kind_of_input(neardup: Neardup) -> None:
    from typing import get_args

    from indexer.extract.formats import Format
    from indexer.ingest.readers import all_readers

    shown = " ".join(neardup("--help").out.split())
    kinds = [kind.upper() for kind in get_args(Format) if kind != "text"]
    # These two are named otherwise: JSON lines, and MSG, which is a format too.
    read = {type(reader).__name__ for reader in all_readers()} - {"JsonLines", "OutlookMail"}
    for kind in (*kinds, *sorted(read)):
        assert kind.lower() in shown.lower(), kind
    assert "JSON lines" in shown


def test_wrong_use_is_explained(neardup: Neardup) -> None:
    assert "indx" in neardup("indx", code=2).err
    assert "neardup index --help" in neardup("index", "--no-such", code=2).err
    assert "2GiB" in neardup("index", ".", "--memory", "lots", code=2).err
    assert "64 MiB" in neardup("index", ".", "--memory", "10", code=2).err


def test_the_exit_codes_in_the_help_are_the_errors_own() -> None:
    from indexer import errors

    codes = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.NeardupError)
    }
    assert cli.epilog is not None
    assert codes < {int(code) for code in re.findall(r"(?:^|\s)(\d+)  ", cli.epilog.partition("Exit codes:")[2])}


def test_version(neardup: Neardup) -> None:
    assert neardup("--version").out == f"neardup {__version__}\n"


def test_the_console_script_is_the_same_command() -> None:
    script = shutil.which("neardup", path=f"{sys.prefix}/bin")
    if script is None:
        pytest.skip("NOT INSTALLED: no neardup beside this Python, the console script was not tried")
    by_module, by_script = (
        subprocess.run([*command, "--help"], env=clean_environment(), capture_output=True, check=True).stdout
        for command in (COMMAND, [script])
    )
    assert by_module == by_script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(neardup: Neardup, shell: str) -> None:
    script = neardup("completion", shell).out
    assert "_NEARDUP_COMPLETE" in script
    if program := shutil.which(shell):
        path = neardup.folder / "script"
        path.write_text(script)
        checked = subprocess.run([program, "-n", str(path)], capture_output=True)
        assert checked.returncode == 0, checked.stderr


def test_completion_completes(neardup: Neardup) -> None:
    asked = {"_NEARDUP_COMPLETE": "bash_complete"}
    words = neardup(COMP_WORDS="neardup sim", COMP_CWORD="1", **asked).out.split()
    assert words == ["plain,similar"]
    options = neardup(COMP_WORDS="neardup index --id-fr", COMP_CWORD="2", **asked).out.split()
    assert options == ["plain,--id-from"]
    rules = neardup(COMP_WORDS="neardup index --id-from ", COMP_CWORD="3", **asked).out.split()
    assert "plain,relative" in rules


def test_help_starts_without_the_heavy_libraries() -> None:
    check = (
        "import sys; from indexer.cli import main; main(['--help']); "
        "heavy = {'numpy', 'rich', 'lxml', 'sqlite3', 'pypdfium2', 'indexer.extract.pool'} & set(sys.modules); "
        "sys.exit(f'imported for the help: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", check], env=clean_environment(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("path", [(), *ALL], ids=" ".join)
def test_no_line_of_the_help_ends_within_a_word(path: tuple[str, ...]) -> None:
    command: click.Command = ALL[path] if path else cli
    for width in range(60, 101, 8):
        with command.make_context("neardup", [], resilient_parsing=True, max_content_width=width) as ctx:
            ctx.terminal_width = width
            shown = command.get_help(ctx)
        assert not re.findall(r".*\w-$", shown, re.MULTILINE)
        assert not re.findall(r"\w- \w.*", shown)
        assert shown.isascii()


@pytest.mark.parametrize(
    ("loaded", "needless"),
    [
        ("import indexer.library.collection", "library.outcomes library.removals library.batch_options text.corpus"),
        ("import indexer.library.comparing", "library.comparisons text.differences extract.document"),
        ("import indexer.extract.worker", "text.corpus library charset_normalizer"),
    ],
)
def test_only_what_is_needed_is_loaded(loaded: str, needless: str) -> None:
    names = {name for word in needless.split() for name in (word, f"indexer.{word}")}
    script = f"import sys; {loaded}; print({names!r} & set(sys.modules) or '')"
    answer = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == ""
