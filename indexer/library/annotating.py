"""Fingerprints for documents that are already in an index of a search engine."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from urllib.parse import quote

from indexer.engine.client.connection import connect
from indexer.engine.documents.annotating import AnnotationSummary
from indexer.engine.documents.annotating import annotate as run
from indexer.engine.documents.fields import AnnotateOptions
from indexer.errors import UsageError
from indexer.library.opening import Follow
from indexer.library.options import Annotating, Fingerprinting, Refresh, WorkerLimits
from indexer.library.outcomes import AnnotatedDocuments
from indexer.matching.kept import schemes_of_new
from indexer.model.paths import store_file
from indexer.text.hiding import shown_name


def annotate(
    store: str,
    annotating: Annotating = Annotating(),
    making: Fingerprinting = Fingerprinting(),
    worker: WorkerLimits = WorkerLimits(),
    *,
    refresh: Refresh = "wait",
    following: Follow = nullcontext,
) -> AnnotatedDocuments:
    """Fingerprint the documents of an index from their own fields, as `neardup annotate` does.

    What was done is not done again. `following` is called with the counts of the run, and what it gives is entered.
    Raises StoreError where that would harm the documents of the index's owner, UsageError for a field that is not there
    and for a store that is no index.
    """
    if store_file(store):
        raise UsageError(
            f"{shown_name(store)}: only an index in a search engine has documents to annotate; name "
            "https://host:9200/INDEX"
        )
    wanted = AnnotateOptions(
        fields=annotating.field,
        html=annotating.html and bool(annotating.field),
        fields_changed=annotating.fields_changed,
        source_field=annotating.source_field,
        title_field=annotating.title_field,
        everything=annotating.all,
        dry_run=annotating.dry_run,
        allow_version_change=annotating.allow_version_change,
        docs_per_second=annotating.docs_per_second,
        slices=annotating.slices,
        jobs=making.processes,
        min_tokens=making.min_tokens,
        content=annotating.content,
        limits=worker.limits,
        refresh=refresh,
        schemes=making.scheme,
        new_schemes=tuple(schemes_of_new(making.schemes, making.scheme, made=False)),
        exactly=None if making.schemes is None else tuple(schemes_of_new(making.schemes)),
    )
    summary = AnnotationSummary()
    with ExitStack() as stack:
        client = connect(store)
        stack.callback(client.close)
        aside = None
        if annotating.to is not None:
            aside = connect(_beside(store, annotating.to))
            stack.callback(aside.close)
        stack.enter_context(following(summary))
        run(client, wanted, aside=aside, summary=summary)
        shown, to = client.target.shown, aside.target.shown if aside else None
    return AnnotatedDocuments.of(summary, store=shown, to=to, dry_run=wanted.dry_run, seconds=round(summary.seconds, 3))


def _beside(store: str, name: str) -> str:
    # What stands before an "@" may be a password.
    if set("/*,:@") & set(name):
        raise UsageError(f"--to {shown_name(name)}: name one index of the same engine")
    return f"{store.rstrip('/').rpartition('/')[0]}/{quote(name, safe='')}"
