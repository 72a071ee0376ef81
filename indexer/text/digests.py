"""The digest of everything read of a document; it decides "identical"."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from indexer.core.text import digest_of_folded, folded_text


def read_digest(text: str, title: str = "", left_out: Iterable[tuple[str, str]] = ()) -> str:
    """The digest of a text, of its title and of what was left out of it, in hexadecimal digits.

    A title with which the text begins adds nothing.
    """
    return read_digest_of_folded(folded_text(text), title, left_out)


def read_digest_of_folded(body: bytes, title: str, left_out: Iterable[tuple[str, str]]) -> str:
    # Extractors find different kinds in different orders, and each kind in the document's.
    parts = [b"%s\1%s" % (kind.encode(), folded_text(part)) for kind, part in sorted(left_out, key=itemgetter(0))]
    digest = digest_of_folded(b"\0".join([body, *parts])).hex()
    return digest if body.startswith(folded_text(title)) else with_title(digest, title)


def with_title(digest: str, title: str) -> str:
    return digest_of_folded(digest.encode() + b"\0" + folded_text(title)).hex() if title else digest
