"""What passages cost by the length of texts: bytes a word, words a second into a store, and lookups.

Run as `python -m tests.benchmarks long [--cluster URL]`; URL is a cluster, in which two indices are made and deleted
again. The texts are made of words at random, so that nearly every key is held by one document only. Bytes are those
that a store has more than one with the simhash alone. A part is 300 words in a row of a text, or all 50.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import SIMHASH_DOC, Record, Ref
from indexer.schemes import registry
from tests.benchmarks.price import bytes_of, remove

# Words of a text, and how many texts.
LENGTHS = {50: 20_000, 500: 2000, 50_000: 20, 1_000_000: 2}
_PART, _ASKED, _VOCABULARY = 300, 100, 50_000


def run(cluster: str | None = None) -> dict[int, dict[str, float]]:
    """Measure and print; by words of a text."""
    found = {}
    print(f"{'words':>10}{'keys a word':>13}{'bytes a word':>14}{'words/s put':>13}{'part, ms':>10}{'whole, ms':>11}")
    for words, count in LENGTHS.items():
        found[words] = figures = _measured(words, count, cluster)
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
                rule = parse_rule("passages@0.5", store)
                chosen = [draw.choice(texts).split() for _ in range(_ASKED)]
                starts = [draw.randrange(max(1, words - _PART)) for _ in chosen]
                parts = [" ".join(text[at : at + _PART]) for text, at in zip(chosen, starts, strict=True)]
                asked = {
                    "part": [Question("", part) for part in parts],
                    "whole": [Question("", record=draw.choice(records)) for _ in range(_ASKED if words < 5000 else 5)],
                }
                took = {}
                for name, questions in asked.items():
                    for question in questions[:5]:
                        lookup(store, rule, question, include_short=True)
                    begin = time.perf_counter()
                    answers = [lookup(store, rule, question, include_short=True) for question in questions]
                    took[name] = 1000 * (time.perf_counter() - begin) / len(questions)
                    if not all(answer.total for answer in answers) and words > _PART:
                        raise ValueError(f"{name}: a text of {words} words is not found")
        finally:
            if cluster:
                remove(names)
    total = words * count
    return {"keys": keys / total, "bytes": (sizes[1] - sizes[0]) / total, "put": total / spent, **took}


def _lean(record: Record) -> Record:
    return Record(record.ref, {SIMHASH_DOC: record.sketches[SIMHASH_DOC]})


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", metavar="URL")
    run(parser.parse_args(arguments).cluster)


if __name__ == "__main__":
    main()
