"""A process that writes to a store: `python writer.py STORE rounds|hold|once ...`, started by the tests."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from indexer.library.opening import open_store
from indexer.model import Fingerprint, Record, Ref
from indexer.schemes.simhash import sketched
from tests.stores.made import INFO


def made(number: int, version: int) -> Record:
    """Document `number` as its version `version` has it: all of it follows from the two."""
    value = int.from_bytes(hashlib.sha256(b"%d.%d" % (number, version)).digest()[:8], "big")
    return Record(
        Ref(f"{number:05d}"),
        sketched(Fingerprint(value, 500)),
        title=str(version),
        metadata={"v": version},
    )


def rounds(first: int) -> Iterator[Record]:
    """The same 3,000 documents again and again, each time as a new version."""
    version = first
    while True:
        for number in range(3000):
            yield made(number, version)
        version += 1


def main() -> None:
    path, what, *rest = sys.argv[1:]
    with open_store(Path(path), create=INFO, wait=float(os.environ.get("WRITER_WAIT", "30"))) as store:
        if what == "rounds":
            for count, _ in enumerate(store.put(rounds(int(rest[0])))):
                if count % 500 == 0:
                    print(count, flush=True)
        elif what == "hold":
            print("holding", flush=True)
            sys.stdin.read()
        else:
            print(sum(1 for _ in store.put(made(number, 0) for number in range(int(rest[0])))), flush=True)


if __name__ == "__main__":
    main()
