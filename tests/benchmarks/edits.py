"""Made edits of real pages: how many keep their relation, and how many of those that lost nothing are pruned.

Run as `python -m tests.benchmarks edits`. The pages are of several documentations in English and of the Universal
Declaration of Human Rights in many languages; each is edited in eight ways. Of a pair the one goes that lost nothing.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from indexer.clustering.verdicts import Permitted
from indexer.extract.base import Limits, Options
from indexer.extract.document import read_document
from indexer.relations.comparing import relate
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import Relation
from indexer.relations.wording import Wording
from tests.relations.edits import EDITS

COLLECTIONS = {"mixed": 250, "udhr": 50}
LEAST, MOST = 150, 5000
# Where the edited text holds all of the original, that one goes.
_ORIGINAL_GOES = ("added",)
_LOSE_NOTHING = ("mistyped", "misread", "added", "cut", "moved", "reflowed", "reformatted")


class Edited(NamedTuple):
    """A made edit of a page: its kind, the relation that it should have, the one that goes, what stays, and what is."""

    page: str
    edit: str
    expected: str
    goes: str
    stays: str
    relation: Relation

    @property
    def is_pruned(self) -> bool:
        """True if the one goes for the other."""
        return Permitted().reason_to_keep(self.relation, "") is None


def pages(data: Path, collections: dict[str, int]) -> Iterator[tuple[str, str]]:
    """(name, text) of as many pages of each collection, one of each group, of 150 to 5,000 words."""
    for collection, count in collections.items():
        listed = [json.loads(line) for line in (data / "truth" / f"{collection}.jsonl").open(encoding="utf-8")]
        random.Random(7).shuffle(listed)
        groups: set[str] = set()
        for one in listed:
            if len(groups) < count and one["group"] and one["group"] not in groups:
                text = read_document((data / one["path"]).read_bytes(), one["path"], Options(), Limits()).text
                if LEAST <= len(text.split()) <= MOST and _spaced(text):
                    groups.add(one["group"])
                    yield one["id"], text


def _spaced(text: str) -> bool:
    """True for a script with spaces, whose words can be mistyped."""
    return len(re.findall(r"[^\W\d_]{5,}", text)) > len(text) / 25


def edited(data: Path, collections: dict[str, int]) -> Iterator[Edited]:
    """Each page edited in each way, and related by the words of all pages."""
    draw, lexicon, made = random.Random(8), Lexicon(), list(pages(data, collections))
    for _, text in made:
        lexicon.add([Wording(text).hashes])
    for name, text in made:
        for edit, (change, expected) in EDITS.items():
            other = change(text, draw)
            if other.split() == text.split() and expected != "reflowed":
                continue
            word = "identical" if other.split() == text.split() else expected
            goes, stays = (text, other) if edit in _ORIGINAL_GOES else (other, text)
            yield Edited(name, edit, word, goes, stays, relate(Wording(goes), Wording(stays), lexicon))


def run(data: Path) -> dict[str, Any]:
    """Measure and print; gives by collection and edit (count, share with the right relation, share pruned)."""
    found, whole = {}, list[Edited]()
    for collection, count in COLLECTIONS.items():
        some = list(edited(data, {collection: count}))
        whole += some
        found[collection] = _printed(collection, some)
    found["all"] = _printed("all", whole)
    return found


def _printed(collection: str, everything: Sequence[Edited]) -> dict[str, tuple[int, float, float]]:
    by_edit = {edit: [one for one in everything if one.edit == edit] for edit in EDITS}
    by_edit["all"] = list(everything)
    by_edit["all that lost nothing"] = [one for one in everything if one.edit in _LOSE_NOTHING]
    print(f"{collection:24s}{'texts':>8s}{'relation':>10s}{'pruned':>10s}  otherwise")
    found = {}
    for edit, some in ((edit, some) for edit, some in by_edit.items() if some):
        kept = sum(one.relation.word == one.expected for one in some) / len(some)
        pruned = sum(one.is_pruned for one in some) / len(some)
        others = Counter(one.relation.word for one in some if one.relation.word != one.expected)
        found[edit] = (len(some), kept, pruned)
        said = ", ".join(f"{word} {count}" for word, count in others.most_common())
        print(f"{edit:24s}{len(some):8,}{kept:10.1%}{pruned:10.1%}  {said}".rstrip())
    print()
    return found
