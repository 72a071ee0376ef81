"""Moves, links and undo, each killed before every single change that it makes to files: python -m ... FOLDER OTHER WAY.

Each time another run goes on, or takes it back, and everything is as it was.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from indexer.library.collection import open as open_collection
from tests.cli.command import write
from tests.cli.written import prose
from tests.library.relocated import STORE, tree

FILES = {"docs/a.txt": prose(1), "docs/sub/b.txt": prose(1), "docs/c.txt": prose(1) + "\n\n"}
_CHANGES = ("open", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink")


def killed(number: int, act: Callable[[], object]) -> bool:
    """Do it in a process that is killed before its n-th change after it has opened the list; False if it has fewer."""
    if child := os.fork():
        return os.waitpid(child, 0)[1] != 0
    before = itertools.count()
    begun = False

    def hook(event: str, words: tuple[object, ...]) -> None:
        nonlocal begun
        if begun and event in _CHANGES and next(before) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        begun = begun or (event == "open" and str(words[0]).endswith("acts.jsonl"))

    sys.addaudithook(hook)
    act()
    os._exit(0)


def main(folder: Path, other: Path, way: str) -> None:
    """Kill it everywhere."""
    os.chdir(folder)
    write(folder, FILES)
    with open_collection(STORE) as collection:
        collection.index("docs/a.txt")
        collection.index("docs")
        collection.cluster()
    before = tree(folder)

    def do(name: str = "acts.jsonl") -> None:
        with open_collection(STORE) as collection:
            kind = {"move_to": other} if way == "move" else {"link": way}
            collection.relocate(**kind, list_file=name)  # type: ignore[arg-type]

    def undo(name: str = "acts.jsonl") -> None:
        with open_collection(STORE) as collection:
            collection.undo(name)

    for begins in (do, undo):
        for number in itertools.count():
            if begins is undo:
                do()
            has_more = killed(number, begins)
            found = [path for place in (folder, other) for path in place.rglob("*.txt") if path.is_file()]
            assert all(path.read_text() in FILES.values() for path in found), (number, found)
            again = ["acts-again.jsonl"] * (number % 2)
            for name in again:
                do(name)
            for name in [*again, "acts.jsonl"]:
                # A run that died at once has left an empty list.
                if Path(name).stat().st_size:
                    undo(name)
            assert tree(folder) == before, number
            assert not [path for path in other.rglob("*") if path.is_file()], number
            assert not list(folder.rglob(".neardup-*")), number
            for name in (*again, "acts.jsonl"):
                Path(name).unlink()
            shutil.rmtree(other, ignore_errors=True)
            if not has_more:
                print(f"{begins.__name__}: killed in {number} places")
                break


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
