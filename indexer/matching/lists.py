"""Lists of fingerprints, and other stores, to compare with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from indexer.errors import UsageError
from indexer.matching.nodes import Nodes, nodes_of, read_nodes
from indexer.matching.rule import MatchRule
from indexer.model import SIMHASH_DOC, Ref, own_files, parse_fingerprint
from indexer.model.paths import printable_path
from indexer.model.ragged import Ragged
from indexer.stores.base import Store
from indexer.stores.sketches import Found

_LONGEST_LINE = 1 << 20


def read_list(path: Path, rule: MatchRule) -> Nodes:
    """Documents from a file of JSON lines with "hash", and "id" or "name", as `neardup hash --json` prints them.

    Raises UsageError with the file and the line, and for a rule with other schemes than simhash-doc.
    """
    if set(rule.schemes) != {SIMHASH_DOC}:
        more = f"{rule.in_words} compares more; ask with --match {SIMHASH_DOC}@3bits"
        raise UsageError(f"{path}: has simhashes alone, and {more}")
    refs: list[Ref] = []
    payloads: list[bytes] = []
    for number, entry in json_lines(path):
        try:
            text, identity = entry["hash"], str(entry.get("id", entry.get("name", "")))
            if text is not None:
                payloads.append(parse_fingerprint(text).value.to_bytes(8, "big"))
                refs.append(Ref(identity or f"line {number}"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f'{path}: line {number} is not a JSON object with "hash" and "id" or "name"') from error
        except UsageError as error:
            raise UsageError(f"{path}: line {number}: {error}") from error
    return nodes_of(rule, [Found(refs, {SIMHASH_DOC: Ragged.of_bytes(payloads)})])


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The values in a file of JSON lines with their numbers; None for what is no JSON. Raises UsageError."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=own_files.reader) as lines:
            for number, line in enumerate(iter(lambda: lines.readline(_LONGEST_LINE), ""), 1):
                if line.strip():
                    try:
                        value = json.loads(line)
                    except (ValueError, RecursionError):
                        value = None
                    yield number, value
    except OSError as error:
        raise UsageError(f"{printable_path(str(path))}: can't be read: {error.strerror}") from error


def is_store(name: str) -> bool:
    return "://" in name or own_files.is_database(name)


def read_store(other: Store, store: Store, rule: MatchRule, *, name: str, include_short: bool = False) -> Nodes:
    """The documents of another store, to compare with those of `store`; `name` is the other one's.

    Raises IncompatibleStoreError if their fingerprints were made in different ways.
    """
    store.info.require_comparable(other.info, name)
    return read_nodes(other, rule, include_short=include_short)
