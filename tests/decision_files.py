"""Files of decisions, as the page of a report writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from indexer.clustering.decision_file import FORM
from indexer.model.decisions import Decision, JudgedSample


def decisions_text(decisions: Sequence[Decision], sample: JudgedSample | None = None) -> str:
    held: dict[str, Any] = {"form": FORM, "clusters": list(map(_cluster, decisions))}
    if sample:
        judged = list(map(_cluster, sample.judged))
        held["sample"] = {"seed": sample.seed, "size": sample.size, "judged": judged}
    return json.dumps(held, indent=1) + "\n"


def _cluster(decision: Decision) -> dict[str, Any]:
    return {"documents": [{"id": one.id, "digest": one.digest, "choice": one.choice} for one in decision.documents]}
