"""Collections that are handled for a while without a change of their texts, and what has to stay meanwhile."""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from indexer.batch.clusters.clustering import ClusteringOptions
from indexer.batch.clusters.clustering import cluster as cluster_batch
from indexer.batch.form import Form, Making
from indexer.batch.loading import Batch, load
from indexer.batch.reading import rule_of
from indexer.batch.sketches.parts import parts_of
from indexer.batch.sketches.sketching import sketch
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.clusters import cluster
from indexer.extract.base import Limits
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Selection, Sources
from indexer.library.batches import destination
from indexer.library.opening import open_store
from indexer.matching.rule import parse_rule
from indexer.schemes import registry
from tests.cli.written import changed, prose

RULE = "simhash-doc@3bits/minhash@0.6+minhash@0.6"
ADDED = ("supershingles", "passages")
NAMES = [f"{folder}{name}.txt" for folder in ("", "b/", "a/") for name in "xy"]


def steps_of(*happen: str) -> st.SearchStrategy[list[tuple[str, int]]]:
    """Histories: what happens to a collection, and a number that says to which document or with which scheme."""
    return st.lists(st.tuples(st.sampled_from(happen), st.integers(0, 99)), max_size=7)


STEPS = steps_of("spaced", "raised", "touched", "scheme", "moved", "loaded", "come")


def text_of(number: int) -> str:
    """The texts of three clusters, and of documents that come into them."""
    return changed(prose(number % 3), number // 3)


class Kept(ABC):
    """Documents in a store, of each of which the time when it came is remembered, and the clusters."""

    arrived: dict[str, str]
    clusters: object

    @property
    @abstractmethod
    def store(self) -> str: ...

    def name_of(self, number: int) -> str:
        return sorted(self.arrived)[number % len(self.arrived)]

    def settle(self) -> None:
        """Make clusters, and remember them."""
        with open_store(self.store) as store:
            cluster(store, parse_rule(RULE, store), relation=None, threads=1)
        self.arrived, self.clusters = self.seen()

    def settle_beside(self, may_change: str) -> None:
        """The same where only this document came, or came anew; no other one is older or younger for it."""
        before = self.arrived
        self.settle()
        for name, at in before.items():
            assert self.arrived[name] == at or name == may_change, name

    def seen(self) -> tuple[dict[str, str], object]:
        with open_store(self.store, read_only=True) as store:
            arrived = {record.ref.id: record.arrived_at for record in store.scan()}
            members = {ref.id: dict(said["cluster"]) for ref, said in store.scan_annotations() if said.get("cluster")}
            for known in members.values():
                # For dashboards alone, with the whole path.
                known.pop("repeats_origin", None)
            return arrived, (members, [(one.id, one.canonical, one.size) for one in store.clusters()])

    def require_unchanged(self) -> None:
        """Fail unless each document came when it came, and clusters are what they were and stay so."""
        assert self.seen() == (self.arrived, self.clusters)
        with open_store(self.store) as store:
            done = cluster(store, parse_rule(RULE, store), relation=None, threads=1).changes
        assert (done.documents, done.clusters, done.removed) == (0, 0, 0)
        assert self.seen() == (self.arrived, self.clusters)


@dataclass
class Collection(Kept):
    """A folder of texts and its store, at `url` or in a file of the folder, where every text was seen once."""

    folder: Path
    url: str = ""
    by_batch: bool = False
    schemes: list[str] = field(default_factory=lambda: ["minhash"])
    arrived: dict[str, str] = field(default_factory=dict)
    clusters: object = None
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        for number, name in enumerate(NAMES):
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.path(name).write_text(text_of(number))
        if self.by_batch:
            self.loaded(0)
        else:
            self.index()
        self.settle()

    @property
    def store(self) -> str:
        return self.url or os.fspath(self.folder / "s.neardup")

    def path(self, name: str) -> Path:
        return self.folder / "in" / name

    @property
    def selection(self) -> Selection:
        return Selection(base=os.fspath(self.folder), id_from="relative")

    def index(self) -> None:
        """Bring the files into the store again."""
        made = [registry.scheme(name) for name in self.schemes]
        with open_store(self.store, create=store_info("landmarks", made)) as store:
            sources = Sources([os.fspath(self.folder / "in")], self.selection)
            done = index(sources, store, Settings(jobs=0, schemes=made))
            assert not done.failures, done.first_failure

    # What happens

    def spaced(self, number: int) -> None:
        """The same words, with other white space between the last of them."""
        self.write(number, lambda end: end.translate({32: 10, 10: 32}))

    def raised(self, number: int) -> None:
        """The same words, the last of them in other case."""
        self.write(number, str.swapcase)

    def write(self, number: int, as_: Callable[[str], str]) -> None:
        """The text with another end; what names a cluster, its title and size, stays."""
        path = self.path(self.name_of(number))
        text = path.read_text()
        path.write_text(text[:-99] + as_(text[-99:]))
        self.index()

    def touched(self, number: int) -> None:
        """Another time of the file."""
        os.utime(self.path(self.name_of(number)), (number, number))
        self.index()

    def scheme(self, number: int) -> None:
        """One more scheme."""
        name = ADDED[number % len(ADDED)]
        if name not in self.schemes:
            self.schemes.append(name)
        self.index()

    def moved(self, number: int) -> None:
        """The folder, with a store that lies in it."""
        self.folder = self.folder.rename(self.folder.with_name(f"moved{number}-{next(self.numbers)}"))
        self.index()
        if self.url:
            # An engine keeps whole paths: clusters and what repeats have other origins, and nothing else is new.
            assert self.seen() == (self.arrived, self.clusters)
            with open_store(self.store) as store:
                assert not cluster(store, parse_rule(RULE, store), relation=None, threads=1).changes.removed

    def loaded(self, number: int) -> None:
        """The same documents by a batch, unless they came to the store in another order."""
        if len(self.arrived) > len(NAMES):
            return
        form = Form(tuple(registry.scheme(name).id for name in self.schemes))
        out = os.fspath(self.folder / f"batch{next(self.numbers)}-{number}")
        sources = Sources([os.fspath(self.folder / "in")], self.selection)
        sketch(sources, parts_of(sources, print), out, Making(form, Limits(), 1))
        cluster_batch(out, out, ClusteringOptions(rule_of(form, RULE), CanonicalRule(), threads=1))
        batch = Batch.of(out)
        with destination(self.store, batch.form.info) as target:
            load(batch, target.destination)

    def come(self, number: int) -> None:
        """A new document, after which clusters are made."""
        name = f"{'ab'[number % 2]}/{number:02}.txt"
        if not self.path(name).exists():
            self.path(name).write_text(text_of(number))
            self.index()
            self.settle_beside(name)


def live(collection: Kept, steps: Sequence[tuple[str, int]]) -> None:
    """Let this happen to a collection, and see after each step that all stays."""
    for step, number in steps:
        happens: Callable[[int], None] = getattr(collection, step)
        happens(number)
        collection.require_unchanged()
