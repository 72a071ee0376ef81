"""Made records for stores."""

from __future__ import annotations

import hashlib

import numpy as np

from indexer.core.sketches import simhash_keys
from indexer.model import Fingerprint, Record, Ref


def records(values: np.ndarray[tuple[int], np.dtype[np.uint64]], first: int) -> list[Record]:
    """Records with these values and identities, titles and digests as documents have them."""
    made = []
    for number, (value, keys) in enumerate(zip(values.tolist(), simhash_keys(values).tolist(), strict=True), first):
        name = f"collection/{number % 1000:03d}/document-{number:09d}.html"
        digest = hashlib.sha256(name.encode()).hexdigest()
        made.append(
            Record(
                Ref(name), Fingerprint(value, 500).sketches(keys), source=name, title=f"The title of document {number}",
                format="html", extractor="lexbor 2.4", size=20_000, source_digest=digest,
                indexed_at="2026-01-01T00:00:00Z",
            )
        )  # fmt: skip
    return made
