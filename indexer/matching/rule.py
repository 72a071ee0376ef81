"""Match rules, the definitions of a near-duplicate.

A rule has one or more finders, each a scheme with a threshold, and at most one verifier. It is written
`simhash-doc@3bits`, `minhash@0.6`, `simhash-doc@7bits+minhash@0.6` (found by the one, verified by the other), or
`simhash-doc@3bits/minhash@0.6+minhash@0.6` (found by either, verified), also named `default`. A rule of parts may ask
for a share of the query, `passages@0.5query`, or for words in a row, `passages@40words`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from indexer.errors import IncompatibleStoreError, UsageError, shown, takes_named
from indexer.model import DEFAULT_MIN_TOKENS, SIMHASH_DOC
from indexer.model.kinds import DOCUMENTS, KINDS
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.stores.base import Store
from indexer.stores.schemes import scheme_of, scheme_written
from indexer.text.counts import counted, share_shown

Unit = Literal["bits", "share"]

# The scheme whose sketch decides by default: what most people mean by a share of common shingles.
PREFERRED = "minhash"
DEFAULT_SHARE = 0.6
DEFAULT_VERIFIED = 0.5
LEAN_RULE = "simhash-doc@3bits"
ReadingKind = Literal["text", "containment", "aligned"]
READINGS: tuple[ReadingKind, ...] = ("text", "containment", "aligned")
# The units of rules of parts.
_WORDS, _QUERY = "words", "query"
# What people call the rule of a new store; what is kept names it in full, since another may be built in one day.
DEFAULT = "default"


@dataclass(frozen=True)
class Finder:
    """A scheme, and the similarity (0 to 1) from which it calls documents near.

    For a scheme of parts this is a share of the shorter document or, with `of_query`, of the one asked about. With
    `words` it finds every document with so many words in a row in common, for a verifier to decide.
    """

    scheme: Scheme
    similarity: float
    words: int = 0
    of_query: bool = False

    def __post_init__(self) -> None:
        _require_share(self.scheme.family, self.similarity)
        if (self.words or self.of_query) and not self.scheme.of_parts:
            raise UsageError(
                f"{self}: {self.name} compares whole documents; words in a row and shares of the query are for a "
                "scheme of parts, such as passages"
            )
        least = self.scheme.guarantee or 0
        if self.words and self.words < least:
            raise UsageError(
                f"{self}: {self.scheme.id} finds whatever has {least} words in a row in common, but not all with less: "
                f"ask for {least}{_WORDS} or more, or index with a smaller window"
            )

    @property
    def name(self) -> str:
        """The scheme's family."""
        return self.scheme.family

    @property
    def unit(self) -> Unit:
        """The unit of the threshold."""
        return self.scheme.unit

    def written(self, *, whole: bool = False) -> str:
        """As in a rule; `whole` names every parameter of the scheme."""
        name = self.scheme.id if whole else scheme_written(self.scheme)
        return f"{name}@{_threshold(self, self.scheme.written(self.similarity))}"

    @property
    def described(self) -> str:
        """The documents it finds, in words, after "documents"."""
        if self.words:
            return f"that share a key, as all do that have {self.words} words in a row in common"
        if self.of_query:
            return f"that have {self.similarity:.0%} or more of the query (by its keys)"
        return self.scheme.described(self.similarity)

    def __str__(self) -> str:
        return self.written()


@dataclass(frozen=True)
class TextVerification:
    """Verification by the texts: `similarity` (0 to 1) is the threshold.

    "text" is the exact Jaccard coefficient of their 5-word shingles, "containment" the share of the shorter one's
    shingles in the other one. "aligned" is the share of the shorter one's words (with `of_query`, of the question's) in
    passages of the other one, with some letters and a few words different; with `words` one of these must have so many.
    """

    kind: ReadingKind
    similarity: float
    words: int = 0
    of_query: bool = False
    unit: Unit = "share"

    def __post_init__(self) -> None:
        _require_share(self.kind, self.similarity)
        if (self.words or self.of_query) and self.kind != "aligned":
            raise UsageError(f"{self}: words in a row and shares of the query are for aligned")

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind

    def written(self, *, whole: bool = False) -> str:
        """As in a rule."""
        del whole
        return f"{self.kind}@{_threshold(self, f'{self.similarity:.12g}')}"

    def __str__(self) -> str:
        return self.written()


def _threshold(part: Finder | TextVerification, share: str) -> str:
    return f"{part.words}{_WORDS}" if part.words else share + _QUERY * part.of_query


def _require_share(name: str, similarity: float) -> None:
    if not 0 <= similarity <= 1:
        raise UsageError(f"{name}@{similarity:g}: a similarity must be from 0 to 1")


