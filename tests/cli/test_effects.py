"""Where each option has its effect; what would do nothing is refused, with a sentence that says so."""

from __future__ import annotations

import json

import click
import pytest

from indexer.cli import cli
from indexer.cli.options.commands import Related
from tests.cli.command import Neardup, leaves, write
from tests.cli.written import changed, prose

COMMANDS = dict(leaves(cli))

# Of options that no other option and no kind of store makes idle; a command that is not named has them all.
EVERYWHERE = {
    "--store": "what is opened",
    "--json": "the form of the answer",
    "--quiet": "the progress on a terminal, and the summary in words",
    "--dry-run": "nothing is written",
    "--explain": "remarks on the rule",
    "--strict": "the exit code",
    "--include": "the walk through folders",
    "--exclude": "the walk through folders",
    "--hidden": "the walk through folders",
    "--follow-links": "the walk through folders",
    "--id-from": "the ids of single files",
    "--paths-from": "what is read",
    "--min-tokens": "which documents are short",
    "--scheme": "the sketches that are kept; of similar, compare, pairs and cluster the rule",
    "--schemes": "the schemes of a new store, held against those of one that is there",
    "--similarity": "the rule",
    "--verify": "the rule; of prune whether texts or sketches are compared again",
    "--min-jaccard": "the verification, which it brings itself",
    "--min-containment": "the verification, which it brings itself",
    "--include-short": "what is compared",
    "--filter": "what is compared; refused by what is said of a store file",
    "--match": "the rule",
    "--distance": "the rule",
    "--bound": "the clusters",
    "--canonical": "the canonical documents",
    "--jobs": "how many processes read",
    "--timeout": "what is read, or fails",
    "--memory": "what is read, or fails",
    "--text-field": "what is read of files with many documents",
    "--id-field": "what is read of files with many documents",
    "--title-field": "what is read of files with many documents",
    "--content": "what is read of HTML",
    "--extractor": "what is read of HTML",
    "--format": "how files are read",
    "--max-size": "what is read, or fails",
    "--ocr": "which pages and images are read",
    "--out": "where files are written",
    "--against": "what is compared, or kept elsewhere",
    "--latest": "which of several documents with one id counts",
    "--run-on": "where the work is done",
    "--stale": "inputs that are not as they were",
}
OWN = {
    "index": {
        "--cluster": "clusters while documents arrive",
        "--skip-duplicates": "what is stored",
        "--dead-letters": "where refused documents go; a file refuses those that are too large",
        "--retry-failed": "what is read",
        "--no-create": "the exit code where there is no store",
        "--kind": "the schemes and the rule of a new store; another store is refused",
    },
    "failures": {"--reason": "what is listed"},
    "similar": {
        "--relation": "which texts are read, and what is said of how they differ",
        "--id": "the question",
        "--text": "the question",
        "--hash": "the question",
        "--at-least": "what is shown",
        "--limit": "what is shown",
        "--verify-in-engine": "where it is verified; refused by what is said of a store file, and of other rules",
    },
    "cluster": {
        "--apart": "which documents are clusters of their own",
        "--time-field": "the order in time of the documents",
        "--relation": "which texts are read, and what is said of how they differ",
    },
    "compare": {"--passages": "what is shown"},
    "hash": {"--text": "what is read"},
    "passages": {
        "--words": "what is found",
        "--by": "what is listed",
        "--limit": "what is listed",
        "--held-by": "what is said of each passage",
        "--write": "what dashboards show; a store file refuses it",
    },
    "pairs": {
        "--relation": "which texts are read, and what is said of how they differ",
        "--format": "the form of the answer",
        "--output": "where it is written",
        "--collapse": "what is listed",
    },
    "prune": {
        "--delete": "what is done",
    },
    "report": {
        "--output": "where it is written",
        "--format": "its form",
        "--clusters": "what is shown",
        "--time-field": "the counts over time",
    },
    "history": {"--no-changes": "what is read again", "--time-field": "the order in time of the versions"},
    "diff": {"--context": "what is shown", "--max-words": "what is compared"},
    "evaluate": {
        "--schemes": "what is measured",
        "--documents": "on what",
        "--parts": "what is measured",
        "--picture": "a file",
        "--judgments": "what is measured; refused with what is for documents that are read again",
        "--field": "which text is read again; refused for documents of no store",
    },
    "delete": {"--from": "what is deleted", "--copies-of": "what is deleted"},
    "stats": {},
    "doctor": {"--texts": "what is examined"},
    "ocr": {"--clear": "what is kept of OCR"},
    "schemes": {},
    "corpus": {
        "--from-store": "what is counted",
        "--field": "which text is read again; refused without --from-store",
    },
    "setup": {"--remove": "what is done", "--repair": "what is done"},
    "annotate": {
        "--field": "the text",
        "--source-field": "what reports count by",
        "--title-field": "what answers show",
        "--content": "the content mode, which a new index notes",
        "--to": "where fingerprints are written",
        "--all": "what is read",
        "--again": "what is made anew",
        "--cluster": "clusters of what was taken up",
        "--kind": "the schemes and the rule of a new store; another store is refused",
        "--docs-per-second": "how fast",
        "--slices": "how much at once",
    },
    "follow": {
        "--field": "the text",
        "--source-field": "what reports count by",
        "--kind": "the schemes and the rule of a new store; another store is refused",
        "--to": "where fingerprints are written",
        "--docs-per-second": "how fast",
        "--slices": "how much at once",
        "--interval": "when it looks",
        "--quiet-for": "when all is grouped",
        "--share": "how often all is grouped",
        "--most-lost": "what is taken for gone",
        "--confirm-loss": "what is taken for gone",
        "--lease": "when it takes over",
        "--on-copy": "what is told to others",
        "--on-new-cluster": "what is told to others",
        "--alert-timeout": "what is told to others",
        "--alerts-a-minute": "what is told to others",
        "--alert-token-file": "what is told to others",
        "--once": "when it ends",
        "--status-port": "where its state is told",
        "--status-host": "where its state is told",
    },
    "decisions": {"--forget": "what is forgotten"},
    "undo": {"--yes": "whether it asks"},
    "batch dedupe": {
        "--kind": "the schemes and the rule",
        "--tag": "what is written",
        "--min-origins": "what is written",
        "--time-field": "the canonical documents; refused with another rule for these",
    },
    "batch sketch": {
        "--kind": "the schemes and the rule",
        "--time-field": "what is noted of documents",
        "--task": "what is read; refused with --run-on spark",
    },
    "batch filter": {
        "--clusters": "what is kept",
        "--tag": "what is written",
        "--min-origins": "what is written",
        "--unverified": "whether a simhash alone decides",
    },
    "batch passages": {
        "--words": "what is cut",
        "--least-left": "which documents are left",
        "--time-field": "which document is the first",
    },
    "serve": {
        "--host": "where it listens",
        "--port": "where it listens",
        "--allow-host": "what names it answers to",
        "--token-file": "who is answered",
        "--tls-certificate": "HTTPS; refused without the key",
        "--tls-key": "HTTPS; refused without the certificate",
        "--trust-network": "the addresses that are refused",
        "--threads": "how many are answered at once",
        "--waiting": "how many wait",
        "--timeout": "which requests are given up",
        "--max-request": "which requests are refused",
        "--mcp": "whether agents are answered",
    },
    "mcp": {"--threads": "how many are answered at once", "--waiting": "how many wait"},
    "batch load": {
        "--clusters": "what is stored",
        "--no-create": "the exit code where there is no store",
    },
}


