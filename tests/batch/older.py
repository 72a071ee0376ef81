"""A batch in two halves, the older one and what is compared with it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from indexer.batch.clusters.clustering import ClusteringOptions
from indexer.batch.form import Form
from indexer.batch.reading import rule_of
from indexer.clustering.canonical import CanonicalRule
from tests.batch.batched import MINHASH, seen_of
from tests.planted import collection, named

RULE = "simhash-doc@3bits/minhash@0.5+minhash@0.5"


CANONICAL = CanonicalRule("field", "seen")


FORM = Form((MINHASH,), time_field="seen")


def rows(texts: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"id": name, "text": text, "seen": seen_of(name)} for name, text in texts.items()]


def wanted(**more: Any) -> ClusteringOptions:
    return ClusteringOptions(rule_of(FORM, RULE), CANONICAL, threads=1, **more)


def halves(seed: int) -> tuple[dict[str, str], dict[str, str]]:
    """Documents of which about half came before, and some of those are there again with another text."""
    texts = named(collection(seed, 120))
    draw = random.Random(seed)
    older = {name: text for name, text in texts.items() if draw.random() < 0.5}
    newer = {name: text for name, text in texts.items() if name not in older}
    for name in draw.sample(sorted(older), 8):
        newer[name] = draw.choice(sorted(texts.values()))
    return older, newer
