"""simhash-doc: the 64-bit simhash of a document's words (Charikar 2002; Manku, Jain and Das Sarma 2007)."""

from __future__ import annotations

from indexer import core
from indexer.model import SIMHASH_DOC, Fingerprint

SCHEME = SIMHASH_DOC
UNICODE_VERSION = core.UNICODE_VERSION


def fingerprint(text: str | bytes) -> Fingerprint | None:
    """The simhash-doc fingerprint of a text (octets are read as UTF-8); None where it holds no token.

    Raises MemoryError.
    """
    found = core.fingerprint(text)
    return None if found is None else Fingerprint(*found)


def keys(of: Fingerprint) -> tuple[int, ...]:
    """The 16 packed keys of a fingerprint, table << 28 | key, in the order of the tables."""
    return tuple(core.simhash_keys([of.value])[0].tolist())