def options(name: str) -> dict[str, click.Option]:
    """The options of a command by their long names."""
    return {max(each.opts, key=len): each for each in COMMANDS[name].params if isinstance(each, click.Option)}


def is_conditional(name: str, option: click.Option) -> bool:
    """Whether another option of the same command, or a kind of store, makes it idle."""
    if not isinstance(option, Related):
        return False
    known = {each.name for each in COMMANDS[name].params}
    partners = {other.partition("=")[0] for other in (*option.goes_with, *option.not_with)}
    return option.in_engine or bool(partners & known)


def test_it_is_said_of_each_option_where_it_has_its_effect() -> None:
    """An option that comes anew is entered above, or says in its declaration what makes it idle."""
    free = {
        (name, flag) for name in COMMANDS for flag, option in options(name).items() if not is_conditional(name, option)
    }
    said = {(name, flag) for name in COMMANDS for flag in options(name) if flag in EVERYWHERE} & free
    own = {(name, flag) for name, flags in OWN.items() for flag in flags}
    assert free - said - own == set(), "say where it has its effect"
    assert own - free == set(), "these are gone, or another option makes them idle"
    assert {flag for _, flag in said} == EVERYWHERE.keys()


IN_ENGINE = [
    (name, flag)
    for name in COMMANDS
    for flag, option in options(name).items()
    if isinstance(option, Related) and option.in_engine
]
# What each command wants beside.
WORDS = {
    "index": ["a.txt"],
    "delete": ["a.txt"],
    "batch load": ["batch"],
    "prune": ["--dry-run"],
}


@pytest.mark.parametrize(("name", "flag"), IN_ENGINE)
def test_what_is_for_an_engine_is_refused_for_a_file(neardup: Neardup, name: str, flag: str) -> None:
    option = options(name)[flag]
    value = [] if option.is_flag else ["none" if flag == "--refresh" else "x"]
    if name == "annotate":
        # No file is taken at all.
        return
    done = neardup(*name.split(), *WORDS.get(name, ()), flag, *value, "--store", "a.neardup", code=2)
    assert f"{flag} is for an index in a search engine; a.neardup is a file" in done.err
    assert not list(neardup.folder.iterdir())


def test_what_is_for_an_engine_may_stand_in_a_settings_file(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "neardup.toml": "refresh = 'none'\n[index]\nbulk-load = true\n"})
    neardup("index", "a.txt")
    assert neardup("delete", "a.txt", "--json").json["deleted"] == 1


