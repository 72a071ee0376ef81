"""What passages cost by the length of texts: bytes a word, words a second into a store, and lookups.

Run as `python -m tests.benchmarks long [--cluster URL [--owned]] [--words N]...`; URL is a cluster, in which two
indices are made and deleted again. With `--owned` one is an owner's, annotated in place, so that the keys of long texts
lie beside, and the other has its fingerprints (`annotate --to`). The texts are made of words at random, so that nearly
every key is held by one document only. Bytes are those that a store has more than one with the simhash alone. A part is
300 words in a row of a text, or all 50.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from indexer.engine.client.base import encoded
from indexer.engine.client.bulk import Action, batches, send
from indexer.engine.client.connection import connect
from indexer.ingest.indexing import store_info
from indexer.library.annotating import annotate
from indexer.library.engine_options import Annotating
from indexer.library.opening import open_store
from indexer.library.options import Fingerprinting, WorkerLimits
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import SIMHASH_DOC, Record, Ref
from indexer.schemes import registry
from indexer.stores import Store
from tests.benchmarks.engines import settled
from tests.benchmarks.price import bytes_of, remove

# Words of a text, and how many texts.
LENGTHS = {50: 20_000, 500: 2000, 50_000: 20, 1_000_000: 2}
_PART, _ASKED, _VOCABULARY = 300, 100, 50_000


def run(cluster: str | None = None, lengths: Sequence[int] = tuple(LENGTHS)) -> dict[int, dict[str, float]]:
    """Measure and print; by words of a text."""
    found = {}
    print(f"{'words':>10}{'keys a word':>13}{'bytes a word':>14}{'words/s put':>13}{'part, ms':>10}{'whole, ms':>11}")
    for words in lengths:
        found[words] = figures = _measured(words, LENGTHS[words], cluster)
        print(
            f"{words:10,}{figures['keys']:13.3f}{figures['bytes']:14.2f}{figures['put']:13,.0f}"
            f"{figures['part']:10.2f}{figures['whole']:11.2f}",
            flush=True,
        )
    return found


def _measured(words: int, count: int, cluster: str | None) -> dict[str, float]:
    scheme = registry.scheme("passages")
    draw = random.Random(words)
    texts = [" ".join(f"word{draw.randrange(_VOCABULARY)}" for _ in range(words)) for _ in range(count)]
    schemes = [registry.scheme(SIMHASH_DOC), scheme]
    sketches = [{each.family: made for each in schemes if (made := each.sketch(text))} for text in texts]
    records = [Record(Ref(f"{number}"), made) for number, made in enumerate(sketches)]
    keys = sum(len(record.sketches["passages"].keys) for record in records)
    sizes, spent = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{cluster}/long-{form}" if cluster else str(Path(folder, form)) for form in ("lean", "passages")]
        try:
            for name, kept in zip(names, ([], [scheme]), strict=True):
                some = records if kept else [_lean(record) for record in records]
                with open_store(name, create=store_info("landmarks", kept)) as store:
                    begin = time.perf_counter()
                    for result in store.put(some):
                        if result.reason:
                            raise ValueError(result.reason)
                    spent = time.perf_counter() - begin
                with open_store(name, read_only=True) as store:
                    sizes.append(bytes_of(name, store))
            with open_store(names[1], read_only=True) as store:
                chosen = [draw.choice(texts).split() for _ in range(_ASKED)]
                starts = [draw.randrange(max(1, words - _PART)) for _ in chosen]
                parts = [" ".join(text[at : at + _PART]) for text, at in zip(chosen, starts, strict=True)]
                asked = {
                    "part": [Question("", part) for part in parts],
                    "whole": [Question("", record=draw.choice(records)) for _ in range(_ASKED if words < 5000 else 5)],
                }
                took = {name: _took(store, questions, must=words > _PART) for name, questions in asked.items()}
        finally:
            if cluster:
                remove(names)
    total = words * count
    return {"keys": keys / total, "bytes": (sizes[1] - sizes[0]) / total, "put": total / spent, **took}


def owned(cluster: str, lengths: Sequence[int] = tuple(LENGTHS)) -> dict[int, dict[str, float]]:
    """Measure and print; by words of a text the bytes in the document, those beside, rates and lookups, also by `--to`.

    Rates are words a second, with reading and sketching.
    """
    found = {}
    name, to = "long-owned", "long-to"
    columns = f"{'words/s':>10}{'by --to':>10}{'part, ms':>10}{'by --to, ms':>13}"
    print(f"{'words':>10}{'bytes in place':>16}{'a word beside':>15}{columns}")
    for words in lengths:
        draw, count = random.Random(words), LENGTHS[words]
        texts = [" ".join(f"word{draw.randrange(_VOCABULARY)}" for _ in range(words)) for _ in range(count)]
        client = connect(f"{cluster}/{name}")
        try:
            client.request("PUT", f"/{name}", {"mappings": {"properties": {"body": {"type": "text", "index": False}}}})
            for some in batches(enumerate(texts), lambda each: len(each[1])):
                send(client, [Action("index", name, f"{n}", None, encoded({"body": text})) for n, text in some])
            making = Fingerprinting(scheme=("passages",))
            limits = WorkerLimits(timeout=300.0)
            rates = []
            for aside in (None, to):
                begin = time.perf_counter()
                annotate(f"{cluster}/{name}", Annotating(field=("body",), to=aside), making, limits)
                rates.append(words * count / (time.perf_counter() - begin))
            keys = settled(client, f"neardup-{name}-keys") if words > _PART * 10 else 0
            body = {"size": 100, "_source": ["neardup"]}
            hits = client.search(name, body)["hits"]["hits"]
            figures = {
                "in place": max(len(encoded(hit["_source"]["neardup"])) for hit in hits),
                "beside": keys / (words * count),
                "rate": rates[0],
                "rate to": rates[1],
            }
            starts, split = [draw.randrange(max(1, words - _PART)) for _ in range(_ASKED)], texts[0].split()
            parts = [" ".join(split[at : at + _PART]) for at in starts]
            for way, index in (("part", name), ("to", to)):
                with open_store(f"{cluster}/{index}", read_only=True) as store:
                    figures[way] = _took(store, [Question("", part) for part in parts], must=words > _PART)
        finally:
            client.close()
            remove([f"{cluster}/{each}" for each in (name, to)])
        found[words] = figures
        whole = f"{words:10,}{figures['in place']:16,}{figures['beside']:15.2f}{rates[0]:10,.0f}{rates[1]:10,.0f}"
        print(f"{whole}{figures['part']:10.2f}{figures['to']:13.2f}", flush=True)
    return found


def _took(store: Store, questions: Sequence[Question], *, must: bool) -> float:
    """Milliseconds of a lookup."""
    rule = parse_rule("passages@0.5", store)
    for question in questions[:5]:
        lookup(store, rule, question, include_short=True)
    begin = time.perf_counter()
    answers = [lookup(store, rule, question, include_short=True) for question in questions]
    took = 1000 * (time.perf_counter() - begin) / len(questions)
    if must and not all(answer.total for answer in answers):
        raise ValueError("a text is not found")
    return took


def _lean(record: Record) -> Record:
    return Record(record.ref, {SIMHASH_DOC: record.sketches[SIMHASH_DOC]})


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", metavar="URL")
    parser.add_argument("--owned", action="store_true")
    parser.add_argument("--words", type=int, action="append", choices=list(LENGTHS), help="of these lengths only")
    options = parser.parse_args(arguments)
    lengths = options.words or list(LENGTHS)
    if options.owned:
        owned(options.cluster, lengths)
    else:
        run(options.cluster, lengths)


if __name__ == "__main__":
    main()
