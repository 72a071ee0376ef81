"""The URL that a page says is its own (RFC 6596, the link relation canonical)."""

from __future__ import annotations

import html
import re

# Where pages say it, of those that are not made to take time.
_HEAD = 1 << 15
_NO_LINKS = re.compile(rb"<!--.*?(?:-->|\Z)|<script\b.*?(?:</script|\Z)", re.DOTALL | re.IGNORECASE)
_BODY = re.compile(rb"<body[\s>]", re.IGNORECASE)
_LINK = re.compile(rb"<link\s[^>]{0,2000}>", re.IGNORECASE)
_VALUE = rb"""\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"""
_RELATION = re.compile(rb"(?<![\w-])rel" + _VALUE, re.IGNORECASE)
_TARGET = re.compile(rb"(?<![\w-])href" + _VALUE, re.IGNORECASE)


def canonical_url(page: bytes) -> str:
    """The URL that the head of an HTML page declares canonical, as it is written there; empty for none, or several."""
    if b"anonical" not in page[:_HEAD]:
        return ""
    head = _BODY.split(_NO_LINKS.sub(b"", page[:_HEAD]), 1)[0]
    found = set()
    for link in _LINK.findall(head):
        relation, target = _RELATION.search(link), _TARGET.search(link)
        if relation and target and b"canonical" in _text(relation).lower().split():
            found.add(html.unescape(_text(target).decode("utf-8", "replace")).strip())
    return found.pop() if len(found) == 1 else ""


def _text(attribute: re.Match[bytes]) -> bytes:
    return next(filter(None, attribute.groups()), b"")
