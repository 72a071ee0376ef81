"""Whether names of boilerplate, or learning what a collection repeats, make more right what is called near.

Run as `python -m tests.benchmarks repeats [--folder FOLDER]...`: the real documents, and folders of unpacked
documentation packages. The truth is exact coefficients of the pages' own texts: without the menus, headers and footers
of SITES.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from selectolax.lexbor import LexborHTMLParser

from indexer.core.components import Components
from indexer.core.text import token_hashes
from indexer.extract.markup.html import extract_html
from indexer.matching.measures.exact import SHINGLE, jaccard, jaccard_pairs, shingle_sets
from indexer.matching.rule import default_rule
from indexer.model import DEFAULT_MIN_TOKENS
from indexer.model.ragged import Ragged
from tests.judging import BANDS, SETS, SHARES, Judged, near_pairs, texts_of

NEAR = 0.6
COPIED, COPIES = 5, 120
_DOXYGEN = "#top,#titlearea,#side-nav,#nav-path,.navpath,.summary,.tabs,.tabs2,.footer,address,#MSearchSelectWindow"
_SPHINX = "[role=navigation],.related,.sphinxsidebar,.footer,.nav,#ft,#hd"
_DOCBOOK = ".navheader,.navfooter,.navigation,.footer"
# What of a page is not its own, by folders of its path: a documentation, or the package that it came in.
SITES = {
    "mixed/apache": "#page-header,.up,.toplang,.bottomlang,.top,#footer,#comments_section,#path",
    "mixed/git": "#footer",
    "mixed/bind9": "[role=navigation],nav,footer",
    "mixed/sqlite": ".tagline,.menu,.searchmenu,.nosearch>a:first-child,"
    'p:has(>a[href="objlist.html"]),p:has(>a[href="../chronology.html"])',
    "mixed/nodejs": "#column2,.header,.picker,#gtoc",
    "mixed/libvirt": "#nav,#footer",
    "html/javadoc": ".topNav,.subNav,.bottomNav,.fixedNav,.navBar,.navList,.skipNav,.legalCopy,noscript,"
    "header,nav,footer",
    "libeigen3-doc": f"{_DOXYGEN},body>div:first-child",
    "libsfml-doc": f"{_DOXYGEN},#banner-container,#footer-container",
    "xapian-doc": _DOXYGEN,
    "erlang-doc": ".topbar,nav,.footer,.copyright",
    "exim4-doc-html": "#header,#nav_flow,#footer,.previous_page,.next_page,.toc_page",
    "qtbase5-doc-html": ".navigationbar,.footer",
    "octave-doc": ".header",
    "postgresql-doc-15": _DOCBOOK,
    "libglib2.0-doc": _DOCBOOK,
    "libxml2-doc": f'{_DOCBOOK},td[width="200"],body>table:first-of-type',
    "libpango1.0-doc": "nav,header,footer",
    "cmake-doc": _SPHINX,
    "python-django-doc": _SPHINX,
    "python3.11-doc": _SPHINX,
    "libboost1.74-doc": "body>table:first-of-type,.spirit-nav,.copyright-footer",
    "ntpsec-doc": "#footer",
    "imagemagick-6-doc": "nav,footer,#titlearea,#nav-path,.navpath,.summary,address,#MSearchSelectWindow",
    "netcdf-doc": _DOXYGEN,
    "libqwt-doc": _DOXYGEN,
    "libsdl2-doc": _DOXYGEN,
    "libxerces-c-doc": _DOXYGEN,
}
# Elements that hold text of their own; a mark outside of a table's cells would leave the table.
_BLOCK = (
    rb"(?:p|div|li|t[dh]|d[dt]|h[1-6]|pre|blockquote|address|article|aside|header|footer|main|nav|section|form|center)"
)
_BEGINS, _ENDS = (
    re.compile(rb"(<" + _BLOCK + rb"(?:\s[^>]*)?>)", re.IGNORECASE),
    re.compile(rb"(</" + _BLOCK + rb"\s*>)", re.IGNORECASE),
)
# As a reference it is right in every encoding.
_MARK, _WRITTEN = "\ue000", rb"&#xe000;"
_CLASS_OR_ID = re.compile(rb"\b((?:class|id)\s*=)", re.IGNORECASE)

Pairs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
Frequencies = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Page:
    """A document: its text where names are not looked at, that in blocks, without what is not its own, and as read."""

    text: str
    blocks: tuple[str, ...]
    own: str
    read: str


@dataclass(frozen=True)
class Collection:
    """Pages that are long enough to be compared, and what can be told of them."""

    pages: Sequence[Page]

    @cached_property
    def sets(self) -> Ragged:
        """The shingles of the texts."""
        return shingle_sets(page.text for page in self.pages)

    @cached_property
    def own(self) -> Ragged:
        """The shingles of what the pages say themselves."""
        return shingle_sets(page.own for page in self.pages)

    @cached_property
    def default(self) -> Pairs:
        """What the default rule calls near where names are not looked at."""
        return near_pairs(default_rule(), [page.text for page in self.pages])

    @cached_property
    def wanted(self) -> dict[int, float]:
        """The pairs of pages whose own texts share enough, as codes, with their coefficients; none of a short text."""
        found = jaccard_pairs(self.own, BANDS[-1][0])
        enough = np.minimum(self.own.sizes[found.left], self.own.sizes[found.right]) > DEFAULT_MIN_TOKENS - SHINGLE
        codes = _codes((found.left[enough], found.right[enough]))
        return dict(zip(codes, found.jaccard[enough].tolist(), strict=True))

    @cached_property
    def firsts(self) -> npt.NDArray[np.bool_]:
        """One document of each cluster of the default rule; all that are in none."""
        groups = Components(len(self.pages))
        groups.join(*self.default)
        return np.asarray(groups.labels() == np.arange(len(self.pages)))

    @cached_property
    def _shingles(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        return np.unique(self.sets.values, return_inverse=True)[1], np.repeat(
            np.arange(len(self.pages)), self.sets.sizes
        )

    def frequencies(self, *, clusters: bool) -> Frequencies:
        """Of each place of `sets`, how many documents, or clusters, have the shingle that is there."""
        inverse, owners = self._shingles
        counted = self.firsts[owners] if clusters else np.ones(owners.size, dtype=bool)
        return np.asarray(np.bincount(inverse[counted], minlength=inverse.max() + 1)[inverse], dtype=np.int64)

    def rare(self, most: int, *, clusters: bool) -> Ragged:
        """The sets without the shingles of more than `most` documents, or clusters."""
        kept = self.frequencies(clusters=clusters) <= most
        sizes = np.bincount(self._shingles[1][kept], minlength=len(self.pages))
        return Ragged(self.sets.values[kept], np.concatenate(([0], np.cumsum(sizes))).astype(np.int64))

    def unrepeated(self, most: int, *, clusters: bool) -> Ragged:
        """The sets of the texts without the blocks of more than `most` documents, or clusters."""
        counted = self.firsts.tolist() if clusters else [True] * len(self.pages)
        pages = zip(self.pages, counted, strict=True)
        frequency = Counter(block for page, counts in pages if counts for block in set(page.blocks))
        return shingle_sets(" ".join(b for b in page.blocks if frequency[b] <= most) for page in self.pages)


def near(sets: Ragged) -> Pairs:
    """The pairs of sets that are near; of documents that are too short, none."""
    found = jaccard_pairs(sets, NEAR)
    enough = np.minimum(sets.sizes[found.left], sets.sizes[found.right]) > DEFAULT_MIN_TOKENS - SHINGLE
    return found.left[enough], found.right[enough]


def long_enough(pages: Collection, pairs: Pairs) -> Pairs:
    """The pairs of documents that are not too short as they are read."""
    enough = np.array([token_hashes(page.read).size >= DEFAULT_MIN_TOKENS for page in pages.pages])
    kept = enough[pairs[0]] & enough[pairs[1]]
    return pairs[0][kept], pairs[1][kept]


def weighted(pages: Collection, least: float) -> Pairs:
    """The pairs whose common shingles have `least` of the weight ln(1 + N / df) of all that the two have."""
    weight = np.log1p(len(pages.pages) / pages.frequencies(clusters=True).clip(1))
    sets, places = pages.sets, pages.sets.offsets
    total = np.add.reduceat(weight, places[:-1])
    found = jaccard_pairs(sets, 0.3)
    common = np.empty(found.left.size)
    for number, (one, other) in enumerate(zip(found.left.tolist(), found.right.tolist(), strict=True)):
        first, second = slice(places[one], places[one + 1]), slice(places[other], places[other + 1])
        common[number] = weight[first][np.isin(sets.values[first], sets.values[second], assume_unique=True)].sum()
    enough = common >= least * (total[found.left] + total[found.right] - common)
    return found.left[enough], found.right[enough]


WAYS: dict[str, Callable[[Collection], Pairs]] = {
    "the default rule": lambda pages: long_enough(
        pages, near_pairs(default_rule(), [page.read for page in pages.pages])
    ),
    "names not looked at": lambda pages: pages.default,
    "whole texts, exactly": lambda pages: near(pages.sets),
    "rare weigh more, 0.5": lambda pages: weighted(pages, 0.5),
    "rare weigh more, 0.6": lambda pages: weighted(pages, 0.6),
    "shingles, 100 documents": lambda pages: near(pages.rare(100, clusters=False)),
    "shingles, 50 clusters": lambda pages: near(pages.rare(50, clusters=True)),
    "shingles, 100 clusters": lambda pages: near(pages.rare(100, clusters=True)),
    "blocks, 100 documents": lambda pages: near(pages.unrepeated(100, clusters=False)),
    "blocks, 50 clusters": lambda pages: near(pages.unrepeated(50, clusters=True)),
    "blocks, 100 clusters": lambda pages: near(pages.unrepeated(100, clusters=True)),
}
"""What is called near; the numbers are the most documents or clusters that may have what is compared."""


def judged(pages: Collection, pairs: Pairs) -> Judged:
    """How right pairs are, by what the pages say themselves."""
    shares, returned = jaccard(pages.own, *pairs), set(_codes(pairs))
    wanted = [{code for code, value in pages.wanted.items() if low <= value < high} for low, high in BANDS]
    right = tuple(int(np.count_nonzero(shares >= share)) for share in SHARES)
    return Judged(len(returned), right, tuple(map(len, wanted)), tuple(len(each & returned) for each in wanted))


def _codes(pairs: Pairs) -> list[int]:
    return list(map(int, (np.minimum(*pairs) << 32 | np.maximum(*pairs)).tolist()))


def page_of(path: Path) -> Page:
    """A page of HTML."""
    data = path.read_bytes()
    selector = next((each for part, each in SITES.items() if f"/{part}/" in path.as_posix()), "")
    marked = _ENDS.sub(_WRITTEN + rb" \1", _BEGINS.sub(rb"\1 " + _WRITTEN, data))
    blocks = _text(marked).split(_MARK)
    tree = LexborHTMLParser(data)
    for node in tree.css(selector) if selector else ():
        node.decompose()
    own = _text((tree.html or "").encode("utf-8", "replace"))
    return Page(_text(data), tuple(filter(None, (" ".join(each.split()) for each in blocks))), own, _read(data))


def _text(data: bytes) -> str:
    return _read(_CLASS_OR_ID.sub(rb"no-\1", data))


def _read(data: bytes) -> str:
    return extract_html(data, "landmarks", "fast").text


def collection(folder: Path) -> Collection:
    """The documents of a folder: its pages of HTML, or where it has none, its texts."""
    paths = sorted(path for path in folder.rglob("*.htm*") if path.is_file())
    pages = map(page_of, paths) if paths else (Page(text, (text,), text, text) for text in texts_of(folder))
    return Collection([page for page in pages if token_hashes(page.text).size >= DEFAULT_MIN_TOKENS])


def copied(pages: Collection) -> Collection:
    """The pages and COPIES copies each of COPIED of them, in which every hundredth word is another."""
    draw = random.Random(1)
    own = [page.own for page in pages.pages if 300 <= len(page.own.split()) <= 1500]
    vocabulary = " ".join(own[:50]).split()

    def copies() -> Iterator[Page]:
        for text in draw.sample(own, COPIED):
            for _ in range(COPIES):
                words = [draw.choice(vocabulary) if draw.random() < 0.01 else word for word in text.split()]
                # A paragraph has fifty words here.
                blocks = tuple(" ".join(words[start : start + 50]) for start in range(0, len(words), 50))
                yield Page(" ".join(words), blocks, " ".join(words), " ".join(words))

    return Collection([*pages.pages, *copies()])


def run(shared_data: Path, folders: Sequence[str] = ()) -> dict[str, dict[str, Judged]]:
    """Measure and print; by collection, then by way."""
    shown = " ".join(f"{f'{low:.0%}':>7}" for low, _ in BANDS)
    print(
        f"{'':51}{'pairs':>8}  wrong: below {SHARES[0]:.0%}, {SHARES[1]:.0%}   found from: {shown}   (pairs there are)"
    )
    results: dict[str, dict[str, Judged]] = {}
    made: dict[str, Collection] = {}
    for folder in [*(shared_data / name for name in SETS), *map(Path, folders)]:
        name = "/".join(folder.parts[-2:])
        made[name] = collection(folder)
        if folder == shared_data / SETS[0]:
            made[f"{name}, copied"] = copied(made[name])
        for each in list(made):
            pages = made.pop(each)
            results[each] = {}
            for way, pairs in WAYS.items():
                results[each][way] = judged(pages, pairs(pages))
                _print(f"{each} ({len(pages.pages):,})", way, results[each][way])
    return results


def _print(name: str, way: str, figures: Judged) -> None:
    wrong = " ".join(f"{figures.returned - right:9,}" for right in figures.right)
    bands = list(zip(figures.found, figures.wanted, strict=True))
    found = " ".join(f"{count / total:7.1%}" if total else f"{'-':>7}" for count, total in bands)
    counts = ", ".join(f"{total:,}" for total in figures.wanted)
    print(f"{name[-26:]:26} {way:24}{figures.returned:8,}  {wrong}              {found}   ({counts})", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Run with the options of the command line."""
    from tests.benchmarks.__main__ import SHARED_DATA

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks repeats", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", action="append", default=[], metavar="FOLDER")
    run(SHARED_DATA, parser.parse_args(arguments).folder)
