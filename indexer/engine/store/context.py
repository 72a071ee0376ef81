"""The state shared by the parts of a store."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import is_stream, reading_path
from indexer.engine.index import bulk_load
from indexer.engine.index.bodies import Bodies
from indexer.engine.index.files import new_index
from indexer.engine.index.keys_beside import KeysBeside
from indexer.engine.index.mapping import IndexMapping, Mappings, named, read_mappings
from indexer.engine.index.side_index import clusters_index, decisions_index, failures_index, require_sides
from indexer.errors import NoStoreError, StoreError
from indexer.model import Ref
from indexer.model.times import Refresh
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores.base import Contended, StoreInfo
from indexer.stores.sketches import is_new


class Context:
    """An open store: a client's index, alias, data stream or pattern, and its current state.

    With `create` a missing index is made, unless the store is only read. Raises StoreError if there is no store,
    IncompatibleStoreError if it can't be compared with `create`.
    """

    info: StoreInfo
    bodies: Bodies

    def __init__(self, client: Client, create: StoreInfo | None = None, *, read_only: bool = False) -> None:
        self.client, self.read_only, self.closed = client, read_only, False
        self.name, self.shown = client.target.name, client.target.shown
        # The path that searches are sent to.
        self.path = reading_path(self.name)
        self.refresh: Refresh = "wait"
        self.contended = Contended()
        self.stripped: list[Ref] = []
        # The query that lookups and scans of sketches are narrowed by.
        self.narrowing: Mapping[str, Any] | None = None
        # Counts what was written here, so that others can tell whether they know the latest.
        self.changes = 0
        # True if documents were written that no search shows yet.
        self.unseen = False
        self._put_back = False
        self.mappings = self.read_mappings()
        self.created = not self.mappings and create is not None and not read_only
        if create is not None and self.created:
            self._make(create)
            self.mappings = self.read_mappings()
        self.describe(self._read_info())
        if create is not None:
            self.info.require_comparable(create, self.shown)
        self.single = list(self.mappings) == [self.name]
        self.data_stream = not self.single and is_stream(self.mappings)
        self.failures, self.clusters = failures_index(client), clusters_index(client)
        self.decisions = decisions_index(client)
        self.beside = KeysBeside(client, lambda: list(self.mappings), lambda: self.bodies)

    # What the mappings say

    def read_mappings(self) -> Mappings:
        return read_mappings(self.client, self.path)

    def mapping_of(self, index: str) -> IndexMapping:
        return self.mappings.get(index) or self.read_mappings().get(index) or IndexMapping(index, {})

    def read_again(self) -> None:
        self.mappings = self.read_mappings()
        self.describe(self._read_info())

    def describe(self, info: StoreInfo) -> None:
        self.info = info
        self.bodies = Bodies(info, [mapping.fields for mapping in self.mappings.values()])

    def _make(self, info: StoreInfo) -> None:
        if "*" in self.name or "," in self.name:
            raise StoreError(f"{self.shown}: there is no store, and a pattern can't make one; name one index")
        require_sides(self.client)
        try:
            self.client.request("PUT", f"/{self.path}", new_index(info))
        except AnswerError as error:
            # Another process may have made it in this moment.
            if error.kind != "resource_already_exists_exception":
                raise StoreError(f"{self.shown}: can't make the index: {error.reason}") from error

    def _read_info(self) -> StoreInfo:
        if not self.mappings:
            raise NoStoreError(
                f"{self.shown}: there is no store; index some documents first, or `neardup setup --store {self.shown}` "
                "makes one"
            )
        known = self.mappings.infos(self.shown)
        if not known:
            raise StoreError(
                f"{self.shown}: there is no store; the index is there without neardup's fields: "
                f"`neardup setup --store {self.shown}` adds them"
            )
        first = next(iter(known.values()))
        for index, info in known.items():
            self.mappings[index].require_current(self.shown)
            first.require_comparable(info, f"{self.shown} ({index})")
        schemes: list[SchemeInfo] = []
        for index, info in known.items():
            schemes += [one for one in info.schemes if is_new(schemes, one, f"{self.shown} ({index})")]
        return dataclasses.replace(first, schemes=tuple(schemes))

    def ref(self, hit: Mapping[str, Any]) -> Ref:
        return Ref(hit["_id"], "" if self.single else hit["_index"], hit.get("_routing"))

    # What may be done

    def require_open(self) -> None:
        if self.closed:
            raise StoreError(f"{self.shown}: the store is closed")

    def require_writable(self) -> None:
        self.require_open()
        if self.read_only:
            raise StoreError(f"{self.shown}: the store was opened read-only")
        if "*" in self.name or "," in self.name:
            raise StoreError(f"{self.shown}: is a pattern and can only be read; write to one index, alias or stream")
        self.put_back()

    def require_mapped(self, schemes: Sequence[SchemeInfo] = (), *, anew: bool = False) -> None:
        """Raise StoreError if an index behind the name lacks neardup's fields: a write would guess their types."""
        if anew and not self.single:
            names = self.client.request("GET", f"/{self.path}/_settings/index.creation_date")
            if not names.keys() <= self.mappings.keys():
                self.mappings = self.read_mappings()
                self.describe(self.info)
        bare = self.mappings.lacking(self.shown, schemes)
        if bare:
            raise StoreError(
                f"{self.shown}: {named(bare)} without neardup's fields, so nothing is written through this "
                f"name; `neardup setup --store {self.shown}` adds them"
            )

    def put_back(self) -> None:
        if not self._put_back:
            self._put_back = True
            bulk_load.restore_left(self.client, self.mappings)

    # What searches show

    def wrote(self) -> None:
        self.changes += 1
        if self.refresh == "true":
            self.settle()

    def settle(self) -> None:
        if self.unseen:
            # What another thread writes meanwhile has to be refreshed again.
            self.unseen = False
            try:
                self.show()
            except BaseException:
                self.unseen = True
                raise
        self.failures.settle()
        self.clusters.settle()
        self.decisions.settle()
        self.beside.settle()

    def show(self) -> None:
        self.client.request("POST", f"/{self.path}/_refresh")