@dataclass(frozen=True)
class MatchRule:
    """A match rule: found by any of `finders`, and verified by `verifier` if there is one.

    Two documents are near if the similarity of at least one finder, and that of the verifier, reach their thresholds.
    Raises UsageError for several finders without a verifier, since there would be no single measure.
    """

    finders: tuple[Finder, ...]
    verifier: Finder | TextVerification | None = None

    def __post_init__(self) -> None:
        if not self.finders:
            raise UsageError("a match rule needs a finder, for example simhash-doc@3bits")
        names = [finder.name for finder in self.finders]
        if len(set(names)) < len(names):
            raise UsageError(f"{self}: a scheme finds once in a rule")
        if any(finder.words for finder in self.finders) and self.verifier is None:
            raise UsageError(f"{self}: words in a row are counted in the texts, so it needs a verifier, as aligned")
        if len(names) > 1 and self.verifier is None:
            raise UsageError(f"{self}: a rule with several finders needs a verifier, as in {self}+{PREFERRED}@0.6")
        if any(self.schemes[finder.name].id != finder.scheme.id for finder in self.finders):
            raise UsageError(
                f"{self}: finds by one {self.measure.name} and verifies by another; a document has one sketch of each "
                "scheme"
            )

    @property
    def measure(self) -> Finder | TextVerification:
        """The part defining the similarity of two documents: the verifier, or the only finder."""
        return self.verifier or self.finders[0]

    @property
    def unit(self) -> Unit:
        """The unit to show similarities in: bits that differ, or a common share."""
        return self.measure.unit

    @cached_property
    def schemes(self) -> Mapping[str, Scheme]:
        """The schemes whose sketches the rule needs, by family."""
        by_name = {finder.name: finder.scheme for finder in self.finders}
        if isinstance(self.verifier, Finder):
            by_name[self.verifier.name] = self.verifier.scheme
        return by_name

    def require_served(self, store: Store) -> None:
        """Raise IncompatibleStoreError if the store has sketches of one of the schemes with other parameters."""
        ours = self.schemes
        for known in store.info.schemes:
            if known.name in ours and ours[known.name].id != known.id:
                raise IncompatibleStoreError(
                    f"{self}: asks for {ours[known.name].id}, and the store's sketches are of {known.id}: take the "
                    f"store's own, by a rule that names {known.name} alone"
                )

    def lacking(self, counts: Mapping[str, int]) -> int:
        """The least number of documents that can't be compared, given the `counts` without a sketch of each scheme.

        They lack the verifier's, or every finder's; if neither is simhash-doc, there may be more.
        """
        by_verifier = counts.get(self.verifier.name, 0) if self.verifier else 0
        return max(by_verifier, min(counts.get(finder.name, 0) for finder in self.finders))

    def written(self, *, whole: bool = False) -> str:
        """The written form; `whole` names every parameter of its schemes."""
        finders = "/".join(finder.written(whole=whole) for finder in self.finders)
        return finders + (f"+{self.verifier.written(whole=whole)}" if self.verifier else "")

    def __str__(self) -> str:
        return self.written()

    @property
    def name(self) -> str:
        """The name of the rule for people: `default` for that of a new store, else the written form."""
        return rule_name(self.written())

    @property
    def in_words(self) -> str:
        """The rule in a sentence."""
        return "the default rule" if self.name == DEFAULT else self.name

    @property
    def least_words(self) -> int:
        """The least number of words for a meaningful match by the rule."""
        own = (kind.min_tokens for kind in KINDS.values() if self.measure.name in map(registry.family_of, kind.schemes))
        return next(own, DEFAULT_MIN_TOKENS)

    @property
    def sure_words(self) -> int:
        """The number of words in a row the finders never miss; 0 if they promise none."""
        promised = [each.scheme.guarantee or 0 for each in self.finders]
        return 0 if self.of_letters else min(promised)

    @property
    def by_hash_alone(self) -> bool:
        """True if a simhash alone decides; it also calls documents near with only their language in common."""
        return self.unit == "bits" and any(finder.unit == "bits" for finder in self.finders)

    @property
    def of_parts(self) -> bool:
        """True if documents are near by this rule when one is only a part of the other."""
        measure = self.measure
        return measure.scheme.of_parts if isinstance(measure, Finder) else measure.kind != "text"

    @property
    def of_letters(self) -> bool:
        """True if it finds by the letters alone, and so aligns texts by these."""
        return any(finder.scheme.parameters.get("features") == "letters" for finder in self.finders)

    @cached_property
    def of_query(self) -> frozenset[str]:
        """The names of its parts measuring the share of the query."""
        return frozenset(part.name for part in (*self.finders, self.measure) if part.of_query)

    def require_symmetric(self) -> None:
        """Raise UsageError for a rule with a share of the query, if there is no query."""
        if self.of_query:
            raise UsageError(
                f"{self}: there is no query here; leave {_QUERY} out for the share of the shorter document"
            )

    def require_copies(self) -> None:
        """Raise UsageError for a rule of parts, if near documents are to be removed."""
        if self.of_parts:
            raise UsageError(
                f"{self}: also finds parts, as a chapter in a book, which are no copies, so that nothing is removed by "
                f"it; take a rule that compares whole documents, as {PREFERRED}@{DEFAULT_SHARE:g}"
            )

    @cached_property
    def width(self) -> int:
        """The bits of the simhash behind its similarities; 0 if they are no shares of bits."""
        if self.unit == "share" or not isinstance(self.measure, Finder):
            return 0
        return int(self.measure.scheme.parameters.get("bits", 64))

    def bits(self, similarity: float) -> int:
        """The number of differing bits at a similarity, possibly rounded, by a rule measured in bits."""
        return round(self.width * (1 - similarity))

    def shown(self, similarity: float) -> str:
        """A similarity by this rule as people read it: "3 bits differ", "shares 87%"."""
        if self.unit == "share":
            return f"shares {share_shown(similarity)}"
        bits = self.bits(similarity)
        return counted(bits, "bit differs", "bits differ")

    def said(self, similarity: float, name: str) -> str:
        """A similarity to a named document: "3 bits differ from NAME", "shares 87% with NAME"."""
        return f"{self.shown(similarity)} {'with' if self.unit == 'share' else 'from'} {name}"


