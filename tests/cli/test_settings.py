"""Flags before environment before file before default."""

from __future__ import annotations

import re

import click
import pytest

from indexer.cli import _settings_of, cli
from indexer.cli.config import command_defaults
from indexer.cli.options.commands import Related
from indexer.errors import UsageError
from tests.cli.command import Neardup, leaves, write
from tests.cli.written import changed, prose
from tests.pages import DOCS, section

COMMANDS = dict(leaves(cli))


def short_words(neardup: Neardup, *arguments: str, **environment: str) -> int:
    """The number of documents that an index run of a 30-word text calls short, in a new store."""
    for path in neardup.folder.glob("*.neardup*"):
        path.unlink()
    short: int = neardup("index", "a.txt", "--json", *arguments, **environment).json["short"]
    return short


def test_the_order_of_settings(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1, 30)})
    assert short_words(neardup) == 0
    write(neardup.folder, {"neardup.toml": "[index]\nmin-tokens = 31\n"})
    assert short_words(neardup) == 1
    assert short_words(neardup, NEARDUP_INDEX_MIN_TOKENS="30") == 0
    assert short_words(neardup, "--min-tokens", "31", NEARDUP_INDEX_MIN_TOKENS="30") == 1


def test_a_named_file_comes_instead_of_the_one_in_the_folder(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1, 30), "neardup.toml": "[index]\nmin-tokens = 31\n", "other.toml": ""})
    assert neardup("--config", "other.toml", "index", "a.txt", "--json").json["short"] == 0
    (neardup.folder / "collection.neardup").unlink()
    assert neardup("index", "a.txt", "--json", NEARDUP_CONFIG="other.toml").json["short"] == 0


def test_the_store_by_file_and_environment(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "neardup.toml": 'store = "file.neardup"\nexclude = ["b*"]\n'})
    neardup("index", ".", "--include", "*.txt")
    neardup("index", "a.txt", NEARDUP_STORE="environment.neardup")
    neardup("index", "a.txt", "--store", "flag.neardup", NEARDUP_STORE="environment.neardup")
    found = {path.name for path in neardup.folder.glob("*.neardup")}
    assert found == {"file.neardup", "environment.neardup", "flag.neardup"}
    assert neardup("stats", "--json").json["store"] == "file.neardup"


def test_wrong_settings_name_key_and_file(neardup: Neardup) -> None:
    for content, words in (
        ("jbos = 3", ["neardup.toml", "'jbos'", "'jobs'"]),
        ("[index]\nmin_tokens = 3", ["neardup.toml", "'min_tokens'", "[index]", "'min-tokens'"]),
        ("[indx]\njobs = 3", ["neardup.toml", "[indx]", "'index'"]),
        ("[stats]\njobs = 3", ["neardup.toml", "'jobs'", "[stats]"]),
        ("[similar]\nid = 'x'", ["neardup.toml", "'id'", "[similar]", "on the command line alone"]),
        ("[prune]\nyes = true", ["neardup.toml", "'yes'", "[prune]", "on the command line alone"]),
        ("yes = true", ["neardup.toml", "'yes'", "on the command line alone"]),
        ("[delete]\nsimilarity = 0.3", ["neardup.toml", "'similarity'", "[delete]", "on the command line alone"]),
        ("this is no toml", ["neardup.toml", "TOML"]),
        (b"\xff", ["neardup.toml", "TOML"]),
        ("[stats]\njson = 'perhaps'", ["neardup.toml", "json", "perhaps"]),
    ):
        write(neardup.folder, {"neardup.toml": content})
        done = neardup("stats", code=2)
        for word in words:
            assert word in done.err, (content, done.err)
    assert "nowhere.toml" in neardup("--config", "nowhere.toml", "stats", code=2).err


def test_nearer_keys_win_and_one_value_is_a_list_of_one() -> None:
    settings = {"store": "a", "exclude": "*.tmp", "index": {"store": "b", "min-tokens": 3}}
    options = {"index": {"store": False, "min-tokens": False, "exclude": True}, "stats": {"store": False}}
    defaults = command_defaults(settings, options, None)
    assert defaults == {"index": {"store": "b", "min_tokens": 3, "exclude": ["*.tmp"]}, "stats": {"store": "a"}}
    with pytest.raises(UsageError, match="min-tokens"):
        command_defaults({"stats": {"min-tokens": 1}}, options, None)


