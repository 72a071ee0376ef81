"""All measurements of the project, one after the other: `make bench`, or `python -m tests.benchmarks [NAME...]`.

Options go to a part that is named alone: `python -m tests.benchmarks engines --cluster http://127.0.0.1:9200`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from indexer.errors import NeardupError, UsageError

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
PARTS = {
    "commands": "processor time of the commands, beside another revision of the project",
    "core": "text to fingerprint, beside gaoya",
    "pairs": "all pairs and lookups, beside faiss",
    "library": "sketches of many texts in threads, which to keep, an index in memory, beside datasketch",
    "store": "the embedded store: put, look up, size",
    "large": "a large store from put to report: time, peak memory, size",
    "ingest": "JSON lines and Parquet into the embedded store: documents a second",
    "batch": "texts in Parquet to clusters without a store, beside the embedded store",
    "spark": "clusters of sketches by tasks of Spark, beside one process",
    "rivals": "what text-dedup and datatrove remove of the same texts, what of it is wrong, and what it takes",
    "forms": "headlines with a word changed, and chats that share a template: what rules find, what is removed wrongly",
    "short": "titles and other short texts: which edits are found in five languages, twins called near, time by number",
    "mails": "mailboxes of lists: what replies quote, and what of a mail's own words is left",
    "edits": "made edits of real pages: how many keep their relation, and how many of those that lost nothing go",
    "labelled": "pairs of texts with one known difference, beside rensa and datasketch: what is removed wrongly",
    "relations": "the relations of pairs of texts: pairs a second, by what differs",
    "memory": "peak memory of every command on 100,000 documents of JSON lines",
    "engines": "search engines: put, look up, size, beside what they offer themselves",
    "at_once": "lookups in a cluster, one a request and fifty a request, by shards",
    "pipelines": "ingest pipelines in a cluster: documents a second in bulk, with and without",
    "cluster": "clusters of real pages, against truth, for each distance",
    "boilerplate": "clusters of 100,000 pages with one boilerplate in common",
    "price": "what the sketch costs beside the lean form: put, bytes, lookups, indexing",
    "long": "what passages cost by the length of texts: bytes a word, put, lookups",
    "schemes": "every scheme on real documents, beside datasketch and rensa",
    "sketches": "how sharp and how fast sketches are, by the way their minima are made, and what bands find",
    "extract": "extraction: speed of each engine, and whether the two forms of a document meet",
    "quality": "what match rules call near, and how much of it is, on real documents",
    "nearest": "the nearest document where none is near: what keys find of it, and what a comparison with all costs",
    "parts": "parts of real documents, as they stand or with misread letters: which rule finds them",
    "parts_engine": "parts of documents in a cluster: passages beside more_like_this",
    "scans": "pages printed to images and read again, among 100,000 others, by their words and by their letters",
    "pdfs": "texts of the same PDF files by several readers: which kind of store finds their pairs",
    "passages": "passages that documents have in common: what is found beside a suffix array, and what it takes",
    "cuts": "what is left and what is lost of texts whose passages were cut, beside text-dedup and datatrove",
    "versions": "the order of versions of real pages, against truth",
    "repeats": "whether names of boilerplate, or learning what repeats, make more right what is called near",
    "service": "questions over HTTP, fifty in a request, beside the library: questions a second, the slowest requests",
    "questions": "what simhash-doc does with numbers, and with scripts without spaces",
}
NEED_DATA = (
    "commands",
    "schemes",
    "sketches",
    "cluster",
    "cuts",
    "edits",
    "extract",
    "nearest",
    "parts",
    "passages",
    "pdfs",
    "price",
    "quality",
    "questions",
    "repeats",
    "scans",
    "versions",
)
TAKE_OPTIONS = (
    "at_once",
    "batch",
    "boilerplate",
    "commands",
    "cuts",
    "engines",
    "ingest",
    "large",
    "long",
    "mails",
    "memory",
    "parts_engine",
    "passages",
    "pdfs",
    "pipelines",
    "price",
    "repeats",
    "rivals",
    "scans",
    "service",
    "short",
    "spark",
    "store",
    "versions",
)


def main(names: Sequence[str]) -> None:
    """Run the named parts, all of them where none is named; options after a single name are the part's."""
    if names and names[0] in TAKE_OPTIONS and names[1:2] and names[1].startswith("-"):
        importlib.import_module(f"tests.benchmarks.{names[0]}").main(names[1:])
        return
    for name in names:
        if name not in PARTS:
            raise UsageError(f"{name!r} is no part of the benchmark; there are: {', '.join(PARTS)}")
    for name in names or PARTS:
        print(f"== {name}: {PARTS[name]}", flush=True)
        run = importlib.import_module(f"tests.benchmarks.{name}").run
        if name in NEED_DATA and not SHARED_DATA.is_dir():
            print(f"needs the real documents in {SHARED_DATA}, which is absent: not measured")
            continue
        run(SHARED_DATA) if name in NEED_DATA else run()
        print()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except NeardupError as error:
        sys.exit(str(error))
