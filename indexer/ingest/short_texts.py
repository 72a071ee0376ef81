"""Fingerprint plain texts in memory in this process, many in one call of the C core.

A worker process confines the parser of a hostile document. A short text in UTF-8 has no parser: only the C core works
on it, in linear time and memory.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from indexer.core.markup import is_clean
from indexer.core.text import text_digest
from indexer.errors import ExtractionError
from indexer.extract.base import Extracted, Failed, Item, Limits, Options
from indexer.extract.declared import declared_in_text
from indexer.extract.document import MAX_TITLE
from indexer.extract.pool import require_jobs
from indexer.extract.text import first_line, printable
from indexer.ingest.mail_frame import MailEnd, without_frame
from indexer.ingest.sketching import DigestedSketches, sketched_texts
from indexer.model import Document
from indexer.relations.beside import NOTHING_BESIDE
from indexer.schemes.base import Scheme

# Longer ones are left to the workers with their limits.
LONGEST = 1 << 20
# What is done in one call, and so how many are ahead of what is asked for.
BATCH_TEXTS, BATCH_BYTES = 64, 1 << 20
ENGINE = "plain (utf-8)"
_BLANK = b"\0 \t\r\n\f"


def is_blank(data: bytes) -> bool:
    return not data[:1].strip(_BLANK) and not data.strip(_BLANK)


def short_text(item: Item[Any], longest: int = LONGEST) -> tuple[str, bytes] | None:
    data = item.data
    if item.format != "text" or not 0 < len(data) <= longest:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not is_clean(data):
        if b"\0" in data or data.startswith(BOM_UTF8):
            return None
        text = printable(text)
        data = text.encode("utf-8")
    return None if is_blank(data) else (text, data)


Done = Extracted[Any, Any] | Failed[Any]
_Batch = list[tuple[Item[Any], str, bytes, bytes, MailEnd | None]]
"""Items with their texts, the same in UTF-8, what of them is sketched, and the ends of mails."""


class ShortTexts:
    """Takes short texts, and returns them fingerprinted, in their order, some batches later.

    A context manager, which ends its threads. `serves` must be true of `schemes`.
    """

    def __init__(self, jobs: int, options: Options, limits: Limits, schemes: Sequence[Scheme]) -> None:
        self._schemes = schemes
        self._longest = min(LONGEST, limits.input_bytes // 4)
        self._content = options.content
        require_jobs(jobs)
        self._jobs = jobs
        self._threads = ThreadPoolExecutor(jobs, "neardup-sketch")
        self._batch: _Batch = []
        self._size = 0
        self._ahead: deque[tuple[_Batch, Future[list[DigestedSketches]]]] = deque()

    @staticmethod
    def serves(schemes: Sequence[Scheme]) -> bool:
        return all(each.forms is not None or each.quick for each in schemes)

    def take(self, item: Item[Any]) -> bool:
        found = short_text(item, self._longest)
        if found is None:
            return False
        text, data = found
        own, end = (text, None) if item.told is None else without_frame(text, item.told)
        self._batch.append((item, text, data, data if own is text else own.encode(), end))
        self._size += len(data)
        return True

    def ready(self, *, all_of_them: bool = False) -> Iterator[Done]:
        if self._batch and (all_of_them or len(self._batch) >= BATCH_TEXTS or self._size >= BATCH_BYTES):
            batch, self._batch, self._size = self._batch, [], 0
            self._ahead.append((batch, self._threads.submit(_sketched, self._schemes, batch)))
        while self._ahead and (all_of_them or len(self._ahead) > self._jobs or self._ahead[0][1].done()):
            batch, found = self._ahead.popleft()
            yield from self._done(batch, found.result())

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _done(self, batch: _Batch, sketched: list[DigestedSketches]) -> Iterator[Done]:
        for (item, text, *_, end), made in zip(batch, sketched, strict=True):
            try:
                declared = declared_in_text(text)
            except ExtractionError as error:
                yield Failed(item.key, error.reason, error.detail)
                continue
            title = first_line(text)[:MAX_TITLE]
            document = Document(
                "", title, "text", ENGINE, content=self._content, size=len(item.data), declared=declared
            )
            yield Extracted(item.key, document, (*made[:-1], end))


def _sketched(schemes: Sequence[Scheme], batch: _Batch) -> list[DigestedSketches]:
    same = (text_digest(data).hex() for _, _, data, *_ in batch)
    return sketched_texts(schemes, [own for *_, own, _ in batch], [(each, each, NOTHING_BESIDE) for each in same])
