"""What a command can do, a program can: each option of a command is a parameter of what it calls in the library."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator

import click
import pytest

from indexer.cli import cli
from indexer.library import (
    annotating,
    batch_options,
    batches,
    comparing,
    engine_options,
    evaluating,
    examining,
    followed_folders,
    following,
    options,
    recognition,
    setting_up,
)
from indexer.library.collection import Collection
from indexer.library.collection import open as open_collection
from indexer.library.reports import Report
from indexer.library.scheme_figures import list_schemes
from indexer.library.statistics import gather
from indexer.matching.request import RuleRequest
from indexer.service import serving, status
from indexer.service.limits import Listening, ServiceLimits
from tests.cli.command import leaves

# The functions that a command calls, beside `indexer.open` where it opens a store.
CALLS: dict[str, tuple[Callable[..., object] | type, ...]] = {
    "index": (Collection.index,),
    "failures": (Collection.iter_failures,),
    "similar": (Collection.similar, Collection.similar_each, RuleRequest),
    "compare": (Collection.compare, comparing.compare, RuleRequest),
    "hash": (comparing.hash_file, comparing.hash_text),
    "pairs": (Collection.iter_pairs, RuleRequest),
    "passages": (Collection.passages,),
    "cluster": (Collection.cluster, RuleRequest),
    "prune": (Collection.prune, Collection.relocate),
    "undo": (Collection.undo,),
    "decisions": (Collection.decide,),
    "report": (Collection.report, Report.save),
    "diff": (Collection.diff, comparing.diff),
    "evaluate": (
        Collection.evaluate,
        Collection.judge,
        evaluating.evaluate,
        evaluating.read_truth,
        evaluating.Evaluated.save_picture,
    ),
    "show": (Collection.get,),
    "history": (Collection.history,),
    "delete": (Collection.delete, Collection.delete_copies, RuleRequest),
    "stats": (Collection.stats, Collection.metrics),
    "doctor": (examining.examine,),
    "ocr": (recognition.ocr_state,),
    "schemes": (list_schemes, Collection.schemes, Collection.remove_scheme),
    "corpus": (gather,),
    "setup": (setting_up.setup,),
    "annotate": (annotating.annotate,),
    "follow": (
        following.Follower,
        following.Follower.run,
        annotating.FollowedIndex,
        followed_folders.FollowedFolders,
        status.status_served,
    ),
    "serve": (serving.serve, Listening, ServiceLimits),
    "mcp": (serving.serve_tools, ServiceLimits),
    "batch sketch": (batches.sketch,),
    "batch cluster": (batches.cluster, batches.rule_for),
    "batch filter": (batches.filter,),
    "batch dedupe": (batches.dedupe,),
    "batch load": (batches.load,),
    "batch report": (batches.report,),
    "batch passages": (batches.cut_passages,),
}
# What is about the terminal, the exit code, and the file that an answer is written to.
TERMINAL = {"json", "quiet", "yes", "strict", "format", "output", "explain"}
# What is a part of an answer that a program has as a whole.
OF_THE_ANSWER = {("compare", "passages"), ("passages", "by"), ("passages", "limit")}
# The names that options have in the library.
RENAMED = {
    ("index", "no_create"): "create",
    # A program asks for the sources of a run, and lists them.
    ("index", "dry_run"): "sources",
    ("index", "distance"): "match",
    ("index", "new_to"): "on_new",
    ("index", "scheme"): "schemes",
    ("index", "verify"): "skip_duplicates",
    **{("index", f"{name}_field"): "fields" for name in ("text", "id", "title")},
    ("history", "no_changes"): "changes",
    ("similar", "hash_"): "asked",
    ("similar", "identities"): "asked",
    **{("similar", f"{name}_field"): "fields" for name in ("text", "id", "title")},
    ("corpus", "scheme"): "schemes",
    ("delete", "listed"): "ids",
    ("delete", "copies_of"): "ids",
    ("evaluate", "schemes"): "rules",
    ("evaluate", "picture"): "path",
    ("schemes", "remove"): "name",
    ("follow", "status_host"): "host",
    ("follow", "status_port"): "port",
}

OPTIONS = {**vars(options), **vars(batch_options), **vars(engine_options)}


def names_of(called: Callable[..., object] | type) -> Iterator[str]:
    """The names of the parameters of a function, with the fields of those that are dataclasses of options."""
    if dataclasses.is_dataclass(called):
        named = {field.name: field.type for field in dataclasses.fields(called)}
    else:
        named = {name: each.annotation for name, each in inspect.signature(called).parameters.items()}
    for name, annotation in named.items():
        yield name
        kind = OPTIONS.get(str(annotation).partition(" |")[0])
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            yield from names_of(kind)


COMMANDS = {name: command for name, command in leaves(cli) if name != "completion"}


def test_every_command_calls_the_library() -> None:
    assert CALLS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_is_a_parameter(name: str) -> None:
    called = {each for function in (open_collection, *CALLS[name]) for each in names_of(function)}
    called |= {"sources"} if name == "index" else set()
    for option in COMMANDS[name].params:
        if not isinstance(option, click.Option) or option.name in TERMINAL or (name, option.name) in OF_THE_ANSWER:
            continue
        in_library = RENAMED.get((name, str(option.name)), option.name)
        assert in_library in called, f"{option.opts[0]} has no parameter in the library"


def test_what_is_named_here_is_an_option() -> None:
    named = {(name, str(option.name)) for name, command in COMMANDS.items() for option in command.params}
    assert named >= OF_THE_ANSWER
    assert RENAMED.keys() <= named
    assert {name for _, name in named} >= TERMINAL
