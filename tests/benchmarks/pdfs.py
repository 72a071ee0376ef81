"""Texts of the same PDF files by several readers: which kind of store finds their pairs; see docs/figures.md.

Run as `python -m tests.benchmarks pdfs [--texts FOLDER]`. The papers in jose are read by both extractors, and by
pdftotext where it is installed (Debian: poppler-utils). Other texts are taken from FOLDER/READER/PAPER.txt. How much of
what is near is right is measured on the mixed collection, by exact Jaccard coefficients of 5-word shingles.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

from indexer.extract import extract
from indexer.extract.base import Options
from indexer.library.texts import pairs_of
from indexer.matching.rule import parse_rule
from indexer.model.kinds import DOCUMENTS, KINDS
from indexer.schemes import registry
from indexer.schemes.base import sketch_text
from tests.judging import judged, texts_of


def _rule(kind: str) -> str:
    """The rule of a kind, with its own sketches written out."""
    [scheme] = KINDS[kind].schemes
    return KINDS[kind].rule.replace("minhash", scheme)


RULES = {DOCUMENTS: _rule(DOCUMENTS), "passages@0.5": "passages@0.5", "pdfs": _rule("pdfs")}


def _papers(data: Path) -> dict[str, list[tuple[str, str]]]:
    """The readers with the name and the text of each paper."""
    files = sorted((data / "jose").rglob("*.pdf"))
    read = {
        reader: [(file.stem, extract(file, options=Options(extractor=reader)).text) for file in files]
        for reader in ("fast", "reference")
    }
    if shutil.which("pdftotext"):
        read["pdftotext"] = [
            (file.stem, subprocess.run(["pdftotext", file, "-"], capture_output=True, check=True, text=True).stdout)
            for file in files
        ]
    return read


def _given(folder: Path) -> dict[str, list[tuple[str, str]]]:
    readers = sorted(each for each in folder.iterdir() if each.is_dir())
    return {
        reader.name: [(file.stem, file.read_text("utf-8", "replace")) for file in sorted(reader.glob("*.txt"))]
        for reader in readers
    }


def _measure(name: str, read: dict[str, list[tuple[str, str]]]) -> dict[str, tuple[int, int]]:
    texts = [(paper, text) for papers in read.values() for paper, text in papers if text.strip()]
    counts = [sum(paper == other for other, _ in texts) for paper, _ in texts]
    wanted = sum(count - 1 for count in counts) // 2
    print(f"-- {name}: {len(texts)} texts by {', '.join(read)}; {wanted} pairs of one paper")
    found = {}
    for kind, rule in RULES.items():
        near = [texts[pair.left][0] == texts[pair.right][0] for pair in pairs_of([text for _, text in texts], rule)]
        found[kind] = sum(near), len(near) - sum(near)
        print(f"{kind:14}{sum(near):6} found{len(near) - sum(near):6} pairs of two papers")
    for kind in (DOCUMENTS, "pdfs"):
        scheme = registry.scheme(KINDS[kind].schemes[0])
        start = process_time()
        for _, text in texts:
            sketch_text([scheme], text)
        taken = (process_time() - start) / sum(len(text) for _, text in texts)
        print(f"{kind:14}{taken * 1e9:6.1f} ns a character for the simhash and the sketch")
    return found


def run(data: Path, texts: Path | None = None) -> dict[str, Any]:
    """Measure and print; gives the figures."""
    found = _measure("papers of jose", _papers(data))
    if texts:
        found = _measure(str(texts.name), _given(texts))
    rules = {kind: parse_rule(rule) for kind, rule in RULES.items() if kind != "passages@0.5"}
    mixed = judged(texts_of(data / "html/mixed"), list(rules.values()))
    for kind, figures in zip(rules, mixed, strict=True):
        print(f"{kind:14}{figures.returned:6} pairs near in html/mixed, {figures.right[0]} of them share 30% or more")
    return {"found": found, "mixed": dict(zip(rules, mixed, strict=True))}


def main(arguments: Sequence[str]) -> None:
    """Run it with its options."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks pdfs")
    parser.add_argument("--texts", type=Path, metavar="FOLDER", help="texts as FOLDER/READER/PAPER.txt")
    run(Path(__file__).resolve().parents[3] / "shared" / "data", parser.parse_args(arguments).texts)
