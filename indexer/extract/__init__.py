"""Extraction: octets of HTML, PDF, XML or plain text to a Document."""

from __future__ import annotations

import os

from indexer.extract.base import EXTRACTOR_VERSION, REASONS, Limits, Options
from indexer.extract.pool import Outcome, Request, WorkerPool
from indexer.model import Document

__all__ = ["EXTRACTOR_VERSION", "REASONS", "Limits", "Options", "Outcome", "Request", "WorkerPool", "extract"]


def extract(
    source: str | os.PathLike[str] | bytes,
    *,
    name: str = "",
    options: Options = Options(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    sandbox: bool = True,
) -> Document:
    """The text of one document, from its path or its octets."""
    raise NotImplementedError
