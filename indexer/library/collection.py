"""A collection of documents, for programs to open, fill and query."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from indexer.errors import NoStoreError, UsageError, takes_named, takes_named_arguments
from indexer.extract.base import Content
from indexer.library.clusters import Clusters
from indexer.library.contents import Contents
from indexer.library.distinct_hits import Folding
from indexer.library.nearness import Nearness
from indexer.library.opening import DEFAULT_WAIT, Tell, opened, warned
from indexer.matching.store_schemes import schemes_of_new
from indexer.model import SIMHASH_DOC
from indexer.model.kinds import DOCUMENTS, KindName
from indexer.model.times import Refresh
from indexer.text.hiding import shown_name


@takes_named
def open(  # noqa: A001, PLR0913 - as `shelve.open` and others; they are options of the command
    store: str | os.PathLike[str],
    *,
    schemes: Sequence[str] | None = None,
    content: Content | None = None,
    kind: KindName | None = None,
    filter: str | None = None,  # noqa: A002
    read_only: bool = False,
    create: bool = True,
    wait: float = DEFAULT_WAIT,
    turns: bool = True,
    refresh: Refresh = "wait",
    tell: Tell = warned,
) -> Collection:
    """Open the collection in a store, a file or the URL of an index in an engine; `create` makes a new store.

    `schemes` are secondary schemes of sketches (see `neardup schemes`); an existing store gets missing ones. `content`
    selects the text of HTML, as in `neardup index`. `kind` is the kind of texts: "documents", "short" ones such as
    titles, "scans" read by OCR, or "pdfs" of several readers; a store stays of one kind. `filter` limits the collection
    to documents matching a query in the engine's syntax. With `read_only` nothing is ever written. A file has one
    writer at a time: processes sharing it take turns, one for each batch written, for a whole call that compares or
    clusters, and wait up to `wait` seconds for theirs. Without `turns` one keeps its turn from its first change to the
    end. In an engine `refresh` makes changes visible: at the end of a call ("wait"), also after each batch ("true"), or
    when the index refreshes itself ("none"). Warnings about the store are UserWarnings, unless `tell` takes the
    sentences. Raises StoreError, NoStoreError if there is no store and none is made, and UsageError.
    """
    how: dict[str, Any] = {"refresh": refresh, "wait": wait, "any_thread": True}
    try:
        target = opened(store, tell, read_only=read_only, **how)
    except NoStoreError:
        if read_only or not create:
            raise
        exactly = None if schemes is None else ",".join((SIMHASH_DOC, *schemes))
        made = schemes_of_new(exactly, kind=kind or DOCUMENTS)
        from indexer.ingest.indexing import store_info

        info = store_info(content or "landmarks", made, kind or DOCUMENTS)
        target = opened(store, tell, create=info, **how)
    try:
        if content is not None and content != target.info.content:
            raise UsageError(f"content={content!r}: the store holds fingerprints of {target.info.content!r}")
        if kind is not None and kind != target.info.kind:
            raise UsageError(f"kind={kind!r}: the store was made for {target.info.kind!r}; a store stays of one kind")
        if filter is not None:
            target.narrow(filter)
        if turns:
            target.take_turns()
        return Collection(target, shown_name(os.fspath(store)), schemes or (), tell)
    except BaseException:
        target.close()
        raise


@takes_named_arguments
class Collection(Contents, Nearness, Folding, Clusters):
    """Documents in a store, as returned by `open`; a context manager with `len()`, `in`, `[id]` and iteration.

    Threads may share a collection, but their calls take turns; for parallel questions each thread opens its own with
    `read_only`. A forked process must open its own. Ids are strings; in an engine INDEX/ID is also an id. `match` is
    always a rule as in `parse_rule`, None for the store's default. Every method raises StoreError if the store can't be
    read or written.
    """
