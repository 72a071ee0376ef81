"""Match rules: their written form, the short ways of writing one, and what a store takes by default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import IncompatibleStoreError, UsageError
from indexer.matching.request import RuleRequest
from indexer.matching.rule import Finder, MatchRule, TextVerification, default_rule, parse_rule, share_shown
from indexer.matching.shorthand import explained, rule_of
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.schemes.simhash import SimhashDoc
from indexer.stores import Store
from indexer.text.corpus import Corpus, gather
from indexer.text.features import parse_recipe
from tests.planted import empty


def corpus(name: str) -> Corpus:
    """Statistics for the schemes that need them."""
    texts = [f"the {word} of a {word} and one" for word in ("tea", "bread", "oven", "water")]
    return gather(texts, parse_recipe(name.removeprefix("corpus.")))


def made(specification: str) -> Scheme:
    return registry.scheme(specification, corpus)


SPECIFICATIONS = [
    *registry.families(),
    "minhash:bands=16,rows=5",
    "minhash:shingle=3,bits=1,values=1024",
    "minhash:threshold=0.8",
    "simhash:bits=128",
    "simhash:weights=tfidf",
    "simhash:bits=32,stop=en,lower=false",
    "spotsigs:antecedents=a.an.the.is,bound=0.75",
    "i-match:low=0.0,high=1.0,sublexicons=4",
    "random-projection:bits=512,block=16",
]

SHARES = st.integers(0, 1000).map(lambda thousandths: f"{thousandths / 1000:.12g}")


@st.composite
def finders(draw: st.DrawFn) -> str:
    """A scheme with a threshold of its own, written."""
    specification = draw(st.sampled_from(SPECIFICATIONS))
    if made(specification).unit == "bits":
        least = draw(st.integers(0, 32).map(lambda bits: f"@{bits}bit{'s' * (bits != 1)}") | SHARES.map("@{}".format))
    else:
        least = draw(SHARES.map("@{}".format))
    return specification + draw(st.sampled_from([least, ""]))


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A written rule of finders that differ, verified where there are several."""
    found = draw(
        st.lists(finders(), min_size=1, max_size=3, unique_by=lambda each: registry.split(each.split("@")[0])[0])
    )
    family = {registry.split(each.split("@")[0])[0]: each.split("@")[0] for each in found}
    verifier = draw(
        finders()
        | SHARES.map("text@{}".format)
        | st.sampled_from(["text", "containment", "aligned@40words", "aligned@0.3query", ""])
    )
    name = registry.split(verifier.split("@")[0])[0] if verifier else ""
    if name in family:
        verifier = family[name] + verifier[len(verifier.split("@")[0]) :]
    if len(found) > 1 and not verifier:
        verifier = "minhash@0.5" if "minhash" not in family else f"{family['minhash']}@0.5"
    return "/".join(found) + (f"+{verifier}" if verifier else "")


@settings(max_examples=200, deadline=None)
@given(rules())
def test_written_forms_are_read_again(text: str) -> None:
    rule = parse_rule(text, scheme=made)
    for whole in (False, True):
        again = parse_rule(rule.written(whole=whole), scheme=made)
        assert again == rule
        assert again.written(whole=whole) == rule.written(whole=whole)
        assert not set(rule.written(whole=whole)) & set(" \t*?[]{}()<>|&;$'\"\\`!#~")
    assert str(rule) == rule.written()
    assert parse_rule(f"  {text} ", scheme=made) == rule
    thresholds = [each.similarity for each in (*rule.finders, *([rule.verifier] if rule.verifier else []))]
    assert all(0 <= each <= 1 for each in thresholds)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("simhash-doc", "simhash-doc@3bits"),
        ("simhash-doc@1bit", "simhash-doc@1bit"),
        ("simhash-doc@1 bits", "simhash-doc@1bit"),
        ("simhash-doc@0.98", "simhash-doc@1bit"),
        ("simhash-doc@0.9", "simhash-doc@6bits"),
        ("simhash-doc@0.90", "simhash-doc@6bits"),
        ("simhash-doc@0.953125", "simhash-doc@3bits"),
        ("simhash-doc@1", "simhash-doc@0bits"),
        ("simhash:bits=128@0.9", "simhash:bits=128@12bits"),
        ("minhash:shingle=3@0.7", "minhash:shingle=3@0.7"),
        ("minhash:shingle=5@0.7", "minhash@0.7"),
        ("minhash:bands=16,bits=1,numbers=keep,rows=4,shingle=5,values=128@0.6", "minhash:values=128@0.6"),
        ("minhash", "minhash@0.6"),
        ("minhash@.6", "minhash@0.6"),
        ("minhash@0.60", "minhash@0.6"),
        ("simhash-doc@7bits+minhash", "simhash-doc@7bits+minhash@0.6"),
        ("simhash-doc+text", "simhash-doc@3bits+text@0.5"),
        ("simhash-doc+containment@1", "simhash-doc@3bits+containment@1"),
        ("simhash-doc@3bits / minhash@0.6 + minhash@0.6", "simhash-doc@3bits/minhash@0.6+minhash@0.6"),
        ("passages@0.5query", "passages@0.5query"),
        ("passages@0.50query+aligned", "passages@0.5query+aligned@0.5"),
        ("passages@40words", "passages@40words+aligned@40words"),
        ("passages@36 words+aligned@0.25query", "passages@36words+aligned@0.25query"),
        ("passages:window=12@16words", "passages:window=12@16words+aligned@16words"),
        ("passages@40words/minhash@0.6+aligned@1", "passages@40words/minhash@0.6+aligned@1"),
    ],
)  # fmt: skip
def test_thresholds_are_written_in_the_scheme_s_own_unit(text: str, written: str) -> None:
    assert str(parse_rule(text)) == written


