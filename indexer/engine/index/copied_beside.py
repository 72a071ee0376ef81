"""Rows of copied passages beside an index, for dashboards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.bulk import BATCH_RECORDS
from indexer.engine.index.bodies import ROOT
from indexer.engine.index.side_index import TERM, Pages, SideIndex, passing, readable
from indexer.model.chunking import chunks
from indexer.model.copied import CopiedRow
from indexer.model.times import now

_NUMBER = {"type": "long"}
_DATE = {"type": "date", "ignore_malformed": True}
# So much of a passage is kept: it is there to be recognised.
_LETTERS = 1000
COPIED_PROPERTIES: Mapping[str, Any] = {
    **dict.fromkeys(("kind", "source", "first_in", "then_in"), TERM),
    # By the name that documents and clusters have, so that one filter narrows all of them.
    ROOT: {"properties": {"origin": TERM}},
    "text": {"type": "text"},
    "document": {"properties": dict.fromkeys(("id", "index", "routing"), TERM)},
    **dict.fromkeys(("words", "documents", "origins", "longest", "variants", "in_passages", "run"), _NUMBER),
    "share": {"type": "float"},
    "boilerplate": {"type": "boolean"},
    **dict.fromkeys(("first_indexed_at", "made_at"), _DATE),
}


def copied_index(client: Client) -> SideIndex[Mapping[str, Any]]:
    return SideIndex(client, "passages", COPIED_PROPERTIES, lambda body: body, lambda source: source)


def replace_copied(client: Client, rows: Iterable[CopiedRow], pages: Pages) -> int:
    """Replace the rows of all earlier runs; returns how many. `pages` is the store's way to page.

    Earlier ones go after all new ones are there, so readers never find none.
    """
    side, made_at, count = copied_index(client), now(), 0
    run = _latest(client, side) + 1
    side.make()
    for some in chunks(rows, BATCH_RECORDS):
        side.put((row.id, {**_body(row), "run": run, "made_at": made_at}) for row in some)
        count += len(some)
    side.settle()
    older = {"query": {"range": {"run": {"lt": run}}}, "_source": False, "seq_no_primary_term": True}
    for hits in pages(older, BATCH_RECORDS, path=side.name):
        side.delete_unchanged(hits)
    side.settle()
    return count


def _latest(client: Client, side: SideIndex[Mapping[str, Any]]) -> int:
    if not side.exists():
        return 0
    client.request("POST", f"/{side.name}/_refresh")
    body = {"size": 0, "aggs": {"latest": {"max": {"field": "run"}}}}
    return int(client.search(side.name, body)["aggregations"]["latest"]["value"] or 0)


def _body(row: CopiedRow) -> dict[str, Any]:
    texts = {name: value[:_LETTERS] if name == "text" else value for name, value in row.texts.items()}
    body: dict[str, Any] = {"kind": row.kind, **readable(texts), **row.numbers}
    body[ROOT] = {"origin": [passing(name) for name in row.origins]}
    if row.ref:
        body["document"] = readable({"id": row.ref.id, "index": row.ref.index, "routing": row.ref.routing})
    return body