@pytest.mark.parametrize("words", [("similar", "--text", "a b c"), ("pairs",)])
def test_a_file_has_no_filters(neardup: Neardup, words: tuple[str, ...]) -> None:
    write(neardup.folder, {"a.txt": prose(1)})
    neardup("index", "a.txt")
    assert "no query language" in neardup(*words, "--filter", "lang:en", code=2).err
    if words[0] == "similar":
        assert "this store is a file" in neardup(*words, "-k", "3", "--verify-in-engine", code=2).err


@pytest.fixture
def two(neardup: Neardup) -> Neardup:
    """A store of two documents that are alike, in clusters."""
    write(neardup.folder, {"a.txt": prose(1), "b.txt": changed(prose(1))})
    neardup("index", "a.txt", "b.txt")
    neardup("cluster")
    return neardup


@pytest.mark.parametrize("command", ["compare", "diff"])
def test_a_store_is_named_for_what_it_holds(two: Neardup, command: str) -> None:
    done = two(command, "a.txt", "b.txt", "--store", "collection.neardup", code=2)
    assert "--store does nothing with files alone, such as a.txt and b.txt; id:a.txt is the stored" in done.err
    two(command, "id:a.txt", "b.txt", "--store", "collection.neardup")
    two(command, "a.txt", "b.txt", NEARDUP_STORE="collection.neardup")


@pytest.mark.parametrize(
    "words", [("compare", "id:a.txt", "id:b.txt"), ("diff", "id:a.txt", "id:b.txt"), ("similar", "id:a.txt")]
)
def test_how_files_are_read_is_nothing_to_what_is_stored(two: Neardup, words: tuple[str, ...]) -> None:
    two(*words)
    for option in (["--format", "text"], ["--timeout", "9"], ["--content", "landmarks"]):
        done = two(*words, *option, code=2)
        assert f"{option[0]} says how files are read, and there is no file of this name: id:a.txt" in done.err
        two(*[word.removeprefix("id:") for word in words], *option)


def test_how_statistics_answer(two: Neardup) -> None:
    assert "--format does nothing with --json" in two("stats", "--format", "prometheus", "--json", code=2).err
    # What is nearer counts, as of any setting.
    write(two.folder, {"neardup.toml": "json = true\n"})
    assert two("stats").json["documents"] == 2
    assert "# TYPE" in two("stats", "--format", "prometheus").out
    write(two.folder, {"neardup.toml": "[stats]\nformat = 'prometheus'\n"})
    assert two("stats", "--json").json["documents"] == 2


def test_what_is_measured_on_files_needs_no_store(two: Neardup) -> None:
    truth = [{"id": name, "group": 1, "path": name} for name in ("a.txt", "b.txt")]
    write(two.folder, {"truth.jsonl": "\n".join(map(json.dumps, truth)), "pairs.jsonl": '{"a": "a.txt", "b": "b.txt"}'})
    for option in (["--sample", "2"], ["--store", "collection.neardup"]):
        done = two("evaluate", "--documents", "a.txt", "--documents", "b.txt", *option, code=2)
        assert f"{option[0]} does nothing with --documents" in done.err
        done = two("evaluate", "truth.jsonl", *option, code=2)
        assert f"{option[0]} does nothing with truth.jsonl: it names the files of its documents" in done.err
        two("evaluate", "pairs.jsonl", *option)
    for option in (["--alike", "0.7"], ["--right", "0.4"]):
        assert f"{option[0]} does nothing with TRUTH" in two("evaluate", "pairs.jsonl", *option, code=2).err
        two("evaluate", *option)


def test_a_dry_run_of_index_answers_in_json(neardup: Neardup) -> None:
    write(neardup.folder, {"docs/a.txt": prose(1), "docs/b.txt": prose(2)})
    listed = neardup("index", "docs", "--dry-run", "--json").lines
    assert [line["id"] for line in listed] == ["docs/a.txt", "docs/b.txt"]
    assert [line["source"] for line in listed] == [str(neardup.folder / line["id"]) for line in listed]


def test_members_are_no_part_of_figures(two: Neardup) -> None:
    for form in ("csv", "md"):
        done = two("report", "--format", form, "--members", "1", code=2)
        assert "--members goes with --format html or --format json" in done.err
    whole, one = (
        two("report", "--format", "json", "--members", number).json["largest"][0]["members"] for number in ("2", "1")
    )
    assert (len(whole), len(one)) == (2, 1)


def test_a_time_is_for_the_earliest_document(neardup: Neardup) -> None:
    pytest.importorskip("pyarrow")
    write(neardup.folder, {"a.jsonl": json.dumps({"text": prose(1), "at": "2024"})})
    words = ("batch", "dedupe", "a.jsonl", "--out", "kept", "--time-field", "at", "--canonical")
    assert "--time-field is for --canonical earliest" in neardup(*words, "longest", code=2).err
    neardup(*words, "earliest")
