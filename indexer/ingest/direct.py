"""Plain texts at hand, fingerprinted in this process: many in one call of the C core, in threads, without a worker.

A worker process holds a parser of a hostile document within limits. A short text in UTF-8 has no parser: what is done
to it here is the C core's work, whose time and memory grow with its length and no faster.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from indexer.core import simhash_keys
from indexer.core_sketch import DEFAULT_FORM, ManyTextFeatures, digest_of_folded, features_of_texts, is_clean
from indexer.extract.base import Extracted, Item, Limits, Options
from indexer.extract.document import MAX_TITLE
from indexer.extract.pool import require_jobs
from indexer.extract.text import first_line, printable
from indexer.model import Document, Fingerprint, Sketch
from indexer.schemes.base import Scheme
from indexer.schemes.minhash import Minhash

# Longer ones are left to the workers with their limits.
LONGEST = 1 << 20
# What is done in one call, and so how many are ahead of what is asked for.
BATCH_TEXTS, BATCH_BYTES = 64, 1 << 20
ENGINE = "plain (utf-8)"
_BLANK = b"\0 \t\r\n\f"


def is_blank(data: bytes) -> bool:
    """True if a text holds nothing but white space and zeros."""
    return not data[:1].strip(_BLANK) and not data.strip(_BLANK)


Done = Extracted[Any, Any]
_Batch = list[tuple[Item[Any], str, bytes]]


class Direct:
    """Takes items that are short texts, and gives them back fingerprinted, in their order, some batches later.

    A context manager, which ends its threads. `schemes` are none, or a minhash that reads a text once (see `serves`).
    """

    def __init__(self, jobs: int, options: Options, limits: Limits, schemes: Sequence[Scheme]) -> None:
        self._schemes = schemes
        self._form = schemes[0].form if schemes and isinstance(schemes[0], Minhash) else DEFAULT_FORM
        self._longest = min(LONGEST, limits.input_bytes // 4)
        self._content = options.content
        require_jobs(jobs)
        self._jobs = jobs
        self._threads = ThreadPoolExecutor(jobs, "neardup-sketch")
        self._batch: _Batch = []
        self._size = 0
        self._ahead: deque[tuple[_Batch, Future[ManyTextFeatures]]] = deque()

    @staticmethod
    def serves(schemes: Sequence[Scheme]) -> bool:
        """True if the C core alone makes the sketches by these schemes."""
        return len(schemes) <= 1 and all(type(each) is Minhash for each in schemes)

    def take(self, item: Item[Any]) -> bool:
        """True if an item was taken, because it is a short plain text."""
        data = item.data
        if item.format != "text" or not 0 < len(data) <= self._longest:
            return False
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return False
        if not is_clean(data):
            if b"\0" in data or data.startswith(BOM_UTF8):
                return False
            text = printable(text)
            data = text.encode("utf-8")
        if is_blank(data):
            return False
        self._batch.append((item, text, data))
        self._size += len(data)
        return True

    def ready(self, *, all_of_them: bool = False) -> Iterator[Done]:
        """The finished items, where enough were taken; with `all_of_them` all that were taken."""
        if self._batch and (all_of_them or len(self._batch) >= BATCH_TEXTS or self._size >= BATCH_BYTES):
            batch, self._batch, self._size = self._batch, [], 0
            texts = [data for _, _, data in batch]
            self._ahead.append((batch, self._threads.submit(features_of_texts, texts, self._form)))
        while self._ahead and (all_of_them or len(self._ahead) > self._jobs or self._ahead[0][1].done()):
            batch, found = self._ahead.popleft()
            yield from self._done(batch, found.result())

    def close(self) -> None:
        """End the threads; what they were doing is lost."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _done(self, batch: _Batch, found: ManyTextFeatures) -> Iterator[Done]:
        values, tokens, shingles = found.simhashes.tolist(), found.tokens.tolist(), found.shingles.tolist()
        hash_keys = simhash_keys(found.simhashes).tolist()
        sketch_keys = found.keys.tolist()
        packed, width = found.packed.tobytes(), found.packed.shape[1]
        for place, (item, text, _) in enumerate(batch):
            sketches: dict[str, Sketch] = {}
            fingerprint = Fingerprint(values[place], tokens[place]) if tokens[place] else None
            for scheme in self._schemes:
                if fingerprint is None:
                    sketches[scheme.family] = Sketch.without_features(scheme.id)
                else:
                    payload = packed[place * width : place * width + width]
                    sketches[scheme.family] = Sketch(scheme.id, payload, tuple(sketch_keys[place]), shingles[place])
            keys = tuple(hash_keys[place]) if fingerprint else ()
            made = fingerprint, keys, sketches, digest_of_folded(found.folded[place]).hex()
            document = Document(
                "", first_line(text)[:MAX_TITLE], "text", ENGINE, content=self._content, size=len(item.data)
            )
            yield Extracted(item.key, document, made)
