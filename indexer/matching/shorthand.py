"""Short ways of writing a match rule, and a rule in words."""

from __future__ import annotations

from indexer.errors import UsageError
from indexer.matching.lookups import plans
from indexer.matching.request import RuleRequest
from indexer.matching.rule import (
    DEFAULT_SHARE,
    DEFAULT_VERIFIED,
    LEAN_RULE,
    PREFERRED,
    Finder,
    MatchRule,
    TextVerification,
    default_rule,
    named_scheme,
    parse_rule,
    verified_rule,
)
from indexer.model import SIMHASH_DOC
from indexer.model.kinds import DOCUMENTS, KINDS
from indexer.schemes import registry
from indexer.stores.base import Store
from indexer.text.counts import counted

_USUAL_BITS = 3


AnyRule = str | MatchRule | RuleRequest | None
"""A rule as written, as an object, or as the short options of the command ask for one; None for the default."""


def rule_of(match: AnyRule, store: Store | None = None, *, hashes: bool = False) -> MatchRule:
    """The requested rule, else the store's default, without a store that of a new one.

    With `hashes` the default is by hashes of simhash-doc alone. Raises UsageError, also for contradicting parts, and
    IncompatibleStoreError if the store has a scheme with other parameters.
    """
    if isinstance(match, MatchRule):
        return match
    wanted = match if isinstance(match, RuleRequest) else RuleRequest(match=match)
    if wanted.match is not None:
        if wanted.parts:
            raise UsageError(f"the rule {wanted.match} is complete: leave out -k, --scheme, --similarity and --verify")
        return parse_rule(wanted.match, store)
    if not wanted.given:
        return parse_rule(LEAN_RULE, store) if hashes else default_rule(store)
    by_hamming = wanted.verify == "hamming"
    if wanted.distance is not None and not by_hamming:
        if wanted.similarity is not None:
            raise UsageError("give -k (bits of the simhash) or --similarity, not both; or --verify hamming too")
        if wanted.scheme not in (None, SIMHASH_DOC):
            raise UsageError("-k counts bits of the simhash; give --similarity in its place, or --verify hamming too")
    if wanted.verify == "sketch" and wanted.min_containment is not None:
        raise UsageError("sketches can't measure containment: give --min-jaccard, or --verify text")
    rule = _found(wanted, store)
    verifier = _verifier(wanted, store)
    return MatchRule(rule.finders, verifier or rule.verifier)


def rule_asked(match: AnyRule, store: Store | None = None) -> MatchRule | None:
    """The requested rule, or None. Raises the errors of rule_of()."""
    is_asked = match.given if isinstance(match, RuleRequest) else match is not None
    return rule_of(match, store) if is_asked else None


def _found(wanted: RuleRequest, store: Store | None) -> MatchRule:
    bits = None if wanted.verify == "hamming" else wanted.distance
    if wanted.scheme is not None:
        if "@" in wanted.scheme:
            raise UsageError(f"--scheme {wanted.scheme}: name the scheme alone, or give --match {wanted.scheme}")
        if bits is not None:
            return parse_rule(f"{wanted.scheme}@{bits}bits", store)
        least = "" if wanted.similarity is None else f"@{wanted.similarity:.12g}"
        return parse_rule(wanted.scheme + least, store)
    if wanted.similarity is not None:
        return _serving(wanted.similarity, store)
    if bits is not None:
        return parse_rule(f"{SIMHASH_DOC}@{bits}bits", store)
    return default_rule(store)


def _serving(similarity: float, store: Store | None) -> MatchRule:
    kind = KINDS[store.info.kind if store else DOCUMENTS]
    preferred = registry.family_of(kind.schemes[0])
    if store is None or any(scheme.name == preferred for scheme in store.info.schemes):
        usual = kind.name == DOCUMENTS
        return verified_rule(similarity, store) if usual else parse_rule(f"{preferred}@{similarity:.12g}", store)
    rules: list[tuple[float, MatchRule]] = []
    refused: list[str] = []
    for name in (SIMHASH_DOC, *(scheme.name for scheme in store.info.schemes)):
        scheme = named_scheme(name, store)
        try:
            rule = MatchRule((Finder(scheme, scheme.least(f"{similarity:.12g}")),))
            [(_, plan)] = plans(rule)
            rules.append((plan.recall, rule))
        except UsageError as error:
            refused.append(str(error))
    if not rules:
        raise UsageError("; ".join(refused) + f"; for less, index with --scheme {PREFERRED}")
    return max(rules, key=lambda ranked_rule: ranked_rule[0])[1]


def _verifier(wanted: RuleRequest, store: Store | None) -> Finder | TextVerification | None:
    jaccard, containment, way = wanted.min_jaccard, wanted.min_containment, wanted.verify
    if jaccard is not None and containment is not None:
        raise UsageError("give --min-jaccard or --min-containment: a rule has one verifier")
    if way == "hamming":
        if jaccard is not None or containment is not None:
            raise UsageError("--min-jaccard and --min-containment go with --verify sketch or text")
        scheme = named_scheme(SIMHASH_DOC, store)
        bits = _USUAL_BITS if wanted.distance is None else wanted.distance
        return Finder(scheme, scheme.least(f"{bits}bits"))
    if containment is not None:
        return TextVerification("containment", containment)
    if way == "text":
        return TextVerification("text", DEFAULT_VERIFIED if jaccard is None else jaccard)
    if way == "sketch" or jaccard is not None:
        return Finder(named_scheme(PREFERRED, store), DEFAULT_SHARE if jaccard is None else jaccard)
    return None


def explained(rule: MatchRule) -> list[str]:
    lines = [f"rule: {rule.written(whole=True)}"]
    for finder in rule.finders:
        lines.append(f"found by {finder}: documents {finder.described}")
        lines += [f"    {line}" for line in _found_by(finder)]
    if rule.verifier:
        lines.append(f"verified by {rule.verifier}: {_verified(rule.verifier)}")
    if rule.of_parts:
        lines.append("finds parts: a near document may hold much else, so nothing is removed by this rule")
    if rule.by_hash_alone:
        lines.append("not verified: a simhash alone also calls unrelated documents of one language near")
    return lines


def _found_by(finder: Finder) -> list[str]:
    try:
        plan = finder.scheme.plan(finder.similarity)
    except UsageError as error:
        if not finder.scheme.exact_join:
            raise
        return [f"for all pairs alone, of which every one is found; {error}"]
    expected = f"expected to find {plan.recall:.1%} of those exactly as similar"
    finds = "finds every one" if plan.guaranteed or finder.words else expected
    if common := finder.scheme.common:
        finds += f" with one that no more than {counted(common, 'document')} hold"
    tables = "one" if plan.agreeing == 1 else f"one in each of {plan.agreeing} tables"
    keys = "all keys of the text" if plan.probes is None else f"at most {counted(plan.probes, 'key')}"
    return [f"{keys}, of which {tables} has to agree; {finds}", plan.explanation]


def _verified(verifier: Finder | TextVerification) -> str:
    if isinstance(verifier, Finder):
        return f"documents {verifier.described}"
    if verifier.kind == "text":
        return f"documents of whose 5-word shingles {verifier.similarity:.0%} or more are in both, read again"
    if verifier.kind == "containment":
        return (
            f"documents of whose shorter one's shingles {verifier.similarity:.0%} or more are in the other, read again"
        )
    if verifier.words:
        return f"documents with a passage of {verifier.words} words or more in common, by an alignment of the texts"
    side = "query" if verifier.of_query else "shorter one"
    return (
        f"documents that have {verifier.similarity:.0%} or more of the {side} in passages, by an alignment of the texts"
    )
