"""`neardup schemes` and `neardup corpus`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from indexer.cli.options.fields import field_options
from indexer.cli.options.groups import Related
from indexer.cli.options.paths import A_PATH
from indexer.cli.options.shared import extraction_options, jobs_option, json_option, opened, store_folder, store_option
from indexer.cli.terminal.output import answer, answer_json, fields, say, shown_store, size, table
from indexer.errors import NeardupError, StoreError, UsageError
from indexer.library.options import Extraction, NamedFields, content_of
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.extract.base import Content
    from indexer.ingest.gathering import GatheredCorpora
    from indexer.schemes.base import Scheme
    from indexer.stores import Store
    from indexer.text.corpus import Corpus
    from indexer.text.features import Recipe

_SAMPLE_WORDS = 500


@click.command(
    name="schemes",
    short_help="List all schemes, and those of a store.",
    epilog="""
\b
Examples:
  neardup schemes
  neardup schemes --store pages.neardup
  neardup schemes --store pages.neardup --remove minhash

A scheme turns a text into a sketch, and a sketch into keys. A new store keeps sketches of simhash-doc and minhash;
neardup index --scheme NAME adds others. "bytes" is the size of the payload of a document of 500 words, "keys" the
number of keys that are looked up and stored; "near from" is the threshold of a rule that names only the scheme.

