"""The demonstration: real documents are fetched, indexed, and asked about: `make demo`.

`python docker/demo.py --fetch FOLDER` only fetches the documents, into FOLDER.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from neardup.errors import NeardupError

FOLDER = Path(".demo")
STORE = FOLDER / "demo.neardup"
REPORT = FOLDER / "report.html"

# Source releases of Python packages that bring documents along: two versions of a library's HTML documentation; RFCs
# and drafts, each as XML, HTML and text; PDFs of all kinds, some encrypted or damaged.
PACKAGES = (
    ("mako", "1.2.4", ("doc/*.html",)),
    ("mako", "1.3.10", ("doc/*.html",)),
    ("xml2rfc", "3.12.0", ("tests/input/*.xml", "tests/valid/*.html", "tests/valid/*.xml", "tests/valid/*.txt")),
    ("pypdf", "5.1.0", ("resources/*.pdf", "resources/encryption/*.pdf")),
)
# What to ask, below the folder of documents.
QUESTIONS = (
    "mako-1.3.10/doc/caching.html",
    "xml2rfc-3.12.0/tests/input/rfc6787.xml",
    "pypdf-5.1.0/resources/crazyones.pdf",
)
_LARGEST = 20_000_000


def main(arguments: list[str]) -> int:
    """Run the demonstration on fetched documents, or on the folder named; the exit code."""
    try:
        if arguments[:1] == ["--fetch"]:
            print(f"the documents are in {_fetched(Path(arguments[1]))}")
            return 0
        documents = Path(arguments[0]) if arguments else _fetched(FOLDER / "documents")
        FOLDER.mkdir(exist_ok=True)
        if code := _run("index", str(documents), "--store", str(STORE)):
            return code
        _run("failures", "--store", str(STORE))
        asked = list(_with_neighbours(3)) if arguments else _questions(documents)
        for question in asked:
            _run("similar", *question, "--limit", "8", "--store", str(STORE))
        if not asked:
            print("\nNo two of these documents are near-duplicates.")
        _run("cluster", "--store", str(STORE))
        _run("report", "--store", str(STORE), "-o", str(REPORT))
    except NeardupError as error:
        print(f"neardup: {error}", file=sys.stderr)
        return error.exit_code
    print(f"\nOpen {REPORT} in a browser. The store is {STORE}; try: neardup stats --store {STORE}")
    return 0


def _fetched(folder: Path) -> Path:
    releases = FOLDER / "releases"
    releases.mkdir(parents=True, exist_ok=True)
    missing = [package for package in PACKAGES if not (folder / f"{package[0]}-{package[1]}").is_dir()]
    # All at once, as pip spends its time on waiting and on reading what each release says of itself.
    fetching = [_fetching(name, version, releases) for name, version, _ in missing]
    codes = [process.wait() for process in fetching]
    for (name, version, patterns), code in zip(missing, codes, strict=True):
        if code:
            raise NeardupError(
                f"pip could not fetch {name} {version}; without a package registry, name a folder of your own: "
                "make demo DOCS=folder"
            )
        [release] = [path for path in releases.iterdir() if path.name.lower() == f"{name}-{version}.tar.gz"]
        _unpack(release, folder, patterns)
    return folder


def _fetching(name: str, version: str, releases: Path) -> subprocess.Popen[bytes]:
    print(f"fetching the source release of {name} {version}", flush=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", ":all:", "--dest", str(releases), f"{name}=={version}"]
    return subprocess.Popen(command)  # noqa: S603 - our own arguments


def _unpack(release: Path, folder: Path, patterns: tuple[str, ...]) -> None:
    top = release.name.lower().removesuffix(".tar.gz")
    partial = folder / f"{top}.partial"
    with tarfile.open(release) as archive:
        for member in archive:
            inner = Path(*Path(member.name).parts[1:])
            if member.isfile() and member.size <= _LARGEST and any(_matches(inner, pattern) for pattern in patterns):
                archive.extract(member.replace(name=str(inner)), partial, filter="data")
    partial.rename(folder / top)


def _matches(path: Path, pattern: str) -> bool:
    return len(path.parts) == pattern.count("/") + 1 and path.match(pattern)


def _questions(documents: Path) -> list[list[str]]:
    return [[str(documents / name)] for name in QUESTIONS]


def _with_neighbours(most: int) -> Iterator[list[str]]:
    import neardup

    with neardup.open(STORE, read_only=True) as collection:
        near = (each for each in collection if not each.short and collection.similar(id=each.id, limit=1))
        yield from ([f"--id={each.id}"] for each in islice(near, most))


def _run(*arguments: str) -> int:
    print(f"\n$ neardup {shlex.join(arguments)}", flush=True)
    return subprocess.run([sys.executable, "-m", "neardup", *arguments], check=False).returncode  # noqa: S603 - our own arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
