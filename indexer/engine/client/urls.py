"""The URL of a store in an engine."""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass, field

from indexer.errors import UsageError
from indexer.text.hiding import PLACE, shown_name

_URL = re.compile(r"(?:(elasticsearch|opensearch)\+)?(https?)://([^/?#]*)(/[^?#]*)?\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """The hosts, as "https://host:port/prefix", and the index, alias, data stream or pattern of a store's URL.

    `engine` is empty if the URL does not name it; `shown` is the URL without a credential.
    """

    engine: str
    hosts: tuple[str, ...]
    name: str
    shown: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


def parse_url(url: str) -> Target:
    """Read `[elasticsearch+|opensearch+]http[s]://host[:port][,host[:port]...][/prefix]/INDEX`.

    Raises UsageError, without a credential.
    """
    shown = shown_name(url)
    if re.search(r"[\x00-\x20\x7f-\x9f]", url):
        raise UsageError(f"{shown}: holds a space or a control character; write it as %20 and so on")
    if re.search(r"[/?#].*@", url.partition("://")[2]):
        raise UsageError(
            f"{shown}: holds an @ behind a / ? or #; in a password write these as %2F %3F %23, and @ as %40"
        )
    matched = _URL.match(url)
    if not matched:
        raise UsageError(f"{shown}: write https://host:9200/INDEX, several hosts with commas between")
    engine, scheme, authority, path = matched.groups(default="")
    userinfo, _, places = authority.rpartition("@")
    parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    name = parts.pop()
    if not name or not all(map(is_host, places.split(","))):
        raise UsageError(f"{shown}: name a host and an index, as in https://host:9200/INDEX")
    if name != name.lower() or re.search(r'[\\/"<>| #:]', name) or name[0] in "_-+":
        raise UsageError(f'{shown}: {name!r} is not a valid index name: use lower case, no spaces or \\ / " < > | # :')
    prefix = "/" + "/".join(parts) if parts else ""
    port = ":443" if scheme.lower() == "https" else ":80"
    hosts = tuple(
        f"{scheme.lower()}://{place}{'' if re.search(r':[0-9]+$', place) else port}{prefix}"
        for place in places.split(",")
    )
    user, _, password = userinfo.partition(":")
    return Target(engine.lower(), hosts, name, shown, urllib.parse.unquote(user), urllib.parse.unquote(password))


def is_host(place: str) -> bool:
    matched = PLACE.match(place)
    try:
        urllib.parse.urlsplit(f"//{place}")
    except ValueError:
        return False
    return bool(matched and int(matched[1] or 0) < 1 << 16)