With --json one object: schemes (name, summary, measure, parameters, tables, bytes, keys, agreeing, similarity,
near_from, corpus), broken (name and reason of each scheme of another package that can't be used), and with --store
also stored (name, id, documents).
""",
)
@click.option(
    "--store",
    type=A_PATH,
    metavar="FILE|URL",
    envvar="NEARDUP_STORE",
    help="Also list the schemes of this store.",
)
@click.option(
    "--remove",
    cls=Related,
    goes_with=["store"],
    allow_from_autoenv=False,
    metavar="NAME",
    help="With --store: remove a secondary scheme and its sketches.",
)
@click.option("--json", cls=Related, not_with=["remove"], is_flag=True, help="Answer in JSON.")
def schemes_command(store: str | None, remove: str | None, json: bool) -> None:
    """List all schemes: what each measures, its parameters, its costs; with --store also those of the store."""
    if remove is not None and store is not None:
        _remove(store, remove)
        return
    listed, broken = _listed()
    stored: list[dict[str, Any]] = []
    if store is not None:
        with opened(store, read_only=True) as source:
            stored = _stored(source)
    if json:
        answer_json({"schemes": listed, "broken": broken} | ({"stored": stored} if store is not None else {}))
        return
    for each in broken:
        say(f"{each['name']} can't be used: {each['reason']}", level="warning")
    columns = ("name", "near from", "bytes", "keys", "measure")
    table(columns, [[str(row[name.replace(" ", "_")]) for name in columns] for row in listed], right=columns[1:4])
    for row in listed:
        answer("")
        written = ",".join(f"{name}={value}" for name, value in row["parameters"].items())
        answer(f"{row['name']}  {row['summary']}")
        answer(f"    {written or 'no parameters'}" + ("; needs neardup corpus first" if row["corpus"] else ""))
    if store is not None:
        answer("")
        answer(f"{shown_store(store)} has:")
        table(
            ("name", "documents", "id"),
            [[e["name"], f"{e['documents']:,}", e["id"]] for e in stored],
            right=("documents",),
        )


def _listed() -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """All schemes that can be used, and those of other packages that can't, with the reason."""
    from indexer.schemes import registry

    listed: list[dict[str, Any]] = []
    broken: list[dict[str, str]] = []
    for family in registry.families():
        try:
            listed.append(_about(family))
        except (Exception, SystemExit) as error:
            if family in registry.FAMILIES:
                raise
            broken.append({"name": family, "reason": str(error) if isinstance(error, NeardupError) else repr(error)})
    return listed, broken


def _stored(source: Store) -> list[dict[str, Any]]:
    first, counts = source.info.scheme, source.sketch_counts()
    beside = [{"name": e.name, "id": e.id, "documents": counts.get(e.name, 0)} for e in source.info.schemes]
    return [{"name": first, "id": first, "documents": source.stats().fingerprinted}, *beside]


def _remove(store: str, name: str) -> None:
    with opened(store) as target:
        if name == target.info.scheme:
            raise UsageError(f"{name} is the store's first scheme, by which its documents are known; it stays")
        if all(known.name != name for known in target.info.schemes):
            raise UsageError(f"{shown_store(store)}: has no scheme {name!r}")
        target.remove_scheme(name)
    say(f"{name} and its sketches are removed from {shown_store(store)}")


def _about(family: str) -> dict[str, Any]:
    from indexer.schemes import registry

    corpora: list[str] = []

    def sample(name: str) -> Corpus:
        corpora.append(name)
        return _sample_corpus(name)

    made: Scheme = registry.scheme(family, sample)
    sketch = made.sketch(_sample_text())
    shown = {name: value for name, value in sorted(made.parameters.items()) if not (corpora and name == "corpus")}
    return {
        "name": family,
        "summary": made.summary,
        "measure": made.measure,
        "parameters": {name: str(value).lower() if isinstance(value, bool) else value for name, value in shown.items()},
        "tables": made.layout.tables,
        "bytes": len(sketch.payload) if sketch else 0,
        "keys": len(sketch.keys) if sketch else 0,
        "agreeing": made.agreeing,
        "similarity": round(made.default_similarity, 3),
        "near_from": made.written(made.default_similarity) if made.unit == "bits" else f"{made.default_similarity:.3g}",
        "corpus": corpora[0] if corpora else "",
    }


def _sample_text() -> str:
    """A made-up text with stop-words between, as long as a page."""
    words = (f"{['the', 'of', 'a', 'and', 'in', 'is'][n % 6]} word{n * 7919 % 997}" for n in range(_SAMPLE_WORDS // 2))
    return " ".join(words).replace("0", "o").replace("1", "i")


def _sample_corpus(name: str) -> Corpus:
    from indexer.text.corpus import gather

    text = _sample_text().split()
    return gather([" ".join(text[start::7]) for start in range(7)] + [_sample_text()], _recipe(name))


def _recipe(name: str) -> Recipe:
    from indexer.text.features import parse_recipe

    return parse_recipe(name.removeprefix("corpus."))


@click.command(
    short_help="Gather the statistics that some schemes need.",
    epilog="""
\b
Examples:
  neardup corpus --scheme i-match docs/
  neardup corpus --scheme simhash:weights=tfidf --from-store
  neardup index docs/ --scheme i-match

Schemes that weight or choose words by how many documents contain them need these counts first. The counts are kept in
the store, and their digest is part of the scheme's id, so that only fingerprints made with the same counts are
compared.

PATHs are read as by neardup index. With --from-store the stored documents are read again: their files, their lines of
JSON lines files, or the fields of an annotated index that --field names. Documents that can't be read are counted.
With --json one object: corpora (name, digest, documents, terms, bytes), documents, failed.
""",
)
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB|-]...")
@store_option
@click.option(
    "--scheme", multiple=True, required=True, metavar="NAME[:PARAM=VALUE,...]",
    help="The scheme that needs the statistics, as given to neardup index.",
)  # fmt: skip
@click.option(
    "--from-store", is_flag=True, help="Count the documents of the store, read again from where they came from."
)
@field_options
@jobs_option
@extraction_options
@json_option
def corpus(
    paths: tuple[str, ...],
    store: str,
    scheme: tuple[str, ...],
    from_store: bool,
    named_fields: NamedFields,
    jobs: int | None,
    extraction: Extraction,
    json: bool,
) -> None:
    """Count in how many documents each word occurs, and keep the counts in the store, for schemes that need them."""
    if bool(paths) == from_store:
        raise UsageError("name files or folders to count, or give --from-store")
    from indexer.ingest.from_store import stored_inputs
    from indexer.ingest.gathering import gather_corpora, require_unused
    from indexer.ingest.indexing import default_jobs, store_info
    from indexer.ingest.sources import Selection, Sources
    from indexer.library.indexing import begun

    wanted = named_fields.fields(stored=from_store)
    names = list(dict.fromkeys(_needed(specification) for specification in scheme))
    content = extraction.content or _content_of(store)
    columns = named_fields.columns.columns(extraction)
    selection = Selection(base=store_folder(store), line_limit=extraction.max_size, columns=columns)
    named = None if from_store else begun(Sources(paths, selection))
    if named is None and not from_store:
        raise UsageError("no document was found, so there is nothing to count")
    with opened(store, create=None if from_store else store_info(content)) as target:
        for name in names:
            require_unused(target, name)
        inputs = named or stored_inputs(target, target.scan(sketches=False), selection, wanted)
        recipes = [_recipe(name) for name in names]
        gathered = gather_corpora(
            inputs, recipes, extraction.options(content), extraction.limits, jobs or default_jobs()
        )
        if not gathered.documents:
            raise StoreError(
                "no document could be read, so there is nothing to keep; what was kept before stays" + _why(gathered)
            )
        made = [
            (name, specification, specification.to_bytes())
            for name, specification in zip(names, gathered.corpora, strict=True)
        ]
        for name, _, data in made:
            target.put_resource(name, data)
    if json:
        corpora = [
            {
                "name": name,
                "digest": e.digest,
                "documents": e.documents,
                "terms": int(e.hashes.size),
                "bytes": len(data),
            }
            for name, e, data in made
        ]
        answer_json({"corpora": corpora, "documents": gathered.documents, "failed": gathered.failures})
        return
    fields([("documents", f"{gathered.documents:,}"), ("failed", f"{gathered.failures:,}{_why(gathered)}")])
    for name, specification, data in made:
        fields([("corpus", f"{name}, {counted(specification.hashes.size, 'term')}, {size(len(data))}")])


def _why(gathered: GatheredCorpora) -> str:
    """The reasons of what could not be read, to be added to a sentence."""
    from indexer.ingest.from_store import explained

    reasons = "; ".join(f"{explained(reason)} ({count:,})" for reason, count in gathered.failed.most_common())
    return f": {reasons}" if reasons else ""


def _content_of(store: str) -> Content:
    try:
        with opened(store, read_only=True) as opened_store:
            return content_of(opened_store)
    except NeardupError:
        # What is wrong with it, if anything, is said when it is opened to be written.
        return "landmarks"


def _needed(specification: str) -> str:
    from indexer.schemes import registry

    family, parameters = registry.split(specification)
    needed = registry.scheme_class(family).needed(parameters)
    if not needed:
        raise UsageError(f"{specification}: needs no statistics of a corpus")
    return needed


COMMANDS = (schemes_command, corpus)
