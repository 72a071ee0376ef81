"""Digests of the bytes of documents."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import cast, get_args

from indexer.errors import UsageError
from indexer.extract.base import Content, Extractor, Options
from indexer.extract.brought import brought_by, named_again
from indexer.model import Record
from indexer.stores.base import StoreInfo

# Of a digest in hexadecimal: half of SHA-256.
_DIGITS = 32


def source_digest(data: bytes, info: StoreInfo, options: Options, *, name: str = "", title: str = "") -> str:
    """Half of the SHA-256, in hexadecimal, of everything behind a stored fingerprint and title.

    This is the document's bytes, the scheme, the extraction rules, and the reading options: the content mode, the
    engine and format asked for, the suffix of the name, and a title given from outside.
    """
    digest = hashlib.sha256(digest_rules(info, options, name=name, title=title).encode("utf-8", "replace"))
    digest.update(data)
    return digest.hexdigest()[:_DIGITS]


def options_of(
    record: Record, data: bytes, info: StoreInfo, name: str = "", title: str = "", given: str | None = None
) -> Options | None:
    """The options these bytes were indexed with, as the digest in their record tells; None for other bytes."""
    content = cast(Content, info.content)
    kinds = (given,) if given else dict.fromkeys((None, named_again(record.extractor), record.format or None))
    with suppress(UsageError):
        for extractor in get_args(Extractor):
            for kind in kinds:
                options = Options(content=content, extractor=extractor, format=kind)
                if source_digest(data, info, options, name=name, title=title) == record.source_digest:
                    return options
    return None


def digest_rules(info: StoreInfo, options: Options, *, name: str = "", title: str = "") -> str:
    # Another version of a plug-in may give another text.
    brought = brought_by(options.format, name)
    kind = str(brought) if brought else options.format or os.path.splitext(name.lower().removesuffix(".gz"))[1]
    return f"{info.scheme}\0{info.unicode}\0{info.extractor}\0{info.content}\0{options.extractor}\0{kind}\0{title}\0\0"


def content_id(data: bytes) -> str:
    """The id of a document named by its content: half of SHA-256, still short enough for a line."""
    return hashlib.sha256(data).hexdigest()[:_DIGITS]


def is_same_text(one: str, other: str) -> bool:
    """True if two texts differ in case and white space alone."""
    from indexer.core.text import text_digest

    try:
        return text_digest(one.encode()) == text_digest(other.encode())
    except UnicodeEncodeError:
        return False


def is_text_of(record: Record, data: bytes) -> bool:
    """True if these bytes are the text that a record was made of, whatever bytes that had."""
    from indexer.core.text import text_digest

    return text_digest(data).hex() == record.text_digest
