"""The digest of everything read of a document; it decides "identical"."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from operator import itemgetter

from indexer.core.markup import collapsed

_BYTES = 16
# Default_Ignorable_Code_Point.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)


def folded_exactly(text: str) -> str:
    """A text without differences of case, white space, canonical equivalence and ignorable characters.

    Superscripts and compatibility characters remain, as in "10⁶" and "Maßen".
    """
    if not text.isascii():
        text = _IGNORABLE.sub("", unicodedata.normalize("NFC", text))
    return collapsed(text.lower().replace("\u03c2", "\u03c3"))


def read_digest(text: str, title: str = "", left_out: Iterable[tuple[str, str]] = ()) -> str:
    """The digest of a text, its title and its left-out parts, in hexadecimal digits.

    A title that begins the text adds nothing.
    """
    body = folded_exactly(text)
    # Extractors find different kinds in different orders, and each kind in the document's.
    parts = [f"{kind}\1{folded_exactly(part)}" for kind, part in sorted(left_out, key=itemgetter(0))]
    if title and not body.startswith(named := folded_exactly(title)):
        parts.append(f"title\1{named}")
    return _digest("\0".join([body, *parts]))


def with_title(digest: str, title: str) -> str:
    return _digest(f"{digest}\0{folded_exactly(title)}") if title else digest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_BYTES].hex()
