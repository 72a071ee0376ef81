"""What is left of texts after passages that they repeat were cut, beside text-dedup and datatrove, on the same texts.

Run as `python -m tests.benchmarks cuts [--texts N] [--environment FOLDER] [--suffix-arrays FOLDER]`. The others run as
they come, in an environment of their own that pip makes: text-dedup 0.4.0, its suffix arrays, from 300 bytes on, about
50 words; datatrove 0.10.1, its three sentences in a row. The former calls a program in Rust that no registry has:
`--suffix-arrays` is a checkout of google-research/deduplicate-text-datasets in which `cargo build --release` was run;
without it text-dedup is not measured.

The texts are real pages, one of each cluster of near-duplicates, and N made ones. Left is the share of the words of
what is written that lie in 50 words in a row which stand in another written text too; lost is the share of the distinct
runs of 8 words in the texts that no written text has.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import arrow, parquet
from indexer.core.passages.repeats import RepeatFinder
from indexer.text.words import words_of
from tests.benchmarks.batch import Cost
from tests.benchmarks.passages import WORDS, made_texts, real_pages, taken_by

PACKAGES = ["datatrove[io,processing]==0.10.1", "spacy>=3.8", "text-dedup==0.4.0"]
BYTES, RUN = 300, 8
TEXTS = 20_000

Cutter = Callable[[Path, Path, str, Path | None], tuple[list[str], Cost] | None]

# cargo run ARGUMENTS, by the program that was built with optimisations, in place of one that is built without.
_CARGO = '#!/bin/sh\nshift\nexec ./target/release/dedup_dataset "$@"\n'
_READ = """
import sys, datasets, pyarrow.parquet
pyarrow.parquet.write_table(datasets.load_from_disk(sys.argv[1]).data.table, sys.argv[2])
"""
_DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import SentenceDedupFilter, SentenceDedupSignature, SentenceFindDedups
from datatrove.pipeline.dedup.sentence_dedup import SentDedupConfig
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter

given, folder = sys.argv[1:]
config = SentDedupConfig(only_dedup_in_index=False)

if __name__ == "__main__":
    reader = ParquetReader(given, glob_pattern="*.parquet")
    kept = ParquetWriter(f"{folder}/kept", compression=None)
    for number, pipeline in enumerate((
        [reader, SentenceDedupSignature(f"{folder}/signatures", config=config)],
        [SentenceFindDedups(f"{folder}/signatures", f"{folder}/found", config=config)],
        [reader, SentenceDedupFilter(f"{folder}/found", config=config), kept],
    )):
        LocalPipelineExecutor(pipeline, tasks=1, logging_dir=f"{folder}/logs/{number}").run()
"""


