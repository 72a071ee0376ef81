"""The facts beside the texts of two documents: titles, heads of mails, page margins, form values and so on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from indexer.core.text import digest_of_folded, lookup8
from indexer.model.mails import is_mail, mail_head, may_be_one_mail
from indexer.relations.facts import DifferingFact
from indexer.relations.lexicon import Hashes, Lexicon

# Menus and the like stand on other pages too.
_TELLING = frozenset(
    [
        *("page margin", "page header", "page footer", "deleted", "subject"),
        *("comment", "commenter", "book author", "chart", "diagram", "table cell"),
    ]
)
_HEAD = 2000
NOTHING_BESIDE = "00"
"""The `beside_digest` of a document with nothing beside its text."""
_CUTS = re.compile(r"\s+[|\u00b7\u2013\u2014-]\s+")


class Aside(NamedTuple):
    """The facts of a document beside its text."""

    title: str = ""
    source: str = ""
    metadata: Mapping[str, Any] = {}
    left_out: tuple[tuple[str, str], ...] = ()


def facts_beside(
    one: Aside, other: Aside, texts: tuple[str, str], lexicon: Lexicon | None = None
) -> tuple[DifferingFact, ...]:
    """The facts that differ beside the equal texts of two documents."""
    heads = [mail_head(each.source, each.title, each.metadata) for each in (one, other)]
    if not may_be_one_mail(*heads):
        return differing(*heads)
    parts = [telling_parts(each.left_out) for each in (one, other)]
    if not all(heads):
        # What is no mail has no subject.
        parts = [{kind: text for kind, text in each.items() if kind != "subject"} for each in parts]
    titles = own_title(one.title, one.source), own_title(other.title, other.source)
    return (*title_facts(titles, texts, lexicon), *differing(*parts))


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[DifferingFact, ...]:
    """The facts that two documents give other values, by their names."""
    sides = {name: (one.get(name, ""), other.get(name, "")) for name in {**one, **other}}
    return tuple(DifferingFact(name, *both) for name, both in sides.items() if both[0] != both[1])


def telling_parts(left_out: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The parts beside a text that say something of this document, by their kinds."""
    found: dict[str, str] = {}
    for kind, text in left_out:
        if kind in _TELLING or kind.startswith("field") or "/@" in kind:
            found[kind] = f"{found[kind]}, {text}" if kind in found else text
    return found


def beside_digest(left_out: Iterable[tuple[str, str]]) -> str:
    """A digest, in hexadecimal digits, of all that tells something beside a text; two digits if there is nothing."""
    parts = sorted(telling_parts(left_out).items())
    return digest_of_folded(json.dumps(parts).encode()).hex() if parts else NOTHING_BESIDE


def own_title(title: str, source: str) -> str:
    """The title of a document; empty if it is the name of its file, or the subject of a mail."""
    name = source.replace("\\", "/").rpartition("/")[2]
    return "" if title in (name, name.rpartition(".")[0]) or is_mail(source) else title


def title_facts(
    titles: tuple[str, str], texts: tuple[str, str], lexicon: Lexicon | None = None
) -> tuple[DifferingFact, ...]:
    """Two titles that differ, as a fact; empty if a document has none, or only the first line of its text.

    A part of a title adds nothing if it stands in a text, or in the titles of many documents.
    """
    firsts = (next((line for line in text[:_HEAD].splitlines() if any(map(str.isalnum, line))), "") for text in texts)
    one, other = (
        set() if _folded(first).startswith(_folded(title)) else _parts(title)
        for title, first in zip(titles, firsts, strict=True)
    )
    rest = one ^ other if one and other else set()
    telling = [part for part in rest if not (lexicon is not None and lexicon.is_frame(_hash(part)))]
    bodies = [_folded(text) for text in texts if telling]
    tells = any(all(part not in body for body in bodies) for part in telling)
    return (DifferingFact("title", *titles),) if tells else ()


def title_hashes(title: str) -> Hashes:
    """The hashes of the parts of a title, which no word and no line has."""
    return np.array([_hash(part) for part in _parts(title)], dtype=np.uint64)


def _parts(title: str) -> set[str]:
    return {part for each in _CUTS.split(title) if (part := _folded(each))}


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _hash(part: str) -> int:
    return lookup8(f"title {part}".encode("utf-8", "replace"))
