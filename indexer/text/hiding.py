"""Names of stores, and texts, without credentials."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

# One host of a URL: a name, an IPv4 or a bracketed IPv6 address, and a port where there is one.
PLACE = re.compile(r"(?:\[[0-9a-f:.]+\]|[^\x00-\x20\x7f:@\[\]/\\?#%]+)(?::(\d{1,5}))?\Z", re.IGNORECASE | re.ASCII)
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)\Z", re.IGNORECASE | re.DOTALL)
_ROOTED = re.compile(r"\.{0,2}/(?!/)")
# Behind "//", which may have lost a slash, a user with a password, which may hold slashes, or else what has none.
_IN_TEXT = re.compile(r"(:/{1,4})(?:[^\s/@]*:\S*@|[^\s/]*@)")
_NAMES_USER = re.compile(r"[^/]*:/{1,4}(?:[^/@]*:.*@|[^/]*@)", re.DOTALL)


def shown_name(name: str) -> str:
    """The name of a store, a path or a URL of any kind, without anything before its last "@".

    A sure path is shown whole. If something other than a port follows the colon of a URL's host, as a password without
    its host does, only the part before the colon is left. A URL's query and fragment are left out.
    """
    matched = _URL.match(name)
    if matched is None or matched[1].lower() == "sqlite":
        path = matched[2].removeprefix("/") if matched else name
        return name if is_path(path) else name.rpartition("@")[2]
    rest = re.split(r"[?#]", matched[2].rpartition("@")[2])[0]
    hosts, slash, path = rest.partition("/")
    if all(PLACE.match(host) for host in hosts.split(",")):
        return f"{matched[1]}://{hosts}{slash}{path}"
    return f"{matched[1]}://{hosts.partition(':')[0]}"


def is_path(name: str) -> bool:
    """True if a name, even with an "@", is surely a path.

    It exists, or its folder does: a folder whose name has the "@", or a beginning such as "./" or "/var/".
    """
    folder, last = os.path.split(name)
    if "@" not in name or os.path.lexists(name):
        return True
    return ("@" not in last or bool(_ROOTED.match(name))) and os.path.isdir(folder)


def may_be_credential(name: str) -> bool:
    return ":" in name.rpartition("@")[0] and not is_path(name)


def without_credentials(text: str, words: Iterable[str] = ()) -> str:
    for word in words:
        if _NAMES_USER.match(word) or (":/" not in word and may_be_credential(word)):
            for written in (word, str(Path(word))):
                encoded = written.encode("utf-8", "surrogateescape")
                for form in (written, repr(written)[1:-1], encoded.decode("utf-8", "backslashreplace")):
                    text = text.replace(form, shown_name(word))
    return _IN_TEXT.sub(r"\1", text)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """A text of a server or library, with *** for each secret and its beginnings.

    A server shows the beginning of an overlong header. A secret of fewer than six characters is left.
    """
    wanted = [secret for secret in secrets if len(secret) >= 6]
    heads = re.compile("|".join(map(re.escape, sorted({secret[:12] for secret in wanted}, key=len, reverse=True))))
    parts, end = [], 0
    while wanted and (head := heads.search(text, end)):
        parts += [text[end : head.start()], "***"]
        end = head.start() + max(_alike(text[head.start() :], secret) for secret in wanted)
    return "".join((*parts, text[end:]))


def _alike(one: str, other: str) -> int:
    return sum(takewhile(operator.truth, map(operator.eq, one, other)))
