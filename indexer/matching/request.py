"""The request of a match rule, by a command or a program; nothing else is loaded here."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal

from indexer.model.declared import Option

Way = Literal["hamming", "sketch", "text"]

MatchAsked = Annotated[str | None, Option("The rule for near documents. default finds by simhash or minhash and "
    "verifies by minhash. Others: simhash-doc@3bits, minhash@0.6, or simhash-doc@7bits+minhash@0.6, where the first "
    "scheme finds and the second verifies.  [default: default; simhash-doc@3bits in a store with simhash-doc alone]",
    metavar="RULE", goes_with=["cluster", "skip_duplicates", "on"], setting="rule")]  # fmt: skip
DistanceAsked = Annotated[int | None, Option("Short for --match simhash-doc@BITSbits: how many of the 64 bits of the "
    "simhash may differ (0 to 7 in lookups, to 16 elsewhere).", names=["-k", "--distance"], least=0, most=16,
    metavar="BITS", goes_with=["cluster", "skip_duplicates", "on"], setting="rule")]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuleRequest:
    """The rule a user asks for: the written form, or parts of one instead; None for the default."""

    match: MatchAsked = None
    distance: DistanceAsked = None
    similarity: Annotated[float | None, Option("The minimum similarity, 0 to 1, by --scheme or the best scheme of the "
        "store.", least=0, most=1, metavar="S", setting="rule")] = None  # fmt: skip
    scheme: Annotated[str | None, Option("Compare by this scheme of the store (see neardup schemes --store).",
        metavar="NAME", setting="rule")] = None  # fmt: skip
    verify: Annotated[Way | None, Option("Verify candidates by the bits of the "
        "simhash (within -k), by stored sketches, or by the texts, read again.", setting="rule")] = None  # fmt: skip
    min_jaccard: Annotated[float | None, Option("With --verify sketch or text: the minimum share of common 5-word "
        "shingles among all of both documents.  [default: 0.6 by sketches, 0.5 by texts]", least=0, most=1, metavar="J",
        setting="rule")] = None  # fmt: skip
    min_containment: Annotated[float | None, Option("The minimum share of the shorter document's 5-word shingles in "
        "the other one. Texts are read again.", least=0, most=1, metavar="C", setting="rule")] = None  # fmt: skip

    @property
    def parts(self) -> bool:
        return any(getattr(self, field.name) is not None for field in fields(RuleRequest)[1:])

    @property
    def given(self) -> bool:
        return self.match is not None or self.parts
