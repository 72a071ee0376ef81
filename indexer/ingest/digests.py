"""Digests of the bytes of documents: of all that a stored fingerprint depends on, and of the content alone."""

from __future__ import annotations

import hashlib
import os

from indexer.extract.base import Options
from indexer.extract.brought import brought_by
from indexer.stores.base import StoreInfo

# Of a digest in hexadecimal: half of SHA-256.
_DIGITS = 32


def source_digest(data: bytes, info: StoreInfo, options: Options, *, name: str = "", title: str = "") -> str:
    """Half of the SHA-256, in hexadecimal, of everything that a stored fingerprint and title depend on.

    That is the document's bytes, the scheme, the extraction rules, and what else decides how the bytes are read: the
    content mode, the engine and format asked for, the suffix of the name, and a title given from outside.
    """
    digest = hashlib.sha256(digest_rules(info, options, name=name, title=title).encode("utf-8", "replace"))
    digest.update(data)
    return digest.hexdigest()[:_DIGITS]


def digest_rules(info: StoreInfo, options: Options, *, name: str = "", title: str = "") -> str:
    """The text that stands before a document's bytes in its source digest."""
    # Another version of a plug-in may give another text.
    brought = brought_by(options.format, name)
    kind = str(brought) if brought else options.format or os.path.splitext(name.lower().removesuffix(".gz"))[1]
    return f"{info.scheme}\0{info.unicode}\0{info.extractor}\0{info.content}\0{options.extractor}\0{kind}\0{title}\0\0"


def content_id(data: bytes) -> str:
    """The id of a document that is named by its content: half of SHA-256, which still fits on a line."""
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