def test_commands_of_a_command_have_tables_of_their_own(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1, 30)})

    def short(content: str, *arguments: str, **environment: str) -> int:
        write(neardup.folder, {"neardup.toml": content})
        for path in neardup.folder.glob("*/sketches/*"):
            path.unlink()
        counted: int = neardup("batch", "sketch", "a.txt", "--json", *arguments, **environment).json["short"]
        return counted

    out = "[batch.sketch]\nout = 'made'\n"
    assert short(out) == 0
    assert (neardup.folder / "made/sketches").is_dir()
    assert short(f"min-tokens = 31\n{out}") == 1
    assert short(f"[batch]\nmin-tokens = 31\n{out}") == 1
    assert short(f"min-tokens = 31\n[batch]\nmin-tokens = 30\n{out}") == 0
    assert short(f"[batch]\nmin-tokens = 30\n{out}min-tokens = 31") == 1
    assert short(f"{out}min-tokens = 31", NEARDUP_BATCH_SKETCH_MIN_TOKENS="30") == 0
    assert short(f"{out}min-tokens = 31", "--min-tokens", "30") == 0
    # Another command's table is not this one's.
    assert short(f"[index]\nmin-tokens = 31\n{out}extractor = 'reference'") == 0
    for content, words in (
        ("[batch]\nmin_tokens = 3", ["unknown setting 'min_tokens' in [batch]; did you mean 'min-tokens'"]),
        ("[batch.sketch]\njbos = 3", ["unknown setting 'jbos' in [batch.sketch]; did you mean 'jobs'"]),
        ("[batch.sketches]\njobs = 3", ["unknown table [batch.sketches]; did you mean 'sketch'"]),
        ("[batch.report]\njobs = 3", ["unknown setting 'jobs' in [batch.report]"]),
        ("[batch.sketch.jobs]\nmany = 3", ["'jobs' in [batch.sketch] takes a value, not a table"]),
        ("[batch.sketch]\njobs = [1, 2]", ["'jobs' takes one value, not a list"]),
        ("[batch.sketch]\njobs = 'few'", ["neardup.toml", "jobs", "few"]),
    ):
        write(neardup.folder, {"neardup.toml": content})
        done = neardup("batch", "sketch", "a.txt", "--out", "made", code=2)
        for word in words:
            assert word in done.err, (content, done.err)


def test_every_setting_is_named_like_its_parameter() -> None:
    for name, command in COMMANDS.items():
        parameters = {parameter.name for parameter in command.params}
        for setting, several in _settings_of(command).items():
            assert several is None or setting.replace("-", "_") in parameters, (name, setting)


def test_every_long_option_is_a_key_or_is_refused_as_one_by_the_page() -> None:
    """The page names each option that is no setting, and no other."""
    words = " ".join(section(DOCS / "reference" / "settings.md", "Settings in a file").split())
    apart = set(re.findall(r"--([a-z-]+)", words.partition("Two kinds of options")[2]))
    refused: set[str] = set()
    for name, command in COMMANDS.items():
        options = [each for each in command.params if isinstance(each, click.Option)]
        settings = _settings_of(command)
        assert {max(each.opts, key=len).lstrip("-") for each in options} == settings.keys(), name
        refused |= {each for each, several in settings.items() if several is None}
    assert refused == apart


RELATED = [
    pytest.param(name, option, id=f"{name} {option.opts[-1]}")
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, Related) and (option.goes_with or option.not_with)
]


def words_of(option: click.Parameter, value: str = "") -> list[str]:
    """An option as it is typed, with some value that it takes."""
    if isinstance(option, click.Argument):
        return ["a"]
    kind = option.type
    some = kind.choices[0] if isinstance(kind, click.Choice) else "1" if "ange" in type(kind).__name__ else "1MB"
    flag = max(option.opts, key=len)
    is_flag = isinstance(option, click.Option) and option.is_flag
    return [flag] if is_flag else [flag, value or ("1" if kind.name == "seconds" else some)]


def refusal(name: str, words: list[str]) -> str:
    """Why the parser refuses a command line; empty where it is taken."""
    try:
        COMMANDS[name].make_context(name, words, resilient_parsing=False)
    except click.UsageError as error:
        return error.format_message()
    return ""


