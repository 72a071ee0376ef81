"""What is found of passages that documents have in common, and what that takes, beside what is used for training text.

Run as `python -m tests.benchmarks passages [--texts N] [--documents N] [--environment FOLDER]
[--megabytes N]...`. The texts are real
pages, one of each cluster of near-duplicates, and then N made texts, a quarter of which repeat others. A word should be
found if it lies in 50 words in a row that stand in another document too. Beside neardup are a suffix array over the
bytes of all normalised texts, which finds exactly that (Lee et al., "Deduplicating training data makes language models
better", ACL 2022; libdivsufsort by pydivsufsort 0.0.20, in an environment of its own that pip makes), and hashes of
three sentences in a row, as datatrove compares them. These are made here, in few lines of Python, so that their time
says little.

Then `neardup batch passages` is timed on N made texts, and its memory, with reading and tokenising, is set beside that
of a suffix array alone, of nothing but the bytes of the same texts (`--megabytes`). Processors and peak memory are of a
process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from indexer.batch.arrow import arrow, parquet
from indexer.core.text import tokenise
from indexer.library.texts import dedupe
from tests.benchmarks.batch import Cost, show, write
from tests.judging import texts_of

PACKAGES = ["pydivsufsort==0.0.20", "pyarrow", "numpy"]
WORDS = 50
# So many of the made texts have about a megabyte.
_A_MEGABYTE = 500

# Each reads the texts and writes a byte for each word of all, 1 where it is found. `words` are those of `text`, folded
# and one space apart.
_SUFFIX_ARRAY = """
import sys
import numpy as np, pyarrow.parquet as pq
from pydivsufsort import divsufsort, kasai

given, out, least = sys.argv[1], sys.argv[2], int(sys.argv[3])
texts = pq.read_table(given, columns=["words"])["words"].to_pylist()
data = np.frombuffer(("\\n".join(texts) + "\\n").encode(), dtype=np.uint8).copy()
order = divsufsort(data)
common = kasai(data, order)
ends = np.flatnonzero((data == 32) | (data == 10))
begins = np.append(0, ends[:-1] + 1)
document = np.append(0, np.cumsum(data[ends] == 10))[:-1]
last = np.minimum(np.arange(begins.size) + least - 1, begins.size - 1)
whole = (document[last] == document) & (np.arange(begins.size) + least <= begins.size)
size = np.where(whole, ends[last] - begins, 0)
number = np.full(data.size, -1, dtype=np.int32)
number[begins] = np.arange(begins.size)
word = number[order]
places = np.flatnonzero((word >= 0) & whole[np.maximum(word, 0)])
words = word[places]
# What each has in common with the one before it in order is the least of what lies between.
least_common = np.minimum.reduceat(common, places)[:-1] if places.size else common
same = (least_common >= size[words[1:]]) & (size[words[1:]] == size[words[:-1]])
heads = np.append(0, np.flatnonzero(~same) + 1)
holders = document[words]
several = np.maximum.reduceat(holders, heads) != np.minimum.reduceat(holders, heads)
repeated = words[np.repeat(several, np.diff(np.append(heads, words.size)))]
depth = np.zeros(begins.size + 1, dtype=np.int64)
depth[repeated] += 1
np.add.at(depth, repeated + least, -1)
(np.cumsum(depth)[:-1] > 0).astype(np.uint8).tofile(out)
"""
_NEARDUP = """
import sys
import numpy as np, pyarrow.parquet as pq
from indexer.core.passages.repeats import RepeatFinder
from indexer.text.words import words_of

given, out, least = sys.argv[1], sys.argv[2], int(sys.argv[3])
with RepeatFinder(least) as finder:
    for batch in pq.ParquetFile(given).iter_batches(1000, columns=["text"]):
        for text in batch["text"].to_pylist():
            finder.add(words_of(text, identifiers=False).hashes)
    found = finder.find()
with open(out, "wb") as file:
    for document, first in enumerate(found.copy_of.tolist()):
        one, other = np.searchsorted(found.starts, found.offsets[first : first + 2])
        depth = np.zeros(int(found.offsets[document + 1] - found.offsets[document]) + 1, dtype=np.int64)
        np.add.at(depth, found.starts[one:other] - found.offsets[first], 1)
        np.add.at(depth, found.ends[one:other] - found.offsets[first], -1)
        file.write((np.cumsum(depth)[:-1] > 0).astype(np.uint8).tobytes())
"""
_SENTENCES = """
import re, sys
from collections import defaultdict
import numpy as np, pyarrow.parquet as pq
from indexer.text.words import words_of

given, out = sys.argv[1:3]
units, row = re.compile(r"[^.!?\\n]+[.!?]*"), 3
texts = pq.read_table(given, columns=["text"])["text"].to_pylist()
def pieces(text):
    spans = [each.span() for each in units.finditer(text) if each[0].strip()]
    for run in zip(*(spans[place:] for place in range(row))):
        yield run[0][0], run[-1][1], hash(tuple(" ".join(text[one:other].lower().split()) for one, other in run))
holders = defaultdict(set)
for number, text in enumerate(texts):
    for _, _, value in pieces(text):
        holders[value].add(number)
