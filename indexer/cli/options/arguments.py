"""Checks of a user's names: files, standard input, stored documents."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from indexer.cli.options.groups import of_dataclass, refuse_typed, typed
from indexer.cli.terminal.output import shown_store
from indexer.errors import NotFoundError, UsageError
from indexer.library.asking import is_id
from indexer.library.options import Extraction, NamedColumns
from indexer.model.paths import printable_path, store_file


def require_some_stored(names: Sequence[str]) -> None:
    if typed("store") and not any(map(is_id, names)):
        shown = [printable_path(name) for name in names]
        raise UsageError(
            f"--store does nothing with files alone, such as {' and '.join(shown)}; id:{shown[0]} is the "
            "stored document of that id"
        )


def require_some_file(names: Sequence[str], is_none: Callable[[str], bool] = is_id) -> None:
    if names and all(map(is_none, names)):
        asked = [str(each.name) for kind in (Extraction, NamedColumns) for each in of_dataclass(kind).parameters]
        shown = ", ".join(map(printable_path, names))
        refuse_typed(asked, f"says how files are read, and there is no file of this name: {shown}")


def any_stored(names: Sequence[str], store: str) -> bool:
    named = next(filter(is_id, names), None)
    if named is not None and store_file(store) and not os.path.exists(store_file(store)):
        raise NotFoundError(
            f"{printable_path(named)}: no such file, and no store at {shown_store(store)} to look for an id in"
        )
    return named is not None


def from_stdin(text: str) -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" else text
