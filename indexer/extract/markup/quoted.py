"""HTML of mails, without quotations and signatures."""

from __future__ import annotations

from collections.abc import Iterable

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from indexer.extract.base import QUOTED, PartsLeftOut
from indexer.extract.text import cleaned
from indexer.text.quotations import introduces, is_head

# As mail programs mark them: Thunderbird and Apple Mail, Gmail, Proton, Yahoo. The frame around a quotation
# (div.gmail_quote) stays, since answers stand in it between the lines that they quote.
_QUOTED = 'blockquote[type="cite" i], blockquote.gmail_quote, blockquote.protonmail_quote, div.yahoo_quoted'
_INTRODUCED = ".moz-cite-prefix, .gmail_attr"
_SIGNED = ".moz-signature, .gmail_signature"
# Outlook's line above the mail that it quotes whole, and the head of a forwarded one in Gmail.
_OF_OUTLOOK = "divRplyFwdMsg"
_DIVIDED = f"#{_OF_OUTLOOK}, div[style*='border-top:solid' i], div[style*='border-top: solid' i], .gmail_attr"
_MOST_HEADS = 100
_LONGEST_HEAD = 20_000


def own_html(source: bytes) -> tuple[bytes, PartsLeftOut]:
    """The HTML of a mail without quotations and signatures, and these."""
    tree = LexborHTMLParser(source, options=LexborDocumentOptions.WO_EVENTS)
    if tree.body is None:
        return source, ()
    out: list[str] = []
    for head in tree.css(_DIVIDED)[:_MOST_HEADS]:
        if _is_head(head):
            _cut_from(head, tree.body, out)
            break
    for quoted in tree.css(_QUOTED):
        if quoted.parent is not None:
            _remove([*_introduction(quoted), quoted], out)
    _remove(tree.css(f"{_INTRODUCED}, {_SIGNED}"), out)
    if not tree.body.text().strip():
        return source, ()
    return (tree.html or "").encode(), tuple((QUOTED, text) for text in map(cleaned, out) if text)


def _is_head(node: LexborNode) -> bool:
    if node.attributes.get("id") == _OF_OUTLOOK:
        return True
    written = node.html or ""
    if len(written) > _LONGEST_HEAD:
        return False
    for tag in ("<br", "<p", "<div"):
        written = written.replace(tag, f"\n{tag}")
    return is_head([line for line in LexborHTMLParser(written).text().splitlines() if line.strip()])


def _cut_from(node: LexborNode, body: LexborNode, out: list[str]) -> None:
    above = node.parent
    _remove([node, *_behind(node)], out)
    while above is not None and above.mem_id != body.mem_id:
        outer = above.parent
        _remove([*_behind(above)], out)
        above = outer


def _behind(node: LexborNode) -> Iterable[LexborNode]:
    behind = node.next
    while behind is not None:
        yield behind
        behind = behind.next


def _remove(nodes: Iterable[LexborNode], out: list[str]) -> None:
    for node in nodes:
        if node.parent is not None:
            out.append(node.text(separator=" "))
            node.decompose()


def _introduction(quoted: LexborNode) -> Iterable[LexborNode]:
    before = quoted.prev
    while before is not None and not (before.text() or "").strip():
        before = before.prev
    if before is not None and introduces((before.text() or "").strip()):
        yield before
