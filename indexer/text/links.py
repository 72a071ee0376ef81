"""Addresses in texts: parameters without meaning for the document, and hidden targets."""

from __future__ import annotations

import re

LINK = re.compile(
    r"(?:https?://|www\.)[^\s<>\"\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}]*[\w/&=#%+-]", re.IGNORECASE
)
"""An address, without the full stop, the bracket or the quotation mark that may follow."""
# Parameters that tell who passed a link on; the last ones are sessions, by their names or by names with a long value.
_TRACKING = re.compile(
    r"(?:utm_\w+|(?:fb|g|d|y|tt|tw)clid|msclkid|epik|gclsrc|gbraid|wbraid|igsh(?:id)?|mc_[ce]id|_ga|_gl|_hsenc|_hsmi|mkt_tok"
    r"|li_fat_id|vero_id|oly_(?:enc|anon)_id|ref_src|wt_mc|phpsessid|jsessionid|aspsessionid\w*|cfid|cftoken)=.*"
    r"|(?:s|sid|sess(?:ion)?(?:[_-]?id)?)=[\w-]{16,}",
    re.IGNORECASE,
)
_SESSION = re.compile(r";jsessionid=[\w.!-]+", re.IGNORECASE)
# [text](target "title") of Markdown, or <target>, behind the bracket that ends the text.
_TARGET = re.compile(r"(?<=\])\((?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\)")
_REFERENCE = re.compile(
    r"^ {0,3}\[[^\]\n]+\]:[ \t]+\S+(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$", re.MULTILINE
)


def without_tracking(text: str) -> str:
    if "://" not in text and "www." not in text.lower():
        return text
    return LINK.sub(lambda found: _untracked(found[0]), text)


def _untracked(address: str) -> str:
    address = _SESSION.sub(lambda found: " " * len(found[0]), address)
    path, mark, rest = address.partition("?")
    if not mark:
        return address
    query, hash_mark, fragment = rest.partition("#")
    parts = re.split(r"([&;])", query)
    kept = [part for part in parts[::2] if not _TRACKING.fullmatch(part)]
    if len(kept) == len(parts[::2]):
        return address
    said = f"{path}?{'&'.join(kept)}" if any(kept) else path
    # As long as it was, since the words behind it stay where they are.
    return (said + hash_mark + fragment).ljust(len(address))


def without_targets(text: str) -> str:
    if "](" not in text and "]:" not in text:
        return text
    shown = list(_TARGET.sub(_spaces, text))
    for target in _TARGET.finditer(text):
        # The brackets around what is shown go too.
        for bracket in (text.rfind("[", 0, target.start()), target.start() - 1):
            if bracket >= 0:
                shown[bracket] = " "
    return _REFERENCE.sub(_spaces, "".join(shown))


def _spaces(found: re.Match[str]) -> str:
    return " " * len(found[0])