@given(st.integers(0, 64), st.integers(0, 4))
def test_a_share_allows_whole_bits(bits: int, short: int) -> None:
    """floor(64 (1 - s)): no rounding takes a bit away, and none is given before it is reached."""
    exact = SimhashDoc().least(f"{1 - bits / 64:.12g}")
    assert exact == SimhashDoc().least(f"{bits}bits") == 1 - bits / 64
    below = 1 - bits / 64 - short / 400
    if below >= 0:
        assert SimhashDoc().least(f"{below:.12g}") == exact


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a match rule"),
        ("+minhash@0.6", "is not a match rule"),
        ("simhash-doc@3bits+", "is not a match rule"),
        ("a+b+c", "one verifier"),
        ("simhash-doc@3bits/minhash@0.6", "several finders needs a verifier"),
        ("minhash@0.6/minhash@0.7+minhash@0.6", "finds once"),
        ("minhash@0.6/", "is not a scheme"),
        ("minhsh@0.6", "'minhsh' is not a scheme; known: simhash-doc"),
        ("minhash@3bits", "minhash@3bits: .* must be from 0 to 1"),
        ("minhash@1.5", "must be from 0 to 1"),
        ("minhash@-0.1", "must be from 0 to 1"),
        ("minhash@nan", "must be from 0 to 1"),
        ("minhash@60%", "must be from 0 to 1"),
        ("simhash-doc@65bits", "from 0bits to 64bits"),
        ("simhash-doc@3", "from 0bits to 64bits"),
        ("simhash-doc@bits", "from 0bits to 64bits"),
        ("text@0.5", "verifies, it finds nothing"),
        ("simhash-doc@3bits+text@2", "must be from 0 to 1"),
        ("simhash-doc@3bits+containment@many", "must be from 0 to 1"),
        ("minhash:bands=0@0.6", "bands"),
        ("minhash@40words", "minhash compares whole documents; words in a row .* are for a scheme of parts"),
        ("minhash@0.5query", "minhash compares whole documents"),
        ("simhash-doc@3bits+text@0.5query", "are for aligned"),
        ("simhash-doc@3bits+containment@40words", "are for aligned"),
        ("passages@35words", "ask for 36words or more, or index with a smaller window"),
        ("passages:window=12@15words", "ask for 16words or more"),
        ("passages@0words", "must be from 0 to 1"),
        ("passages@words", "must be from 0 to 1"),
        ("passages@2query", "must be from 0 to 1"),
        ("minhash@0.3+aligned@query", "must be from 0 to 1"),
        ("minhash@", "minhash@: "),
        ("minhash:bands=16,rows=5@0.6+minhash@0.6", "finds by one minhash and verifies by another"),
    ],
)
def test_what_is_no_rule_says_why(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_rule(text)


def test_a_rule_made_in_python_is_held_to_the_same() -> None:
    finder = Finder(SimhashDoc(), 0.95)
    with pytest.raises(UsageError, match="needs a finder"):
        MatchRule(())
    with pytest.raises(UsageError, match="finds once"):
        MatchRule((finder, finder), TextVerification("text", 0.5))
    for similarity in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="from 0 to 1"):
            Finder(SimhashDoc(), similarity)
        with pytest.raises(UsageError, match="from 0 to 1"):
            TextVerification("text", similarity)


