"""A collection with clusters of many sizes, formats, sources and times, and failures: what dashboards have to show."""

from __future__ import annotations

import itertools
import random
from datetime import UTC, datetime, timedelta

from indexer.model import Failure, Fingerprint, Record, Ref
from indexer.model.copied import CopiedRow
from indexer.model.origins import origin_of
from indexer.relations.relation import WORDS
from indexer.schemes.simhash import sketched
from indexer.stores import Store
from tests.clustered import cluster_store

# How many clusters of which size.
SIZES = {1: 420, 2: 60, 3: 24, 4: 11, 5: 7, 7: 5, 12: 3, 30: 2, 104: 1}
PLACES = (
    "https://www.example.org/articles/",
    "https://docs.example.com/manual/",
    "archive/2024/reports/",
    "archive/2025/reports/",
    "/srv/exchange/letters/",
    "minutes/",
    "",
)
KINDS = (
    ("html", "lexbor 2.4"),
    ("html", "lexbor 2.4"),
    ("pdf", "pdfium 7000"),
    ("xml", "lxml 6.0"),
    ("text", "text 1"),
)
TITLES = ("Annual report", "Pump manual", "Letter to the members", "Minutes of the meeting", "Price list", "")
REASONS = ("encrypted", "encrypted", "damaged", "damaged", "timeout", "no-text")
LATEST = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


def records(seed: int = 7) -> list[Record]:
    """The documents, in an order that depends on the seed alone."""
    chance = random.Random(seed)
    made: list[Record] = []
    for size, count in SIZES.items():
        for _ in range(count):
            value = chance.getrandbits(64)
            kind, place, title = chance.choice(KINDS), chance.choice(PLACES), chance.choice(TITLES)
            length = chance.randrange(2_000, 400_000)
            for _ in range(size):
                if chance.random() < 0.2:
                    kind, place = chance.choice(KINDS), chance.choice(PLACES)
                flipped = value
                for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
                    flipped ^= 1 << chance.randrange(64)
                made.append(_record(len(made), flipped, kind, place, title, length + chance.randrange(200), chance))
    for number in range(40):
        thin = chance.getrandbits(64) if number < 25 else None
        made.append(_record(len(made), thin, chance.choice(KINDS), chance.choice(PLACES), "", 90, chance, short=True))
    apart = chance.getrandbits(64)
    made += [
        _record(len(made) + n, v, KINDS[0], PLACES[0], "", 3_000, chance) for n, v in enumerate((apart, apart ^ 31))
    ]
    return made


def _record(
    number: int,
    value: int | None,
    kind: tuple[str, str],
    place: str,
    title: str,
    size: int,
    chance: random.Random,
    short: bool = False,
) -> Record:
    day = LATEST - timedelta(days=chance.triangular(0, 500, 60), seconds=chance.randrange(86_400))
    name = f"{place}{number:04}.{kind[0]}"
    return Record(
        ref=Ref(name),
        sketches={} if value is None else sketched(Fingerprint(value, 9 if short else 400)),
        short=short and value is not None,
        source=name,
        title=f"{title} {number % 17}" if title else "",
        text_digest="" if value is None else f"{value:032x}",
        format=kind[0],
        extractor=kind[1],
        size=size,
        source_digest=f"{number:x}",
        indexed_at=day.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def failures(seed: int = 7) -> list[Failure]:
    """Documents that could not be indexed."""
    chance = random.Random(seed)
    made = []
    for number in range(38):
        name, reason = f"{chance.choice(PLACES)}bad-{number}.pdf", chance.choice(REASONS)
        at = (LATEST - timedelta(days=chance.uniform(0, 200))).strftime("%Y-%m-%dT%H:%M:%SZ")
        made.append(Failure(Ref(name), name, reason, f"what was wrong with number {number}", at))
    return made


def copied(seed: int = 7) -> list[CopiedRow]:
    """What is copied in part, no two rows of a kind alike in what they are sorted by."""
    chance = random.Random(seed)
    made = []
    for number in range(30):
        documents, words = 2 + number * 3, 50 + chance.randrange(400)
        numbers = {"documents": documents, "origins": 1 + number % 4, "words": words, "longest": words, "variants": 0}
        boilerplate = documents >= 10 * numbers["origins"]
        texts = {"text": f"passage {number} " * 200, "first_indexed_at": "2026-05-01T00:00:00Z"}
        numbers["boilerplate"] = boilerplate
        inside = [PLACES[(number + step) % 5] for step in range(numbers["origins"])]
        origins = tuple(sorted(map(origin_of, inside)))
        made.append(CopiedRow("passage", f"{number}", Ref("a"), texts, numbers, origins))
        share = {"words": 1000 + number, "in_passages": 33 * number, "share": round(33 * number / (1000 + number), 6)}
        source = {"source": f"{PLACES[number % 2]}{number}"}
        made.append(CopiedRow("document", f"{number}", Ref(f"{number}"), source, share, (origin_of(source["source"]),)))
        pair = {"first_in": origin_of(PLACES[number % 5]), "then_in": origin_of(PLACES[number % 7])}
        made.append(CopiedRow("origins", f"{number}", None, pair, {"words": 1000 - 7 * number}, tuple(pair.values())))
    for number, place in enumerate(map(origin_of, PLACES)):
        sums = {"documents": 40, "words": 9_000 + number, "in_passages": 1_400 * number}
        made.append(CopiedRow("origin", place, None, {}, sums, (place,)))
    return made


def fill(store: Store) -> None:
    """Store all of it, and put the documents into clusters; the last two leave theirs in the second clustering.

    Their texts were never there, so what is not identical is said to have one relation or another.
    """
    assert all(not result.reason for result in store.put(records()))
    store.put_failures(failures())
    assert store.keeper_of_copied()(copied()) == len(copied())
    cluster_store(store, 5)
    cluster_store(store)
    # What is identical the digests say.
    words = itertools.cycle(WORDS[1:])
    clustered = sorted(store.scan_annotations(clustered=True), key=lambda pair: pair[0].id)
    # Another one goes for these, so they stay.
    staying = {fields["cluster"].get("relation_to") for _, fields in clustered}
    said = [
        (ref, {"cluster": {"relation": "form" if ref.id in staying else next(words)} | fields["cluster"]})
        for ref, fields in clustered
        if "repeats" in fields["cluster"]
    ]
    store.annotate(said)
    cluster_store(store)