def environment(folder: Path) -> str:
    """The Python of an environment with the others, which is made where it isn't yet."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return str(python.absolute())


def neardup(given: Path, folder: Path, _python: str, _program: Path | None) -> tuple[list[str], Cost]:
    """The texts that are written, and what that takes."""
    out = folder / "out"
    command = [sys.executable, "-m", "indexer", "batch", "passages", str(given), "--out", str(out)]
    cost = taken_by([*command, "--words", str(WORDS)])
    return _texts(out), cost


def text_dedup(given: Path, folder: Path, python: str, program: Path | None) -> tuple[list[str], Cost] | None:
    """The same; None without the program in Rust."""
    if program is None or not (program / "target" / "release" / "dedup_dataset").exists():
        print("NOT MEASURED: text-dedup, for want of --suffix-arrays FOLDER, built by cargo build --release")
        return None
    programs, debug = folder / "programs", program / "target" / "debug"
    programs.mkdir()
    (programs / "cargo").write_text(_CARGO)
    (programs / "cargo").chmod(0o755)
    if not debug.exists():
        # Its script calls what is built without optimisations by name.
        debug.symlink_to("release")
    cost = taken_by(
        [
            *(
                "env",
                f"PATH={programs}:{Path(python).absolute().parent}:/usr/local/bin:/usr/bin:/bin",
                "HF_HUB_OFFLINE=1",
                python,
            ),
            *("-m", "text_dedup.suffix_array", "--path", "parquet", "--data_files", str(given / "texts.parquet")),
            *("--split", "train", "--column", "text", "--k", str(BYTES), "--cache_dir", str(folder / "cache")),
            *("--output", str(folder / "made"), "--google_repo_path", str(program), "--num_proc", "2"),
        ]
    )
    subprocess.run([python, "-c", _READ, str(folder / "made"), str(folder / "made.parquet")], check=True)
    return _texts(folder / "made.parquet"), cost


def datatrove(given: Path, folder: Path, python: str, _program: Path | None) -> tuple[list[str], Cost]:
    """See `neardup`."""
    script = folder / "script.py"
    script.write_text(_DATATROVE)
    cost = taken_by([python, str(script), str(given), str(folder)])
    return _texts(folder / "kept"), cost


CUTTERS: dict[str, Cutter] = {"neardup": neardup, "text-dedup": text_dedup, "datatrove": datatrove}


def _texts(path: Path) -> list[str]:
    files = [path] if path.is_file() else sorted(path.rglob("*.parquet"))
    return [text for file in files for text in parquet.read_table(file, columns=["text"])["text"].to_pylist() if text]


def runs_of(texts: Sequence[str]) -> npt.NDArray[np.uint64]:
    """A hash of each distinct run of words."""
    found = []
    for text in texts:
        words = words_of(text, identifiers=False).hashes
        if words.size >= RUN:
            rows = np.lib.stride_tricks.sliding_window_view(words, RUN)
            found.append((rows * _FACTORS).sum(axis=1, dtype=np.uint64))
    return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.uint64)


_FACTORS = np.random.default_rng(1).integers(1, 1 << 63, RUN, dtype=np.uint64) | np.uint64(1)


def left_in(texts: Sequence[str]) -> tuple[int, int]:
    """The words of texts, and those in a passage that stands in two of them."""
    total, inside = 0, 0
    with RepeatFinder(WORDS) as finder:
        for text in texts:
            words = words_of(text, identifiers=False).hashes
            total += words.size
            finder.add(words)
        found = finder.find()
    for first, last in zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True):
        one, other = np.searchsorted(found.starts, (first, last))
        depth = np.zeros(last - first + 1, dtype=np.int64)
        np.add.at(depth, found.starts[one:other] - first, 1)
        np.add.at(depth, found.ends[one:other] - first, -1)
        inside += int(np.count_nonzero(np.cumsum(depth)[:-1]))
    return total, inside


def compared(texts: Sequence[str], folder: Path, python: str, program: Path | None) -> dict[str, tuple[float, ...]]:
    """Print, and give for each the share of words that it cuts, what is left, what is lost, and what that takes."""
    given = folder / "given"
    given.mkdir()
    figures: dict[str, tuple[float, ...]] = {}
    names = [f"t{number}" for number in range(len(texts))]
    parquet.write_table(arrow.table({"id": names, "text": list(texts)}), given / "texts.parquet")
    (words, inside), runs = left_in(texts), runs_of(texts)
    print(f"-- {len(texts):,} texts, {words:,} words, {inside / words:.2%} of them in passages", flush=True)
    for name, cut in CUTTERS.items():
        own = folder / name
        own.mkdir()
        made = cut(given, own, python, program)
        if made is None:
            continue
        written, cost = made
        kept, still = left_in(written)
        lost = 1 - np.isin(runs, runs_of(written)).mean()
        figures[name] = 1 - kept / words, still / max(1, kept), float(lost), cost.processors, cost.peak
        print(
            f"{name:11} cuts {1 - kept / words:7.2%} of the words; {still / max(1, kept):7.2%} of what is written is "
            f"left in passages; {lost:7.2%} of the runs of {RUN} words are lost; {cost.processors:7.1f} s of "
            f"processors, peak {cost.peak:,.0f} MB",
            flush=True,
        )
    return figures


def run(data: Path, texts: int = TEXTS, where: Path | None = None, program: Path | None = None) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = environment(where or folder / "environment")
        for what, given in (("pages", real_pages(data)), ("made", made_texts(folder, texts))):
            (folder / what).mkdir()
            compared(given, folder / what, python, program)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as a program."""
    from tests.benchmarks.__main__ import SHARED_DATA

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="where the others are installed, and stay")
    parser.add_argument("--suffix-arrays", type=Path, metavar="FOLDER", help="the program that text-dedup calls")
    options = parser.parse_args(arguments)
    run(SHARED_DATA, options.texts, options.environment, options.suffix_arrays and options.suffix_arrays.resolve())


if __name__ == "__main__":
    main()
