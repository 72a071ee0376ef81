"""A collection whose words decide on the relation of two of its documents, and what each command says of these."""

from __future__ import annotations

from pathlib import Path

import indexer
from indexer.library.options import RemovalRequest
from indexer.model import name_of
from tests.cli.written import prose

LEFT, RIGHT = "pair-one.txt", "pair-two.txt"
"""Two documents that differ in a word; one of them is misread where the collection knows the other."""


def _page(seed: int, word: str, more: str = "") -> str:
    words = prose(seed).split()
    return " ".join((*words[:100], "it", "has", "a", "nice", word, "there", *words[100:], more))


def write(folder: Path) -> None:
    """Three clusters of two documents with the word, and last the two that differ in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(3):
        (folder / f"known-{seed}.txt").write_text(_page(seed, "boat"))
        (folder / f"known-{seed}-more.txt").write_text(_page(seed, "boat", "all of it is so"))
    (folder / LEFT).write_text(_page(9, "boat"))
    (folder / RIGHT).write_text(_page(9, "bcat"))


def said(url: str, *names: str) -> dict[str, str]:
    """The relation of two documents by each command that says one, `cluster` being what is noted.

    The documents are given by the ends of their ids, and are near no third one.
    """
    with indexer.open(url, read_only=True) as collection:
        ends = names or (LEFT, RIGHT)
        refs = sorted(record.ref for record in collection.store.scan() if record.ref.id.endswith(ends))
        one, other = map(name_of, refs)
        both = {one, other}
        noted = [
            known["cluster"]["relation"]
            for ref, known in collection.store.scan_annotations()
            if ref in refs and "relation" in known.get("cluster", {})
        ]
        [pair] = [pair for pair in collection.pairs(relation=True) if {pair.left, pair.right} == both]
        [similar] = collection.similar(id=one, relation=True)
        [with_passages] = collection.similar(id=one, passages=True)
        ids = both | {ref.id for ref in refs}
        # Both are listed where the cleaner one stays in place of the canonical one.
        going = {each.relation for each in collection.surplus(RemovalRequest()) if each.id in ids}
        return {
            "cluster": ", ".join(noted),
            "pairs": pair.relation,
            "similar": similar.relation,
            "similar --passages": with_passages.relation,
            "compare": collection.compare(one, other).relation,
            "diff": collection.diff(one, other).relation,
            "prune": ", ".join(going),
        }
