"""What the sketch costs: the lean form, with the simhash alone, beside the form of a new store.

Run as `python -m tests.benchmarks price [--documents N] [--cluster URL]`; URL is a cluster, in which two indices are
made and deleted again.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from indexer.engine.client.connection import connect
from indexer.engine.setup.provision import Provision
from indexer.extract.base import Extracted
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.outcomes import record_of
from indexer.ingest.sketching import sketch_document
from indexer.ingest.sources import Selection, Sources
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import default_rule
from indexer.model import Document, Record, Ref
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.stores import Store
from tests.benchmarks.engines import settled

_BATCH, _WORDS, _ASKED = 5000, 300, 1000
FORMS: dict[str, tuple[str, ...]] = {"lean": (), "default": ("minhash",)}
# The default form in an index that is there already: its payloads have doc values.
IN_PLACE = "in-place"


def run(
    shared_data: Path | None = None, documents: int = 50_000, cluster: str | None = None
) -> dict[str, dict[str, float]]:
    """Measure and print; by form: seconds to put and to ask, bytes a document, and seconds to index real pages."""
    forms = FORMS | ({IN_PLACE: FORMS["default"]} if cluster else {})
    found: dict[str, dict[str, float]] = {name: {} for name in forms}
    with tempfile.TemporaryDirectory() as folder:
        names = {name: f"{cluster}/price-{name}" if cluster else str(Path(folder, f"{name}.neardup")) for name in forms}
        try:
            _fill(names, documents, found)
            for name, schemes in forms.items():
                with open_store(names[name], read_only=True) as store:
                    found[name]["bytes a document"] = bytes_of(names[name], store) / documents
                    found[name]["lookup, ms"] = _ask(store, [registry.scheme(each) for each in schemes], documents)
        finally:
            if cluster:
                remove(names.values())
    if shared_data is not None and not cluster:
        _index(shared_data / "html" / "mixed", found)
    print(f"{documents:,} documents of {_WORDS} words; in brackets: beside the lean form")
    for what, lean in found["lean"].items():
        others = (f"{name} {found[name][what]:12,.2f} ({found[name][what] / lean:.2f})" for name in [*forms][1:])
        print(f"{what:28} lean {lean:12,.2f}", *others, sep="   ")
    return found


def _fill(names: dict[str, str], documents: int, found: dict[str, dict[str, float]]) -> None:
    """Put the same documents into both, part by part in turn."""
    made = {name: [registry.scheme(each) for each in FORMS.get(name, FORMS["default"])] for name in names}
    opened: dict[str, Store] = {}
    try:
        for name, schemes in made.items():
            if name == IN_PLACE:
                _set_up(names[name], schemes)
            opened[name] = open_store(names[name], create=store_info("landmarks", schemes))
        spent = dict.fromkeys(names, 0.0)
        for first in range(0, documents, _BATCH):
            for name, store in opened.items():
                part = list(_records(range(first, min(first + _BATCH, documents)), made[name]))
                begin = time.perf_counter()
                for _ in store.put(part):
                    pass
                spent[name] += time.perf_counter() - begin
        for name, seconds in spent.items():
            found[name]["put, documents/s"] = documents / seconds
    finally:
        for store in opened.values():
            store.close()


def _set_up(name: str, schemes: Sequence[Scheme]) -> None:
    """Make an index, then let neardup into it."""
    client = connect(name)
    try:
        client.request("PUT", f"/{client.target.name}", {"mappings": {"properties": {"body": {"type": "text"}}}})
        provision = Provision(client)
        list(provision.carry_out(provision.set_up(store_info("landmarks", schemes))))
    finally:
        client.close()


def bytes_of(name: str, store: Store) -> int:
    """The bytes of a store on disk; of an index merged into one segment."""
    if store.embedded:
        return store.stats().bytes_on_disk
    client = connect(name)
    try:
        return settled(client, client.target.name)
    finally:
        client.close()


def _text(number: int) -> str:
    draw = random.Random(number)
    return " ".join(f"word{draw.randrange(50_000)}" for _ in range(_WORDS))


def _records(numbers: Sequence[int], schemes: Sequence[Scheme]) -> Iterator[Record]:
    for number in numbers:
        title = f"The title of document {number}"
        document = Document(_text(number), title, "html", "lexbor 2.4", size=20_000)
        source_digest = hashlib.sha256(str(number).encode()).hexdigest()[:32]
        name = f"collection/{number % 1000:03d}/document-{number:09d}.html"
        yield record_of(
            Extracted(None, document, sketch_document(schemes, document)), Ref(name), source_digest, min_tokens=0,
            source=name, indexed_at="2026-01-01T00:00:00Z",
        )  # fmt: skip


def _ask(store: Store, schemes: Sequence[Scheme], documents: int) -> float:
    """Milliseconds of a lookup by the store's own rule."""
    draw = random.Random(1)
    rule = default_rule(store)
    [*asked] = _records([draw.randrange(documents) for _ in range(_ASKED)], schemes)
    for record in asked[:100]:
        lookup(store, rule, Question("", record=record))
    begin = time.perf_counter()
    for record in asked:
        lookup(store, rule, Question("", record=record))
    return 1000 * (time.perf_counter() - begin) / len(asked)


def _index(folder: Path, found: dict[str, dict[str, float]]) -> None:
    """Seconds of indexing real pages with one worker, the faster of two runs in turn."""
    for _ in range(2):
        for name, schemes in FORMS.items():
            made = [registry.scheme(each) for each in schemes]
            with tempfile.TemporaryDirectory() as place:
                info = store_info("landmarks", made)
                with open_store(Path(place, "pages.neardup"), create=info) as store:
                    begin = time.perf_counter()
                    index(Sources([str(folder)], Selection(base=str(folder))), store, Settings(jobs=1, schemes=made))
                    seconds = time.perf_counter() - begin
            label = "index real pages, s"
            found[name][label] = min(seconds, found[name].get(label, seconds))


def remove(names: Iterable[str]) -> None:
    """Delete the indices of these URLs, with all that neardup keeps beside them."""
    for name in names:
        client = connect(name)
        try:
            provision = Provision(client)
            list(provision.carry_out(provision.removal()))
            client.request("DELETE", f"/{client.target.name}", ignore_unavailable="true")
        finally:
            client.close()


def main(arguments: Sequence[str]) -> None:
    """Run with the options of the command line."""
    from tests.benchmarks.__main__ import SHARED_DATA

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks price", description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=50_000, metavar="N")
    parser.add_argument("--cluster", metavar="URL")
    options = parser.parse_args(arguments)
    run(SHARED_DATA if SHARED_DATA.is_dir() else None, options.documents, options.cluster)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
