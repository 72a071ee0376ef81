"""Decisions of people: keep, drop, or apart."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal, cast, get_args

DecidedChoice = Literal["keep", "drop", "apart"]
CHOICES: tuple[DecidedChoice, ...] = get_args(DecidedChoice)


@dataclass(frozen=True, slots=True)
class DecidedDocument:
    """A document of a decision: its id as users write it, the digest of what was seen, and the choice.

    `digest` is the `seen_digest` of the record; a decision holds for this text and what stands beside it. "keep" and
    "drop" are for documents that belong together, "apart" for a document unlike these.
    """

    id: str
    digest: str
    choice: DecidedChoice


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about the documents of one cluster, each once.

    Kept and dropped documents belong together. A document apart differs from all of these; if all are apart, no two are
    the same.
    """

    documents: tuple[DecidedDocument, ...]

    @property
    def together(self) -> tuple[DecidedDocument, ...]:
        return (*self.chosen("keep"), *self.chosen("drop"))

    def chosen(self, choice: DecidedChoice) -> list[DecidedDocument]:
        return [one for one in self.documents if one.choice == choice]

    @property
    def id(self) -> str:
        """The id of the decision, the same for equal decisions: 32 hexadecimal digits of its SHA-256."""
        return hashlib.sha256(decision_json(self).encode()).hexdigest()[:32]

    def without_choices(self) -> Decision:
        documents = [DecidedDocument(one.id, one.digest, "keep") for one in self.together]
        return Decision(tuple(sorted((*documents, *self.chosen("apart")), key=lambda one: (one.id, one.digest))))


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """The judgments of a random sample of documents that repeat others.

    `neardup.clustering.sampling` draws so many documents with this seed. Each of `judged` has a document of the sample
    first and the document it repeats second: both "keep" if they are the same, else both "apart".
    """

    seed: str
    size: int
    judged: tuple[Decision, ...]


def decision_json(decision: Decision) -> str:
    """A decision as JSON in ASCII; a lone half of a surrogate pair is kept."""
    return json.dumps([[one.id, one.digest, one.choice] for one in decision.documents])


def decision_of(held: str) -> Decision:
    """The decision of its JSON in a store; ValueError for anything else."""
    rows = json.loads(held)
    if not isinstance(rows, list) or not all(
        isinstance(row, list) and len(row) == 3 and all(isinstance(cell, str) for cell in row) and row[2] in CHOICES
        for row in rows
    ):
        raise ValueError("no decision")
    return Decision(tuple(DecidedDocument(name, digest, cast(DecidedChoice, choice)) for name, digest, choice in rows))
