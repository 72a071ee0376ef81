"""Short texts: which edits of titles a store of the kind `short` finds, what else it calls near, and what that takes.

Run as `python -m tests.benchmarks short [--others N]`. Titles are made up in several languages
(`tests.benchmarks.made_titles`). Of each length some are stored together with twins, which differ in a number, a name
or a negation, among 100,000 others; then an edit of each is asked about: one word in ten, and at least one, is changed,
cut, swapped with the next one, or misspelt. "first" are titles of which another word stands first, with a capital as
names have. In Chinese a title has about two words for each of this table: its words are characters.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import indexer
from tests.benchmarks.made_titles import EDITS, LANGUAGES, TWINS, Title, Titles, product

OTHERS, ASKED = 100_000, 300
_LONG = 8
LENGTHS = ((3, 3), (4, 4), (5, 5), (6, 7), (8, 10), (11, 15), (16, 22))


def run() -> dict[str, Any]:
    """Measure and print; gives the figures."""
    return main(())


def main(arguments: Sequence[str]) -> dict[str, Any]:
    """Measure and print, by options; gives the figures."""
    parser = argparse.ArgumentParser(prog="short")
    parser.add_argument("--others", type=int, default=OTHERS, help="other titles in the store")
    parser.add_argument("--asked", type=int, default=ASKED, help="titles of each length that are edited")
    parser.add_argument("--languages", nargs="*", default=LANGUAGES)
    parser.add_argument("--pairs", nargs="*", type=int, default=(100_000, 200_000), help="titles to list the pairs of")
    wanted = parser.parse_args(arguments)
    made: dict[str, Any] = {"found": {}, "pairs": {}}
    for language in wanted.languages:
        made["found"][language] = found(language, wanted.others, wanted.asked)
    for count in wanted.pairs:
        made["pairs"][count] = grown(count)
    return made


def found(language: str, others: int, asked: int) -> dict[str, Any]:
    """The share of titles whose edit is found, by length and edit; of all that is returned the share that is right."""
    titles = Titles(language, 1)
    lengths = [(low, high) for low, high in LENGTHS for _ in range(asked)]
    originals = [titles.made(titles.draw.randint(*bounds)) for bounds in lengths]
    stored, edited = dict[str, str](), dict[tuple[int, str], Title]()
    for number, title in enumerate(originals):
        for name, edit in EDITS.items():
            edited[number, name] = edit(titles, title)
        if title.kinds[0] != "name":
            edited[number, "first"] = titles.changed(title, first=True)
        stored[f"o{number}"] = title.text
        stored |= {f"t{number} {kind}": titles.twin(title, kind).text for kind in TWINS}
    products = [product(titles.draw) for _ in range(asked)]
    stored |= {f"p{number}": one for number, (one, _) in enumerate(products)}
    rest = ((f"x{number}", titles.made(titles.draw.randint(3, 22)).text) for number in range(others))
    counts = {name: Counter[str]() for name in ("3 to 7", "8 and more")}
    hits: dict[tuple[tuple[int, int], str], list[bool]] = {}
    with tempfile.TemporaryDirectory() as folder, indexer.open(Path(folder) / "t.neardup", kind="short") as store:
        lines = Path(folder) / "titles.jsonl"
        with lines.open("w", encoding="utf-8") as file:
            for name, text in chain(stored.items(), rest):
                file.write(json.dumps({"id": name, "text": text}) + "\n")
        store.index(lines)
        answers = store.similar_each([title.text for title in edited.values()], limit=None)
        for ((number, name), title), answer in zip(edited.items(), answers, strict=True):
            near = {match.id for match in answer.matches if match.near}
            hits.setdefault((lengths[number], name), []).append(f"o{number}" in near)
            own = counts["8 and more" if lengths[number][0] >= _LONG else "3 to 7"]
            own["right"] += f"o{number}" in near
            for each in near - {f"o{number}"}:
                if each.startswith("t") and stored[each] != stored[f"o{number}"]:
                    own["twins"] += 1
                elif each.startswith("x") or (each.startswith("o") and not _is_edit(title, each, originals)):
                    own["others"] += 1
        sizes = store.similar_each([other for _, other in products])
        sized = sum(match.near and match.similarity < 1 for answer in sizes for match in answer.matches)
        store.cluster()
        surplus = [row for row in store.prune(dry_run=True).surplus if not row.kept]
        pruned = sum(stored.get(row.id) != stored.get(row.repeats) for row in surplus if row.id.startswith("t"))
    figures = {key: sum(each) / len(each) for key, each in hits.items()}
    shown(language, figures)
    for name, own in counts.items():
        said = f"{own['twins']:,} twins and {own['others']:,} others are returned beside"
        print(f"  {name} words: {own['right'] / own.total():.2%} of what is returned is right; {said}")
    long = [hit for (bounds, name), each in hits.items() if bounds[0] >= _LONG and name != "first" for hit in each]
    print(f"  8 words and more: {sum(long) / len(long):.2%} are found")
    print(f"  {sized:,} of {asked:,} products are near another size; {pruned:,} twins would be pruned\n", flush=True)
    return {"found": figures, "counts": counts, "sizes": sized, "pruned": pruned, "long": sum(long) / len(long)}


def _is_edit(title: Title, other: str, originals: Sequence[Title]) -> bool:
    """True for another title that has the same words, which may have been made twice."""
    return other.startswith("o") and {*originals[int(other[1:])].words} == {*title.words}


def shown(language: str, figures: Mapping[tuple[tuple[int, int], str], float]) -> None:
    """Print the shares that are found."""
    print(f"{language:6s}" + "".join(f"{f'{low}-{high}' if low < high else str(low):>9s}" for low, high in LENGTHS))
    for name in (*EDITS, "first"):
        print(f"  {name:10s}" + "".join(f"{figures.get((each, name), 0):9.1%}" for each in LENGTHS))


def grown(count: int) -> dict[str, float]:
    """The time and memory that it takes to store so many titles and products, and to list their pairs."""
    titles = Titles("en", 2)

    def texts() -> Iterable[tuple[str, str]]:
        draw = random.Random(3)
        for number in range(count // 2):
            yield f"x{number}", titles.made(titles.draw.randint(5, 15)).text
            yield f"p{number}", product(draw)[number % 2]

    with tempfile.TemporaryDirectory() as folder, indexer.open(Path(folder) / "t.neardup", kind="short") as store:
        begin = _spent()
        store.add_many(texts())
        put = _spent() - begin
        begin = _spent()
        pairs = sum(1 for _ in store.iter_pairs())
        listed = _spent() - begin
        begin = _spent()
        clusters = store.cluster()
        grouped = _spent() - begin
        size = (Path(folder) / "t.neardup").stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:>10,} titles: put {put / count * 1e6:.0f} µs each, {size / count:.0f} bytes; {pairs:,} pairs in "
        f"{listed:.1f} s, clusters in {grouped:.1f} s ({clusters.clusters:,}), peak {peak:,.0f} MB"
    )
    return {"put": put, "pairs": listed, "cluster": grouped, "found": pairs, "bytes": size / count}


def _spent() -> float:
    """The processor time of this process and those that it waited for, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
