"""A collection whose texts stay keeps its times of arrival and its clusters in engines too; its figures."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from indexer import open_store
from indexer.cli import cli
from indexer.engine.store import reading
from tests.engines.annotated import annotate, fill, write
from tests.engines.servers import Server
from tests.lived import ADDED, STEPS, Collection, Kept, live, steps_of, text_of
from tests.stores.made import INFO, put, record

NUMBERS = itertools.count()
# A failure is printed with what makes it again; to look for a shorter one takes too long on an engine.
RANDOM = settings(
    max_examples=12 if os.environ.get("NEARDUP_ALL") else 2,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    print_blob=True,
    # Each example has an index of its own.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@RANDOM
@given(st.booleans(), STEPS)
@example(False, [("spaced", 3), ("loaded", 0), ("scheme", 0), ("moved", 0), ("come", 1), ("raised", 2)])
def test_arrival_and_clusters_stay_while_texts_do(
    server: Server, index_name: str, by_batch: bool, steps: Sequence[tuple[str, int]]
) -> None:
    with TemporaryDirectory() as folder:
        first = Path(folder) / "first"
        first.mkdir()
        live(Collection(first, f"{server.url}/{index_name}-{next(NUMBERS)}", by_batch), steps)


@dataclass
class Owned(Kept):
    """An index of documents that others own, whose records lie in it, or in one beside it with `beside`."""

    server: Server
    index: str
    beside: bool
    texts: dict[str, str] = field(default_factory=lambda: {f"d{number}": text_of(number) for number in range(7)})
    arrived: dict[str, str] = field(default_factory=dict)
    clusters: object = None

    def __post_init__(self) -> None:
        fill(self.server, self.index, {name: {"body": text, "lang": "en"} for name, text in self.texts.items()})
        self.annotate("--field", "body")
        self.settle()

    @property
    def store(self) -> str:
        return f"{self.server.url}/{self.index}{'-records' * self.beside}"

    def annotate(self, *flags: str) -> None:
        to = ("--to", f"{self.index}-records") if self.beside else ()
        annotate(f"{self.server.url}/{self.index}", *to, *flags)

    def update(self, number: int, values: dict[str, str]) -> None:
        """What an owner does who keeps the other fields of a document."""
        path = f"/{self.index}/_update/{sorted(self.texts)[number % len(self.texts)]}?refresh=true"
        assert "error" not in self.server.request("POST", path, {"doc": values})
        self.annotate()

    def other(self, number: int) -> None:
        """Another field changes."""
        self.update(number, {"lang": f"l{number}"})

    def raised(self, number: int) -> None:
        """The same words come, the last of them in other case; the title, the beginning, may name a cluster."""
        name = sorted(self.texts)[number % len(self.texts)]
        self.texts[name] = self.texts[name][:-99] + self.texts[name][-99:].swapcase()
        self.update(number, {"body": self.texts[name]})

    def all(self, number: int) -> None:
        """Everything is looked at, or computed, again."""
        self.annotate(("--all", "--again")[number % 2])

    def scheme(self, number: int) -> None:
        """One more scheme."""
        self.annotate("--scheme", ADDED[number % len(ADDED)])

    def written(self, number: int) -> None:
        """The owner writes a document anew, with which goes what was noted in it: it comes anew."""
        name = sorted(self.texts)[number % len(self.texts)]
        write(self.server, self.index, name, {"body": self.texts[name], "lang": "en"}, refresh="true")
        self.annotate()
        if not self.beside:
            self.settle_beside(name)

    def come(self, number: int) -> None:
        """A new document, after which clusters are made."""
        name = f"e{number:02}"
        self.texts.setdefault(name, text_of(number))
        write(self.server, self.index, name, {"body": self.texts[name], "lang": "en"}, refresh="true")
        self.annotate()
        self.settle_beside(name)


@RANDOM
@given(st.booleans(), steps_of("other", "raised", "all", "scheme", "written", "come"))
@example(False, [("other", 0), ("raised", 3), ("all", 0), ("scheme", 0), ("written", 6)])
def test_the_same_of_documents_that_others_own(
    server: Server, index_name: str, beside: bool, steps: Sequence[tuple[str, int]]
) -> None:
    live(Owned(server, f"{index_name}-{next(NUMBERS)}", beside), steps)


def test_an_estimate_of_distinct_fingerprints_is_called_one(
    server: Server, index_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.url}/{index_name}"
    with open_store(url, create=INFO) as store:
        put(store, *[record(f"{number}", number) for number in range(5)])

    def said() -> str:
        done = CliRunner().invoke(cli, ["stats", "--store", url])
        [line] = [line for line in done.output.splitlines() if line.startswith("fingerprinted")]
        return line.split(None, 1)[1]

    assert said() == "5, of them 5 distinct"
    monkeypatch.setattr(reading, "_PRECISION", 2)
    assert said() == "5, of them about 5 distinct"
