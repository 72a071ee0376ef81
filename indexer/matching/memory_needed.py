"""Remark that a store is too large for memory."""

from __future__ import annotations

import contextlib
from pathlib import Path

from indexer.matching.rule import MatchRule
from indexer.model import SIMHASH_DOC
from indexer.text.counts import counted

# What `pairs` and `cluster` hold of a document (docs/operations.md), beside the pairs themselves: by the simhash alone,
# and with other sketches.
LEAN_BYTES, DOCUMENT_BYTES = 300, 1000


def remark_on(documents: int, rule: MatchRule, available: int | None) -> str:
    """The remark that `available` bytes of memory don't hold so many documents; empty if they do."""
    needed = documents * (LEAN_BYTES if list(rule.schemes) == [SIMHASH_DOC] else DOCUMENT_BYTES)
    if available is None or needed <= available:
        return ""
    return (
        f"this takes about {_gigabytes(needed)} of memory for {counted(documents, 'document')}, and "
        f"{_gigabytes(available)} are available; neardup batch sketch and neardup batch cluster do the same in parts, "
        "within the memory that they are given, and neardup batch load puts the clusters into the store"
    )


def available_memory(root: Path = Path("/")) -> int | None:
    """The free bytes of this machine, or of the control group below `root`; None if unknown."""
    left = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = (root / "proc/meminfo").read_text().splitlines()
        left.append(1024 * int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]))
    group = root / "sys/fs/cgroup"
    with contextlib.suppress(OSError, ValueError):
        # It says "max" where there is no limit.
        left.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    return max(min(left), 0) if left else None


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"