def opened(folder: Path, *schemes: str) -> Store:
    return empty(folder / "store.neardup", [registry.scheme(each) for each in schemes])


def test_a_scheme_is_the_store_s_own(tmp_path: Path) -> None:
    with opened(tmp_path, "minhash:shingle=3") as store:
        rule = parse_rule("simhash-doc@3bits/minhash@0.7+minhash@0.7", store)
        assert rule.schemes["minhash"].id == registry.scheme("minhash:shingle=3").id
        assert parse_rule(rule.written(whole=True), store) == rule
        assert str(rule) != "simhash-doc@3bits/minhash@0.7+minhash@0.7"
        assert parse_rule("minhash:shingle=3@0.7", store).schemes == {"minhash": rule.schemes["minhash"]}
        with pytest.raises(IncompatibleStoreError, match=r"shingle=3.*shingle=5"):
            parse_rule("minhash:shingle=5@0.7", store)
        with pytest.raises(UsageError, match=r"no sketches of the scheme 'spotsigs' \(it has: minhash\)"):
            parse_rule("spotsigs@0.7", store)


@pytest.mark.parametrize(
    ("schemes", "rule"),
    [
        ([], "simhash-doc@3bits"),
        (["minhash"], "simhash-doc@3bits/minhash@0.6+minhash@0.6"),
        (["spotsigs"], "simhash-doc@3bits"),
        (["spotsigs", "minhash"], "simhash-doc@3bits/minhash@0.6+minhash@0.6"),
    ],
)
def test_the_default_is_verified_where_there_is_a_sketch(tmp_path: Path, schemes: Sequence[str], rule: str) -> None:
    with opened(tmp_path, *schemes) as store:
        assert str(default_rule(store)) == str(rule_of(RuleRequest(), store)) == rule
        assert default_rule(store).by_hash_alone == ("minhash" not in schemes)
    assert str(default_rule()) == "simhash-doc@3bits/minhash@0.6+minhash@0.6"


def test_the_default_rule_has_a_name() -> None:
    assert parse_rule(" default ") == default_rule()
    assert (default_rule().name, default_rule().in_words) == ("default", "the default rule")
    # What is kept, and what a program reads, names it in full.
    assert "default" not in str(default_rule()) + default_rule().written(whole=True)
    for other in ("minhash@0.6", "simhash-doc@3bits/minhash@0.7+minhash@0.7", "minhash:shingle=2@0.6"):
        rule = parse_rule(other)
        assert rule.name == rule.in_words == str(rule)


@pytest.mark.parametrize(
    ("wanted", "rule"),
    [
        (RuleRequest(match="minhash@0.7"), "minhash@0.7"),
        (RuleRequest(distance=3), "simhash-doc@3bits"),
        (RuleRequest(distance=0), "simhash-doc@0bits"),
        (RuleRequest(scheme="minhash"), "minhash@0.6"),
        (RuleRequest(scheme="minhash", similarity=0.75), "minhash@0.75"),
        (RuleRequest(scheme="simhash-doc", distance=5), "simhash-doc@5bits"),
        (RuleRequest(scheme="simhash-doc", similarity=0.9), "simhash-doc@6bits"),
        (RuleRequest(similarity=0.8), "simhash-doc@3bits/minhash@0.8+minhash@0.8"),
        (RuleRequest(verify="sketch"), "simhash-doc@3bits/minhash@0.6+minhash@0.6"),
        (RuleRequest(verify="text"), "simhash-doc@3bits/minhash@0.6+text@0.5"),
        (RuleRequest(distance=7, verify="sketch"), "simhash-doc@7bits+minhash@0.6"),
        (RuleRequest(distance=7, min_jaccard=0.7), "simhash-doc@7bits+minhash@0.7"),
        (RuleRequest(distance=7, verify="text", min_jaccard=0.7), "simhash-doc@7bits+text@0.7"),
        (RuleRequest(distance=7, min_containment=0.9), "simhash-doc@7bits+containment@0.9"),
        (RuleRequest(scheme="minhash", similarity=0.3, verify="hamming", distance=0), "minhash@0.3+simhash-doc@0bits"),
        (RuleRequest(similarity=0.3, verify="hamming"), "simhash-doc@3bits/minhash@0.3+simhash-doc@3bits"),
        (RuleRequest(scheme="spotsigs", verify="sketch", min_jaccard=0.4), "spotsigs@0.5+minhash@0.4"),
    ],
    ids=str,
)
def test_short_ways_of_writing_a_rule(tmp_path: Path, wanted: RuleRequest, rule: str) -> None:
    with opened(tmp_path, "minhash", "spotsigs") as store:
        assert str(rule_of(wanted, store)) == rule
        assert rule_of(RuleRequest(match=rule), store) == rule_of(wanted, store)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (RuleRequest(match="minhash@0.7", distance=3), "is complete: leave out -k"),
        (RuleRequest(match="minhash@0.7", scheme="minhash"), "is complete"),
        (RuleRequest(match="minhash@0.7", verify="text"), "is complete"),
        (RuleRequest(distance=3, similarity=0.8), "not both"),
        (RuleRequest(distance=3, scheme="minhash"), "-k counts bits"),
        (RuleRequest(min_jaccard=0.5, min_containment=0.5), "one verifier"),
        (RuleRequest(verify="hamming", min_jaccard=0.5), "--verify sketch or text"),
        (RuleRequest(verify="hamming", min_containment=0.5), "--verify sketch or text"),
        (RuleRequest(verify="sketch", min_containment=0.5), "containment.*--verify text"),
        (RuleRequest(scheme="nothing"), "'nothing'.*; no scheme has this name"),
        (RuleRequest(scheme="minhash@0.5", similarity=0.5), "--scheme"),
    ],
    ids=str,
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, wanted: RuleRequest, said: str) -> None:
    with opened(tmp_path, "minhash") as store, pytest.raises(UsageError, match=said):
        rule_of(wanted, store)


