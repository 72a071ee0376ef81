"""Set up an index of a search engine, and undo it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from itertools import chain
from urllib.parse import quote

from indexer.clustering.canonical import read_canonical
from indexer.engine.client.base import Client
from indexer.engine.client.connection import connect
from indexer.engine.client.names import reading_path
from indexer.engine.index.bodies import INDEXED_AT
from indexer.engine.index.mapping import read_mappings
from indexer.engine.index.side_index import copied_index, kept_index, notes_by_index, notes_index
from indexer.engine.index.source_fields import date_fields
from indexer.engine.setup.bulk_load import repairs
from indexer.engine.setup.dashboards import Dashboards
from indexer.engine.setup.pipelines import Pipelines, SearchTemplates
from indexer.engine.setup.provision import Provision, SetupStep
from indexer.errors import UsageError
from indexer.ingest.indexing import store_info
from indexer.library.engine_options import NewIndex, PipelineOptions
from indexer.library.outcomes import SetUp, SetupRequest
from indexer.matching.store_schemes import schemes_of_new
from indexer.model.kinds import DOCUMENTS
from indexer.model.paths import store_file
from indexer.stores.kept import CLUSTERS, FAILURES
from indexer.stores.schemes import require_exactly
from indexer.text.hiding import shown_name


def setup(  # noqa: PLR0913 - they are options of the command
    store: str,
    new: NewIndex = NewIndex(),
    pipelines: PipelineOptions = PipelineOptions(),
    *,
    search_templates: bool = False,
    dashboards: str | None = None,
    space: str = "",
    remove: bool = False,
    repair: bool = False,
    dry_run: bool = False,
    for_new: Collection[str] = (),
    confirm: Callable[[Mapping[str, int]], object] | None = None,
    told: Callable[[str], object] | None = None,
) -> SetUp:
    """Set up the index of a URL, as `neardup setup` does; doing it again changes nothing.

    With `remove` neardup's additions are taken away, with `repair` the settings left by a killed bulk load are
    restored. `search_templates` are requests for applications to send by name; `dashboards` is the URL of Kibana or
    OpenSearch Dashboards, whose panel over time goes by the dates of the last clustering, and `space` a space or tenant
    there. A dry run plans the requests, and sends none that changes anything. An existing index ignores the options of
    `new` named in `for_new`. `confirm` is called with the indices to delete as a whole and their numbers of documents,
    and raises to stop; `told` is called with a sentence for each finished step. Raises UsageError and StoreError.
    """
    if repair and remove:
        raise UsageError("--repair and --remove can't be combined")
    if store_file(store):
        raise UsageError(
            f"{shown_name(store)}: an embedded store needs no set-up; name an index, like https://host:9200/INDEX"
        )
    with closing(connect(store)) as client:
        # A pattern can be read, so it can have dashboards.
        of_pattern = "*" in client.target.name and dashboards is not None
        if of_pattern and (pipelines.pipelines or search_templates):
            raise UsageError(f"{client.target.shown}: a pattern can have dashboards only; leave out the other options")
        provision = Provision(client, pattern=of_pattern)
        boards = Dashboards(dashboards, provision.name, space=space, time=_time_field(client)) if dashboards else None
        is_repaired = repair or (remove and not (pipelines.pipelines or search_templates))
        steps = repairs(client) if is_repaired else []
        if remove:
            steps += _removal(provision, pipelines, templates=search_templates, dashboards=boards is not None)
        elif of_pattern:
            steps += _sides_of_parts(store, client)
        elif not repair:
            steps += _steps(provision, new, pipelines, for_new)
            steps += SearchTemplates(client).set_up() if search_templates else []
            steps += _side_indices(client) if boards else []
        more = [] if boards is None else boards.removal() if remove else boards.set_up()
        whole = {step.deletes: provision.documents(step.deletes) for step in steps if step.deletes}
        if whole and confirm and not dry_run:
            confirm(whole)
        done: list[str] = []
        carried_out = chain(provision.carry_out(steps), boards.carry_out(more) if boards else ())
        for sentence in () if dry_run else carried_out:
            done.append(sentence)
            if told:
                told(sentence)
        requests = (
            SetupRequest(one.why, one.method, one.path, one.objects if one.body is None else one.body, one.request())
            for one in (*steps, *more)
        )
        return SetUp(client.target.shown, dry_run, tuple(requests), tuple(done))


def _time_field(client: Client) -> str:
    """The field with the dates of documents: of the last clustering, if the index has it, else the time of indexing."""
    notes = notes_by_index(notes_index(client)).values()
    times = {read_canonical(note.canonical).time for note in notes}
    dates = date_fields(read_mappings(client, reading_path(client.target.name)).values())
    return min(times & dates, default=INDEXED_AT)


def _steps(
    provision: Provision, new: NewIndex, pipelines: PipelineOptions, for_new: Collection[str]
) -> list[SetupStep]:
    kind = new.kind or provision.kind or DOCUMENTS
    wanted = schemes_of_new(new.schemes, kind=kind)
    info = store_info(new.content, wanted, kind)
    if new.schemes is not None and (there := provision.schemes()) is not None:
        require_exactly(wanted, there, ())
    exists = provision.exists
    numbers = {"shards": new.shards, "replicas": new.replicas}
    steps = provision.set_up(
        info, **{name: None if exists and name in for_new else value for name, value in numbers.items()}
    )
    if pipelines.pipelines:
        steps += Pipelines(provision.client).set_up(
            info, pipelines.field, default=pipelines.default_pipeline, final=pipelines.final_pipeline
        )
    return steps


def _side_indices(client: Client) -> list[SetupStep]:
    made = (kept_index(client, CLUSTERS), kept_index(client, FAILURES), copied_index(client))
    sides = [(side.name, side.making()) for side in made]
    return [
        SetupStep(f"make the index {name}, or add to its fields", "PUT", *wanted) for name, wanted in sides if wanted
    ]


def _sides_of_parts(store: str, client: Client) -> list[SetupStep]:
    """The indices beside each index and data stream of a pattern; of a pattern without one the panels show an error."""
    name, shown = client.target.name, client.target.shown
    known = read_mappings(client, reading_path(name)).infos(shown).keys()
    found = client.request("GET", f"/_resolve/index/{quote(name, safe='*,-')}")
    parts = {each["name"]: {each["name"]} for each in found["indices"]}
    parts |= {each["name"]: set(each["backing_indices"]) for each in found["data_streams"]}
    names = sorted(part for part, indices in parts.items() if indices & known)
    if not names:
        raise UsageError(f"{shown}: none of its indices has neardup's fields; annotate each of them first")
    steps = []
    for each in names:
        with closing(connect(f"{store.rstrip('/').rpartition('/')[0]}/{quote(each, safe='')}")) as part:
            steps += _side_indices(part)
    return steps


def _removal(provision: Provision, pipelines: PipelineOptions, *, templates: bool, dashboards: bool) -> list[SetupStep]:
    everything = not (pipelines.pipelines or templates or dashboards)
    steps = []
    if pipelines.pipelines or everything:
        steps += Pipelines(provision.client).removal(asked=not everything)
    if templates or everything:
        steps += SearchTemplates(provision.client).removal(asked=not everything)
    return steps + provision.removal() if everything else steps
