"""Extraction: bytes to a Document, in workers with limits."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from indexer.errors import ExtractionError
from indexer.extract.base import EXTRACTOR_VERSION, REASONS, Extracted, Failed, Item, Key, Limits, Options
from indexer.model import Document

if TYPE_CHECKING:
    from indexer.extract.pool import WorkerPool

__all__ = [
    "EXTRACTOR_VERSION",
    "REASONS",
    "Extracted",
    "Failed",
    "Item",
    "Limits",
    "Options",
    "WorkerPool",
    "extract",
    "extract_all",
]

_lock = threading.Lock()
# One worker each for the options and limits in use; a call for other ones begins a new worker and ends the old.
_pool: tuple[tuple[Options, Limits, int], WorkerPool[None]] | None = None


def __getattr__(name: str) -> Any:
    # What starts processes is imported when it is first asked for, so that the command starts at once.
    if name != "WorkerPool":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from indexer.extract import pool

    return pool.WorkerPool


def extract(
    source: str | os.PathLike[str] | bytes,
    *,
    name: str = "",
    options: Options = Options(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    sandbox: bool = True,
) -> Document:
    """The text of one document, from its path or its bytes; `name` helps if the content does not show its kind.

    With `sandbox` a worker process reads it, started at the first call and used again, and all `limits` hold. Without,
    this process does, and only the limit on size holds. Raises ExtractionError with a reason of REASONS; a document
    without text is no error.
    """
    # Imported where they are called: with a worker, this process needs none of what reads documents.
    _require_ocr(options)
    if isinstance(source, bytes):
        data = source
    else:
        from indexer.extract.document import read_file

        # A worker opens no documents: this process does.
        data, name = read_file(os.fspath(source), limits), name or os.fspath(source)
    if not sandbox:
        from indexer.extract.document import read_document

        return read_document(data, name, options, limits)
    [outcome] = extract_all([Item(None, data, name)], options, limits)
    if isinstance(outcome, Failed):
        raise ExtractionError(outcome.reason, outcome.detail)
    return outcome.document


def extract_all(
    items: Sequence[Item[Key]], options: Options, limits: Limits
) -> list[Extracted[Key, None] | Failed[Key]]:
    """The outcome of each item, in order, by the worker of `extract`, without waiting for the next item.

    Raises UsageError for options not available here. Memory: all outcomes.
    """
    _require_ocr(options)
    with _lock:
        return list(_worker(options, limits).outcomes(items))


def _require_ocr(options: Options) -> None:
    if options.ocr:
        from indexer.extract.ocr.tesseract import require_ocr

        require_ocr(options.ocr)


def _worker(options: Options, limits: Limits) -> WorkerPool[None]:
    global _pool  # noqa: PLW0603 - the lazily started worker of this process
    from indexer.extract.pool import WorkerPool

    wanted = (options, limits, os.getpid())
    if _pool is None or _pool[0] != wanted or _pool[1].closed:
        # After a fork the old pool belongs to the parent, and so do its threads.
        if _pool is not None and _pool[0][2] == os.getpid():
            _pool[1].close()
        _pool = wanted, WorkerPool(1, options, limits)
    return _pool[1]


def _end() -> None:
    if _pool is not None and _pool[0][2] == os.getpid():
        _pool[1].close()


atexit.register(_end)
