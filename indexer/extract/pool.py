"""Extraction in worker processes: parallel, limited in time and memory, one document's failure its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from indexer.errors import ExtractionError
from indexer.extract.base import Format, Limits, Options
from indexer.model import Document


@dataclass(frozen=True, slots=True)
class Request:
    """One document to extract: a path or octets; `name` and `format` help where the content does not say."""

    key: Any
    source: str | bytes
    name: str = ""
    format: Format | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request: a document and the task's result, or an error; `seconds` of wall-clock time."""

    request: Request
    document: Document | None
    result: Any
    error: ExtractionError | None
    seconds: float


class WorkerPool:
    """Worker processes that extract documents."""

    def __init__(
        self, jobs: int, options: Options, limits: Limits, *, task: str | None = None, keep_text: bool = True
    ) -> None:
        self._task, self._keep_text, self._options, self._limits = task, keep_text, options, limits

    def map(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Outcomes as they finish."""
        raise NotImplementedError

    def close(self) -> None:
        """End the workers."""

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