@takes_named
def parse_rule(text: str, store: Store | None = None, *, scheme: Callable[[str], Scheme] | None = None) -> MatchRule:
    """Parse a rule; a scheme without parameters means the store's own if there is one, and "default" the default rule.

    `scheme` replaces the function that makes a scheme from its specification. Raises UsageError with the problem, and
    IncompatibleStoreError if the store has a scheme with other parameters.
    """
    if not isinstance(text, str):
        raise UsageError(f"a match rule is a text such as minhash@0.6, not {shown(text)}")
    text = default_rule(store).written() if text.strip() == DEFAULT else text
    finding, plus, verified = text.strip().partition("+")
    if "+" in verified:
        raise UsageError(f"{text!r}: a rule has one verifier, after one +")
    if not finding or (plus and not verified):
        raise UsageError(
            f"{text!r} is not a match rule; write, for example, simhash-doc@3bits, minhash@0.6, or "
            "simhash-doc@7bits+minhash@0.6"
        )
    made = scheme or (lambda name: named_scheme(name, store))
    finders = tuple(_finder(part, made) for part in finding.split("/"))
    if not plus and finders[0].words and len(finders) == 1:
        return MatchRule(finders, TextVerification("aligned", 0.0, finders[0].words))
    return MatchRule(finders, _verifier(verified, made) if plus else None)


def default_rule(store: Store | None = None) -> MatchRule:
    """The rule of a store without an explicit one: that of its kind if it has the sketches, else by simhash alone.

    Without a store, the rule of a new one.
    """
    kind = KINDS[store.info.kind if store else DOCUMENTS]
    if store is None or {*map(registry.family_of, kind.schemes)} <= {each.name for each in store.info.schemes}:
        return parse_rule(kind.rule, store)
    return parse_rule(LEAN_RULE, store)


def verified_rule(share: float, store: Store | None = None) -> MatchRule:
    """Found by simhash or by the sketch, verified by the sketch, from a share."""
    return parse_rule(verified_text(share), store)


def verified_text(share: float = DEFAULT_SHARE) -> str:
    """The written form of `verified_rule`."""
    return f"{LEAN_RULE}/{PREFERRED}@{share:.12g}+{PREFERRED}@{share:.12g}"


def rule_name(written: str) -> str:
    """The name of a rule given in its written form."""
    return DEFAULT if written == verified_text() else written


def _finder(text: str, made: Callable[[str], Scheme]) -> Finder:
    name, at, threshold = text.strip().rpartition("@")
    if not at:
        name, threshold = threshold, ""
    if name in READINGS:
        raise UsageError(f"{text!r}: {name} verifies, it finds nothing; write it after a +")
    scheme = made(name)
    words = _words(threshold)
    if words or threshold.endswith(_QUERY):
        return Finder(scheme, 0.0 if words else scheme.least(threshold.removesuffix(_QUERY)), words, not words)
    return Finder(scheme, scheme.least(threshold if at else f"{scheme.default_similarity:.12g}"))


def _verifier(text: str, made: Callable[[str], Scheme]) -> Finder | TextVerification:
    name, at, threshold = text.strip().partition("@")
    if name not in READINGS:
        return _finder(text, made)
    words = _words(threshold)
    of_query = not words and threshold.endswith(_QUERY)
    try:
        least = 0.0 if words else float(threshold.removesuffix(_QUERY)) if at else DEFAULT_VERIFIED
    except ValueError:
        least = -1.0
    if not 0 <= least <= 1:
        raise UsageError(f"{text!r}: the threshold of {name} must be from 0 to 1")
    return TextVerification(next(kind for kind in READINGS if kind == name), least, words, of_query)


def _words(threshold: str) -> int:
    number = threshold.removesuffix(_WORDS).strip()
    return int(number) if threshold.endswith(_WORDS) and number.isdecimal() else 0


def named_scheme(name: str, store: Store | None = None) -> Scheme:
    """The scheme a rule names: the store's own, or without a store a new one."""
    if store is None:
        return registry.scheme(name)
    family, parameters = registry.split(name)
    if family == SIMHASH_DOC:
        return registry.scheme(name)
    own = scheme_of(store, family)
    if parameters:
        from indexer.stores.schemes import require_same

        require_same(store, own, name)
    return own
