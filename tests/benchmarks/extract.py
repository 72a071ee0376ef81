"""Measures extraction: whether two forms of a document meet, how fast each extractor is, very long and short texts.

Run as `python -m tests.benchmarks.extract [FOLDER]`. Speeds are of one process, from bytes to fingerprint, in processor
time.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pypdfium2
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from indexer.errors import ExtractionError
from indexer.extract import Extracted, Failed, Item, Limits, Options, WorkerPool, extract
from indexer.extract.base import Extractor
from indexer.extract.document import read_document
from indexer.model import Fingerprint
from indexer.schemes import simhash
from tests.extract.made_pdf import make_pdf

_ROUNDS = 3
_LIMITS = Limits()
Prints = Mapping[str, Fingerprint]
Rows = Sequence[Mapping[str, Any]]


def run(shared_data: Path) -> dict[str, Any]:
    """Measure and print; gives the figures. `shared_data` is the folder of real documents with truth."""
    rows = _rows(shared_data / "truth" / "all.jsonl")
    prints = _fingerprints(shared_data, rows)
    return {
        "jose": two_forms(prints, _rows(shared_data / "truth" / "jose.jsonl")),
        "javadoc": versions(prints, _rows(shared_data / "truth" / "samegroup_javadoc.jsonl"), rows),
        "speed": speeds(shared_data, rows),
        "pages": pages(shared_data),
        "long": long_documents(),
        "short": short_texts(shared_data, rows),
    }


def two_forms(prints: Prints, rows: Rows) -> dict[str, Any]:
    """Papers as PDF and as JATS: their distances, and whether each is the nearest of all documents to the other."""
    groups: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["kind"] == "fulltext" and row["id"] in prints:
            groups[row["group"]].append(row["id"])
    pairs = [(a, b) for a, b in (ids for ids in groups.values() if len(ids) == 2)]
    distances = [prints[a].distance(prints[b]) for a, b in pairs]
    asked = [*pairs, *((b, a) for a, b in pairs)]
    met = sum(_is_nearest(prints, a, b) for a, b in asked)
    print(f"jose, {len(pairs)} papers as PDF and as JATS: distances {sorted(distances)}")
    print(f"  the other form is the nearest of {len(prints):,} documents: {met} of {len(asked)}")
    return {"distances": distances, "match@1": met, "of": len(asked)}


def versions(prints: Prints, pairs: Rows, rows: Rows) -> dict[str, Any]:
    """The same page in two versions of a documentation: distances by how much of the text is shared."""
    print(f"javadoc, {len(pairs)} pairs of one page in two versions:")
    figures: dict[str, Any] = {}
    for low, high in ((0.95, 1.01), (0.8, 0.95), (0.5, 0.8), (0.0, 0.5)):
        found = [prints[p["a"]].distance(prints[p["b"]]) for p in pairs if low <= p["jaccard"] < high]
        near = {k: sum(d <= k for d in found) / len(found) for k in (0, 3, 7)}
        print(
            f"  Jaccard of 5-word shingles from {low:.2f}: {len(found):4} pairs, "
            f"median {statistics.median(found):4.1f}, equal {near[0]:4.0%}, within 3 {near[3]:4.0%}, "
            f"within 7 {near[7]:4.0%}"
        )
        figures[f"{low:.2f}"] = {"pairs": len(found), "median": statistics.median(found), **near}
    group = {row["id"]: row["group"] for row in rows}
    alike = defaultdict(list)
    for name in prints:
        alike[group[name]].append(name)
    asked = [name for name in prints if name.startswith("jd:") and len(alike[group[name]]) > 1]
    met = sum(any(_is_nearest(prints, name, other) for other in alike[group[name]] if other != name) for name in asked)
    print(f"  another version is among the nearest of {len(prints):,} documents: {met} of {len(asked)}")
    figures |= {"match@1": met, "of": len(asked)}
    return figures


def speeds(shared_data: Path, rows: Rows) -> dict[str, Any]:
    """Bytes to fingerprint by each extractor, in MB/s; for PDF also in pages/s."""
    kinds = {"html": "javadoc", "xml": "plos", "pdf": "jose"}
    figures: dict[str, Any] = {}
    for kind, group in kinds.items():
        wanted = [row["path"] for row in rows if (row.get("set"), row.get("format")) == (group, kind)]
        data = [(shared_data / path).read_bytes() for path in wanted]
        extractors: tuple[Extractor, ...] = ("fast", "reference")
        for extractor in extractors:
            seconds = _seconds(data, extractor, rounds=_ROUNDS if extractor == "fast" else 1)
            figures[f"{kind} {extractor}"] = speed = sum(map(len, data)) / 1e6 / seconds
            line = f"{kind}, {extractor} extractor: {speed:6.1f} MB/s"
            if kind == "pdf":
                pages = sum(len(pypdfium2.PdfDocument(document)) for document in data)
                figures[f"pages {extractor}"] = pages / seconds
                line += f", {pages / seconds:6.0f} pages/s"
            print(line)
    return figures


def pages(shared_data: Path) -> dict[str, Any]:
    """Pages of HTML to their texts beside the parser alone, by turns: MB/s, and the median share of the parser."""
    figures: dict[str, Any] = {}
    for folder in ("javadoc", "mixed", "udhr"):
        paths = sorted((shared_data / "html" / folder).rglob("*.html"))
        data = [path.read_bytes() for path in paths if path.is_file()]
        size = sum(map(len, data)) / 1e6
        rounds = [(_processor_time(_parse, data), _processor_time(_text_of, data)) for _ in range(5)]
        parser, whole = (size / min(times) for times in zip(*rounds, strict=True))
        share = statistics.median(alone / all_of_it for alone, all_of_it in rounds)
        print(
            f"html/{folder}, {len(data):,} pages: {whole:6.1f} MB/s, the parser alone {parser:6.1f} MB/s, "
            f"which is {share:.0%} of the time"
        )
        figures[folder] = {"MB/s": whole, "parser": parser, "share": share}
    return figures


def _parse(page: bytes) -> object:
    return LexborHTMLParser(page, options=LexborDocumentOptions.WO_EVENTS)


def _text_of(page: bytes) -> object:
    return read_document(page, "page.html", Options(), _LIMITS)


def _processor_time(read: Callable[[bytes], object], data: Iterable[bytes]) -> float:
    began = time.process_time()
    for page in data:
        read(page)
    return time.process_time() - began


def long_documents() -> dict[str, Any]:
    """A PDF of 1,000 pages: pages/s, and how far apart long documents of the same vocabulary stand."""
    chance = random.Random(1)
    words, weights = _vocabulary(chance)
    figures: dict[str, Any] = {}
    for count in (1, 10, 100, 1000):
        book, other = (_pages(chance, words, weights, count) for _ in range(2))
        edited = [page if chance.random() > 0.05 else _pages(chance, words, weights, 1)[0] for page in book]
        data = make_pdf(book)
        began = time.process_time()
        document = extract(data, sandbox=False)
        first = simhash.fingerprint(document.text)
        seconds = time.process_time() - began
        second = simhash.fingerprint(extract(make_pdf(edited), sandbox=False).text)
        third = simhash.fingerprint(extract(make_pdf(other), sandbox=False).text)
        if first is None or second is None or third is None:
            raise RuntimeError("a generated PDF gave no text")
        changed = sum(a is not b for a, b in zip(book, edited, strict=True))
        print(
            f"generated PDF of {count:5,} pages: {count / seconds:6.0f} pages/s; {changed} pages replaced: distance "
            f"{first.distance(second)}; all other pages of the same words: {first.distance(third)}"
        )
        figures[str(count)] = {"pages/s": count / seconds, "edited": first.distance(second)}
        figures[str(count)]["unrelated"] = first.distance(third)
    return figures


def short_texts(shared_data: Path, rows: Rows) -> dict[str, Any]:
    """Passages of 50 to 300 words with some words changed: the distances, and those to other passages."""
    chance = random.Random(2)
    paths = [shared_data / row["path"] for row in rows if row.get("set") == "plos"]
    texts = [text for path in paths if len(text := extract(path, sandbox=False).text.split()) > 1000][:20]
    pool = [word for text in texts for word in text]
    figures: dict[str, Any] = {}
    print("passages of articles with some words exchanged: median distance, and how many stay within 3 and 7")
    for length in (50, 100, 200, 300):
        starts = [(text, chance.randrange(len(text) - length)) for text in texts for _ in range(10)]
        passages = [text[start : start + length] for text, start in starts]
        parts = []
        for share in (0.01, 0.02, 0.05):
            found = [_distance(passage, _exchanged(chance, passage, pool, share)) for passage in passages]
            near = [sum(d <= k for d in found) / len(found) for k in (3, 7)]
            parts.append(f"{share:.0%}: {statistics.median(found):4.1f} ({near[0]:4.0%}, {near[1]:4.0%})")
            figures[f"{length} words, {share:.0%}"] = {"median": statistics.median(found), "3": near[0], "7": near[1]}
        others = [_distance(a, b) for a, b in zip(passages, passages[11:], strict=False)]
        print(
            f"  {length:3} words  {'  '.join(parts)}  other passages: {statistics.median(others)}, least {min(others)}"
        )
        figures[f"{length} words, others"] = {"median": statistics.median(others), "least": min(others)}
    return figures


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _fingerprints(shared_data: Path, rows: Rows) -> dict[str, Fingerprint]:
    """The fingerprints of all documents that have text, by their ids."""
    found: dict[str, Fingerprint] = {}
    items: Iterable[Item[str] | Failed[str]] = (
        Item(row["id"], (shared_data / row["path"]).read_bytes(), row["path"]) for row in rows
    )
    with WorkerPool[None](2, Options(), _LIMITS) as pool:
        for outcome in pool.outcomes(items):
            made = simhash.fingerprint(outcome.document.text) if isinstance(outcome, Extracted) else None
            if made:
                found[outcome.key] = made
    return found


def _is_nearest(prints: Prints, asked: str, wanted: str) -> bool:
    """Whether no other document is nearer than the wanted one; one as near would make the answer a matter of luck."""
    distance = prints[asked].distance(prints[wanted])
    if wanted.startswith("jd:"):
        return all(prints[asked].distance(p) >= distance for name, p in prints.items() if name != asked)
    return all(prints[asked].distance(p) > distance for name, p in prints.items() if name not in (asked, wanted))


def _seconds(data: Iterable[bytes], extractor: Extractor, rounds: int) -> float:
    options = Options(extractor=extractor)
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for document in data:
            try:
                simhash.fingerprint(extract(document, options=options, limits=_LIMITS, sandbox=False).text)
            except ExtractionError:
                continue
        best = min(best, time.process_time() - began)
    return best


def _vocabulary(chance: random.Random) -> tuple[list[str], list[float]]:
    """Made-up words, as frequent as words are: the n-th has a share in proportion to 1 / n (Zipf 1949)."""
    letters = "etaoinshrdlucmfwypvbgk"
    words = list({"".join(chance.choices(letters, k=chance.randint(2, 10))) for _ in range(20_000)})
    words.sort()
    chance.shuffle(words)
    return words, [1 / rank for rank in range(1, len(words) + 1)]


def _pages(chance: random.Random, words: list[str], weights: list[float], count: int) -> list[list[str]]:
    drawn = iter(chance.choices(words, weights, k=count * 50 * 10))
    return [[" ".join(next(drawn) for _ in range(10)) for _ in range(50)] for _ in range(count)]


def _exchanged(chance: random.Random, passage: Sequence[str], pool: Sequence[str], share: float) -> list[str]:
    """The passage with a share of its words, at least one, exchanged for words of other texts."""
    changed = list(passage)
    for place in chance.sample(range(len(changed)), max(1, round(share * len(changed)))):
        changed[place] = chance.choice(pool)
    return changed


def _distance(first: Sequence[str], second: Sequence[str]) -> int:
    a, b = simhash.fingerprint(" ".join(first)), simhash.fingerprint(" ".join(second))
    return a.distance(b) if a and b else 64


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parents[3] / "shared" / "data"
    if not folder.is_dir():
        sys.exit(f"needs the real documents in {folder}, which is absent; name their folder")
    run(folder)
