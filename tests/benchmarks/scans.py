"""Pages printed to images and read again, asked for by their own text among many others: see docs/explanation/parts.md.

Run as `python -m tests.benchmarks scans [--others FOLDER]...`. Pages of the papers in jose are made images at three
resolutions by pdftoppm and read by tesseract (Debian: poppler-utils, tesseract-ocr); nothing is measured without these.
The other pages, 300 words each, are cut from the documents of the shared data, and of the folders named, such as
unpacked documentation packages. A page counts as found where the text that its PDF has is near the one that was read.

Readers of letters confuse some shapes, o and 0, l, i and 1, rn and m. Whether it helps to take these for one letter is
measured too.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indexer.core.text import Tokens, character_hashes, tokenise
from indexer.extract.base import Extracted, Limits, Options
from indexer.ingest.outcomes import read, texts
from indexer.ingest.sources import Sources
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import SketchedTexts
from indexer.schemes.passages import Passages

RESOLUTIONS = (75, 100, 200)
PAGES, LEAST_WORDS = 25, 150
OTHERS, WORDS = 100_000, 300
LEAST = 0.25
CONFUSED = (("0", "o"), ("1", "l"), ("i", "l"), ("rn", "m"))


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a PDF: its text, and what was read of its image at each resolution."""

    text: str
    read: Mapping[int, str]


def run(data: Path, others: Sequence[Path] = ()) -> dict[str, Any]:
    """Measure and print; gives the figures."""
    missing = [name for name in ("pdftoppm", "pdftotext", "tesseract") if shutil.which(name) is None]
    if missing:
        print(f"NOT MEASURED: {', '.join(missing)} is not installed (Debian: poppler-utils, tesseract-ocr)")
        return {}
    pages = list(_pages(data / "jose"))
    crowd = list(_cut([data, *others]))
    print(f"-- {len(pages)} pages, printed and read again, each asked for among {len(crowd):,} other pages")
    figures: dict[str, Any] = {"pages": len(pages), "others": len(crowd)}
    for scheme in (Passages(), Passages(features="letters")):
        figures[scheme.id] = _found(scheme, pages, crowd)
    figures["folded"] = _folded(Passages(features="letters"), pages)
    return figures


def main(arguments: Sequence[str]) -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description="Measure what is found of scanned pages.")
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[3] / "shared" / "data")
    parser.add_argument("--others", type=Path, action="append", default=[])
    asked = parser.parse_args(arguments)
    run(asked.data, asked.others)


def _pages(folder: Path) -> Iterator[Page]:
    """Some pages with enough words, from as many papers as there are."""
    texts_of_pages: list[tuple[Path, int, str]] = []
    for path in sorted(folder.rglob("*.pdf")):
        written = subprocess.run(["pdftotext", str(path), "-"], check=True, capture_output=True).stdout
        for number, text in enumerate(written.decode("utf-8", "replace").split("\f"), 1):
            if len(text.split()) >= LEAST_WORDS:
                texts_of_pages.append((path, number, text))
    for path, number, text in texts_of_pages[:: max(1, len(texts_of_pages) // PAGES)][:PAGES]:
        yield Page(text, {dots: _read_again(path, number, dots) for dots in RESOLUTIONS})


def _read_again(path: Path, number: int, dots: int) -> str:
    """The text that is read of a page's image, of so many dots an inch."""
    page = ["-f", str(number), "-l", str(number), "-singlefile"]
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder, "page")
        subprocess.run(["pdftoppm", "-r", str(dots), "-gray", *page, str(path), str(image)], check=True)
        done = subprocess.run(
            ["tesseract", f"{image}.pgm", "-"],
            check=True,
            capture_output=True,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    return done.stdout.decode("utf-8", "replace")


def _cut(folders: Sequence[Path]) -> Iterator[str]:
    """Pages of documents that are no papers, in an order that mixes the folders."""
    files = [str(path) for folder in folders for kind in ("html", "txt") for path in sorted(folder.rglob(f"*.{kind}"))]
    random.Random(1).shuffle(files)
    made = 0
    with texts(2, Options(), Limits(seconds=20)) as workers:
        for outcome in workers.outcomes(read(Sources(files), 20_000_000)):
            if not isinstance(outcome, Extracted):
                continue
            words = outcome.document.text.split()
            for start in range(0, len(words) - WORDS // 2, WORDS):
                yield " ".join(words[start : start + WORDS])
                made += 1
                if made == OTHERS:
                    return


def _found(scheme: Passages, pages: Sequence[Page], crowd: Sequence[str]) -> dict[int, dict[str, float]]:
    """By resolution: the share found, and a question's candidates and answers beside the page itself."""
    others = scheme.sketch_many(crowd)
    figures = {}
    for dots in RESOLUTIONS:
        hits, candidates, wrong = 0, 0, 0
        for page in pages:
            asked, own = scheme.sketch(page.text), scheme.sketch(page.read[dots])
            if asked is None or own is None:
                continue
            hits += bool(scheme.similarities(asked.payload, [own.payload])[0] >= LEAST)
            met = _met(others, asked)
            candidates += met.size
            wrong += int(np.count_nonzero(scheme.compare_one(asked.payload, others.payloads.take(met)) >= LEAST))
        figures[dots] = {
            "found": hits / len(pages),
            "candidates": candidates / len(pages),
            "precision": hits / max(1, hits + wrong),
        }
        print(
            f"{scheme.features:8}{dots:5} dots an inch: found {hits / len(pages):6.1%}   other candidates a question "
            f"{candidates / len(pages):7.1f}   precision {figures[dots]['precision']:6.1%}",
            flush=True,
        )
    return figures


def _met(others: SketchedTexts, asked: Sketch) -> Any:
    """The places of the sketches with a key of the one that is asked for."""
    hits = np.flatnonzero(np.isin(others.keys.values, np.array(asked.keys)))
    return np.unique(np.searchsorted(others.keys.offsets, hits, side="right") - 1)


def _folded(scheme: Passages, pages: Sequence[Page]) -> dict[int, dict[str, list[float]]]:
    """By resolution: the share of the keys in common, on average and at the least, with letters as read and folded."""
    figures: dict[int, dict[str, list[float]]] = {}
    for dots in RESOLUTIONS:
        figures[dots] = {}
        for name, folds in (("as read", ()), ("folded", CONFUSED)):
            shares = [_share(scheme, page.text, page.read[dots], folds) for page in pages]
            figures[dots][name] = [float(np.mean(shares)), float(np.min(shares))]
        said = ", ".join(f"{name} {mean:.3f} ({least:.3f})" for name, (mean, least) in figures[dots].items())
        print(f"{dots:5} dots an inch: share of keys, on average (at the least): {said}", flush=True)
    return figures


def _share(scheme: Passages, one: str, other: str, folds: Sequence[tuple[str, str]]) -> float:
    left, right = (scheme.sketch_features(_runs(text, scheme.shingle, folds)) for text in (one, other))
    assert left is not None
    return float(scheme.compare_one(left.payload, Ragged.of_bytes([right.payload]))[0]) if right else 0.0


def _runs(text: str, size: int, folds: Sequence[tuple[str, str]]) -> Any:
    """The hashes of the runs of letters of a text in which some letters are taken for others."""
    line = b"".join(tokenise(text, numbers=True).tokens).decode()
    for letters, taken_for in folds:
        line = line.replace(letters, taken_for)
    data = line.encode()
    return character_hashes(Tokens(data, np.zeros(1, np.uintp), np.array([len(data)], np.uintp)), size)