@pytest.mark.parametrize(("name", "option"), RELATED)
def test_an_option_that_would_do_nothing_is_refused(name: str, option: Related) -> None:
    known = {each.name: each for each in COMMANDS[name].params}
    with_it = [known[other.partition("=")[0]] for other in option.goes_with if other.partition("=")[0] in known]
    values = dict(other.partition("=")[::2] for other in option.goes_with)
    without = [
        word
        for each in dict.fromkeys(with_it)
        if f"{each.name}={each.default}" in option.goes_with and isinstance(each.type, click.Choice)
        for word in words_of(
            each, next(one for one in each.type.choices if f"{each.name}={one}" not in option.goes_with)
        )
    ]
    alone = refusal(name, [*without, *words_of(option)])
    assert (" goes with " in alone) is bool(with_it), alone
    for partner in with_it:
        assert max(partner.opts, key=len) in alone or isinstance(partner, click.Argument)
        taken = refusal(name, [*words_of(partner, values[str(partner.name)]), *words_of(option)])
        # The partner may want one in its turn.
        assert f"{max(option.opts, key=len)} goes with" not in taken
    for other in option.not_with:
        if other in known:
            theirs = getattr(known[other], "goes_with", ())
            partners = [word for each in (*with_it, *(known[one] for one in theirs)) for word in words_of(each)]
            assert "does nothing with" in refusal(name, [*partners, *words_of(known[other]), *words_of(option)])


def test_help_that_names_a_partner_is_held() -> None:
    """What begins with "With --x:" in the help is refused without it."""
    for name, command in COMMANDS.items():
        flags = {max(each.opts, key=len): each for each in command.params if isinstance(each, click.Option)}
        for flag, option in flags.items():
            begin = re.match(r"With (--[a-z-]+)( [a-z]+)?(?: or (--[a-z-]+))?:? ", option.help or "")
            for named in filter(None, begin.groups()[::2] if begin else ()):
                if (flag, named) == ("--min-jaccard", "--verify"):
                    continue  # it chooses the verification itself
                assert isinstance(option, Related), (name, flag)
                assert str(flags[named].name) in {other.partition("=")[0] for other in option.goes_with}, (name, flag)


def test_silent_options_of_index_are_refused(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1)})
    for words in (["--match", "minhash@0.6"], ["-k", "3"], ["--bound", "0.5"], ["--canonical", "longest"]):
        assert "--cluster" in neardup("index", "a.txt", *words, code=2).err
    assert not list(neardup.folder.glob("*.neardup"))
    write(neardup.folder, {"neardup.toml": "[index]\nmatch = 'minhash@0.7'\ncanonical = 'longest'\n"})
    neardup("index", "a.txt")


def test_a_flag_overrides_the_other_parts_of_a_setting(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "b.txt": changed(prose(1))})
    neardup("index", "a.txt", "b.txt")

    def rule(*arguments: str, **environment: str) -> str:
        found: str = neardup("similar", "a.txt", "--json", *arguments, **environment).json["rule"]
        return found

    write(neardup.folder, {"neardup.toml": "[similar]\ndistance = 6\n[pairs]\ncollapse = true\n"})
    assert rule() == "simhash-doc@6bits"
    assert rule("--similarity", "0.7").endswith("+minhash@0.7")
    assert rule("--match", "minhash@0.5") == "minhash@0.5"
    assert rule("--scheme", "minhash") == "minhash@0.6"
    assert rule("-k", "2") == "simhash-doc@2bits"
    assert rule(NEARDUP_SIMILAR_SIMILARITY="0.7").endswith("+minhash@0.7")
    assert rule("--match", "minhash@0.5", NEARDUP_SIMILAR_SIMILARITY="0.7") == "minhash@0.5"
    neardup("pairs", "--against", "collection.neardup")
    # What is not of the same setting stays.
    write(neardup.folder, {"neardup.toml": "[similar]\nlimit = 1\nmatch = 'minhash@0.5'\nverify = 'text'\n"})
    assert "leave out" in neardup("similar", "a.txt", code=2).err
    assert rule("-k", "3") == "simhash-doc@3bits"
    write(neardup.folder, {"neardup.toml": "[cluster]\ncanonical = 'source'\nprefer = ['*b*']\ndry-run = true\n"})
    neardup("cluster", "--canonical", "longest")
    assert "nothing was written" in neardup("cluster").err


def test_what_a_run_writes_to_may_be_a_setting(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "b.txt": prose(1)})
    write(neardup.folder, {"neardup.toml": "[report]\noutput = 'r.html'\n[index]\nnew-to = 'new.txt'\n"})
    neardup("index", "a.txt", "b.txt")
    assert not (neardup.folder / "new.txt").exists()
    neardup("index", "a.txt", "b.txt", "--cluster")
    assert (neardup.folder / "new.txt").exists()
    neardup("cluster")
    neardup("report")
    assert (neardup.folder / "r.html").exists()