with open(out, "wb") as file:
    for text in texts:
        words = words_of(text, identifiers=False)
        found = np.zeros(len(words), dtype=np.uint8)
        for begin, end, value in pieces(text):
            if len(holders[value]) > 1:
                found[np.searchsorted(words.starts, begin) : np.searchsorted(words.starts, end)] = 1
        file.write(found.tobytes())
"""
_SUFFIX_ARRAY_ALONE = """
import sys
import numpy as np
from pydivsufsort import divsufsort

divsufsort(np.fromfile(sys.argv[1], dtype=np.uint8))
"""
_LAUNCH = """
import resource, subprocess, sys, time
begin = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def environment(folder: Path) -> str:
    """The Python of an environment with the others, which is made where it isn't yet."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return str(python)


def taken_by(command: Sequence[str]) -> Cost:
    """What a command takes, started by a process that is small itself, whose memory would count too."""
    printed = subprocess.run([sys.executable, "-c", _LAUNCH, *command], check=True, stdout=subprocess.PIPE).stdout
    return Cost(*map(float, printed.split()[-3:]))


def found_by(python: str, script: str, given: Path, option: str) -> tuple[np.ndarray, Cost]:
    """The flags of all words that a script finds, and what it takes."""
    out = given.with_name("found")
    taken = taken_by([python, "-c", script, str(given), str(out), option])
    return np.fromfile(out, dtype=np.uint8).astype(bool), taken


def real_pages(data: Path) -> list[str]:
    """Pages, one of each cluster of near-duplicates."""
    texts = texts_of(data / "html" / "mixed")
    return [texts[place] for place in dedupe(texts).kept]


def made_texts(folder: Path, count: int) -> list[str]:
    """Made texts, as they are timed below."""
    write(folder / "texts.parquet", count)
    return list(parquet.read_table(folder / "texts.parquet", columns=["text"])["text"].to_pylist())


def compared(kept: Sequence[str], folder: Path, where: Path) -> dict[str, tuple[float, float, Cost]]:
    """Print, and give for each way the share of what is to be found, what it finds beside that, and what it takes."""
    words = [tokenise(text, numbers=True).tokens for text in kept]
    given = folder / "texts.parquet"
    folded = [b" ".join(each).decode() for each in words]
    parquet.write_table(arrow.table({"text": kept, "words": folded}), given)
    ways = {
        "suffix array": (environment(where), _SUFFIX_ARRAY, str(WORDS)),
        "neardup": (sys.executable, _NEARDUP, str(WORDS)),
        "three sentences": (sys.executable, _SENTENCES, ""),
    }
    found, exact = {}, np.zeros(0, dtype=bool)
    total = sum(map(len, words))
    print(f"{len(kept):,} texts, {total:,} words")
    for name, (python, script, option) in ways.items():
        flags, taken = found_by(python, script, given, option)
        exact = flags if name == "suffix array" else exact
        share = float(np.count_nonzero(flags & exact) / np.count_nonzero(exact))
        beside = float(np.count_nonzero(flags & ~exact) / total)
        found[name] = share, beside, taken
        print(
            f"{name:16} finds {share:7.2%} of {np.count_nonzero(exact):,} words, and of all words {beside:.2%} beside; "
            f"{taken.processors:6.1f} s of processors, peak {taken.peak:,.0f} MB",
            flush=True,
        )
    return found


def memory(folder: Path, where: Path, megabytes: int) -> tuple[Cost, Cost]:
    """Print, and give what `batch passages` takes for so many bytes of text, and what a suffix array of them does."""
    made, plain = folder / "sized.parquet", folder / "sized.txt"
    write(made, megabytes * _A_MEGABYTE)
    with plain.open("wb") as out:
        for batch in parquet.ParquetFile(made).iter_batches(columns=["text"]):
            out.write("\n".join(batch["text"].to_pylist()).encode())
    size = plain.stat().st_size / 1e6
    own = taken_by([sys.executable, "-m", "indexer", "batch", "passages", str(made)])
    other = taken_by([environment(where), "-c", _SUFFIX_ARRAY_ALONE, str(plain)])
    for name, taken in (("batch passages", own), ("suffix array alone", other)):
        print(f"{size:,.0f} MB of text: {name:20}{taken.processors:7.1f} s of processors, peak {taken.peak:,.0f} MB")
    return own, other


def run(
    data: Path,
    documents: int = 200_000,
    where: Path | None = None,
    texts: int = 0,
    megabytes: Sequence[int] = (),
) -> dict[str, tuple[float, float, Cost]]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = compared(real_pages(data), folder, where or folder / "environment")
        if texts:
            compared(made_texts(folder, texts), folder, where or folder / "environment")
        write(folder / "made.parquet", documents)
        command = [sys.executable, "-m", "indexer", "batch", "passages", str(folder / "made.parquet")]
        show("batch passages", documents, taken_by(command))
        for size in megabytes:
            memory(folder, where or folder / "environment", size)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    from tests.benchmarks.__main__ import SHARED_DATA

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="where the suffix array is, and stays")
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--megabytes", type=int, action="append", default=[], metavar="N")
    options = parser.parse_args(arguments)
    run(SHARED_DATA, options.documents, options.environment, options.texts, options.megabytes)


if __name__ == "__main__":
    main()