def test_without_the_sketch_a_similarity_takes_what_misses_least(tmp_path: Path) -> None:
    with opened(tmp_path, "spotsigs", "supershingles") as store:
        assert str(rule_of(RuleRequest(similarity=0.95), store)) == "simhash-doc@3bits"
        assert str(rule_of(RuleRequest(similarity=0.7), store)) == "spotsigs@0.7"
        with pytest.raises(UsageError, match="--scheme minhash"):
            rule_of(RuleRequest(verify="sketch"), store)
    lean = tmp_path / "lean"
    lean.mkdir()
    with (
        opened(lean) as store,
        pytest.raises(UsageError, match=r"simhash-doc@.*within 0bits to 7bits.*--scheme minhash"),
    ):
        rule_of(RuleRequest(similarity=0.7), store)


def test_a_rule_in_words() -> None:
    lines = explained(parse_rule("simhash-doc@5bits/minhash@0.7+minhash@0.7"))
    assert lines[0].startswith("rule: simhash-doc@5bits/minhash:")
    text = "\n".join(lines)
    for part in ("within 5 of 64 bits", "278 keys", "finds every one", "expected to find 9", "that share 70% or more"):
        assert part in text, part
    assert "not verified" not in text
    assert "unrelated documents of one language" in explained(parse_rule("simhash-doc@3bits"))[-1]
    said = explained(parse_rule("simhash-doc@3bits+containment@0.9"))
    assert "read again" in said[-2]
    assert "finds parts" in said[-1]
    # What only a search of all pairs serves is said to be so.
    assert any("all pairs" in line for line in explained(parse_rule("simhash-doc@12bits")))


@pytest.mark.parametrize(
    ("rule", "similarity", "shown"),
    [
        *(("simhash-doc@3bits", round(1 - bits / 64, 4), f"{bits} bit{'s' * (bits != 1)} differ{'s' * (bits == 1)}")
          for bits in (0, 1, 2, 3, 7, 11, 64)),
        ("simhash:bits=128@3bits", round(1 - 5 / 128, 4), "5 bits differ"),
        ("minhash@0.6", 0.874, "shares 87%"),
        ("minhash@0.6", 0.9999, "shares 99%"),
        ("simhash-doc@3bits+text@0.5", 1.0, "shares 100%"),
    ],
)  # fmt: skip
def test_similarities_as_people_read_them(rule: str, similarity: float, shown: str) -> None:
    assert parse_rule(rule).shown(similarity) == shown


def test_a_share_is_never_rounded_to_all_or_to_nothing() -> None:
    assert [share_shown(each) for each in (0, 1e-6, 0.004, 0.5, 0.994, 0.996, 1 - 1e-9, 1.0)] == [
        "0%", "1%", "1%", "50%", "99%", "99%", "99%", "100%",
    ]  # fmt: skip
