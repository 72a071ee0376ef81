"""A test suite for the contract of schemes; the tests of each scheme inherit it, also in other packages.

It needs the extra `testing` (pytest and Hypothesis). A subclass names the scheme's specification, invalid ones, and the
maximum size of a payload in bytes:

    class TestMinhash(SchemeContract): specification = "minhash" bad = ("minhash:bands=0",) payload_limit = 128

Write a subclass for each set of parameters. A scheme that needs a corpus provides its statistics in `corpus`.
"""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.errors import PayloadError, UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes import registry
from indexer.schemes.base import Scheme, Sketches, sketch_text, sketch_texts

STOP_WORDS = ("the", "is", "of", "a", "to", "and", "in", "that", "was", "can", "be", "there", "had", "has", "says")

# 400 words of two to four syllables, different in every place.
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
VOCABULARY = sorted({"".join(random.Random(n).choices(SYLLABLES, k=2 + n % 3)) for n in range(440)})[:400]


def words(seed: int, count: int) -> list[str]:
    """This many words of a made-up text: a stop-word about every third, the others more often the nearer to the
    front."""
    draw = random.Random(seed)
    return [
        draw.choice(STOP_WORDS) if draw.random() < 0.35 else VOCABULARY[int(len(VOCABULARY) * draw.random() ** 1.7)]
        for _ in range(count)
    ]


def document(seed: int, count: int = 300) -> str:
    """A made-up text of this many words, in sentences; equal seeds begin alike."""
    sentences = words(seed, count)
    return " ".join(" ".join(sentences[n : n + 12]).capitalize() + "." for n in range(0, count, 12))


NO_FEATURES = ("", " \n\t", "\u200b\u00ad", " . , ! ( ) ")

ODD = (
    "lone \ud800 surrogate " + document(1),
    document(2).replace(" ", "\0"),
    document(3).replace(".", "\x1b[31m\r\n"),
    "word " * 5000,
    "a",
    "ab " * 3,
    "中文" * 200,
    "ß" * 3000,
    "\u0301" * 3000 + "a",
)

# Every scheme's tests inherit the same properties; examples of one are worth trying on the others.
PROPERTY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.differing_executors])

SIMILARITIES = tuple(n / 20 for n in range(21))


class SchemeContract:
    """Inherited by each scheme's tests."""

    specification: ClassVar[str]
    """The scheme under test, as a user writes it."""
    bad: ClassVar[Sequence[str]]
    """Specifications of the same family that have to be refused."""
    payload_limit: ClassVar[int]
    """The most bytes that a payload may have, whatever the text."""
    bad_payloads: ClassVar[Sequence[bytes]] = (b"", b"x")
    """Bytes that are not a payload of this scheme."""

    def corpus(self, name: str) -> Any:
        """The statistics of a corpus, if the scheme needs them."""
        raise AssertionError(f"no statistics {name!r} here")

    @pytest.fixture
    def scheme(self) -> Scheme:
        return self.made()

    def made(self, specification: str | None = None) -> Scheme:
        return registry.scheme(specification or self.specification, self.corpus)

    def sketched(self, scheme: Scheme, text: str | bytes) -> Sketch:
        sketch = scheme.sketch(text)
        assert sketch is not None
        return sketch

    # The scheme itself

    def test_it_is_registered_under_its_family(self, scheme: Scheme) -> None:
        assert scheme.family in registry.families()
        assert registry.scheme_class(scheme.family) is type(scheme)
        assert scheme.family == scheme.family.lower()
        assert scheme.family.replace("-", "").isalnum()
        assert scheme.summary.endswith(".")
        assert "\n" not in scheme.summary + scheme.measure
        assert scheme.measure

    def test_its_id_makes_it_again(self, scheme: Scheme) -> None:
        again = self.made(scheme.id)
        assert again.id == scheme.id
        assert dict(again.parameters) == dict(scheme.parameters)
        assert again.layout == scheme.layout
        assert again.agreeing == scheme.agreeing
        assert again.sketch(document(7)) == scheme.sketch(document(7))

    def test_its_id_names_every_parameter_in_order(self, scheme: Scheme) -> None:
        _, parameters = registry.split(scheme.id)
        assert list(parameters) == sorted(scheme.parameters)
        assert scheme.info.name == scheme.family
        assert scheme.info.id == scheme.id
        assert scheme.info.layout == scheme.layout

    def test_it_can_be_pickled(self, scheme: Scheme) -> None:
        again = pickle.loads(pickle.dumps(scheme))
        assert again.id == scheme.id
        assert again.sketch(document(8)) == scheme.sketch(document(8))

    def test_its_layout_fits_into_a_signed_integer(self, scheme: Scheme) -> None:
        assert scheme.layout.tables >= 1
        assert scheme.layout.bits >= 1
        assert scheme.layout.end <= 2**63
        assert 1 <= scheme.agreeing <= scheme.layout.tables

    def test_bad_parameters_are_refused_by_name(self) -> None:
        assert self.bad
        for specification in self.bad:
            with pytest.raises(UsageError) as caught:
                self.made(specification)
            family, parameters = registry.split(specification)
            assert family == registry.split(self.specification)[0]
            assert any(name in str(caught.value) for name in parameters), str(caught.value)

    def test_unknown_parameters_are_refused(self, scheme: Scheme) -> None:
        with pytest.raises(UsageError, match="no_such_thing"):
            self.made(f"{scheme.family}:no_such_thing=1")

    # Sketches

    def check(self, scheme: Scheme, sketch: Sketch) -> None:
        assert sketch.scheme == scheme.id
        assert 0 < len(sketch.payload) <= self.payload_limit
        assert sketch.features >= 1
        assert sketch.keys
        assert all(type(key) is int and 0 <= key < scheme.layout.end for key in sketch.keys)
        assert len(set(sketch.keys)) == len(sketch.keys)

    @pytest.mark.parametrize("count", [30, 300, 3000])
    def test_a_sketch_keeps_to_the_layout(self, scheme: Scheme, count: int) -> None:
        for seed in range(5):
            self.check(scheme, self.sketched(scheme, document(seed, count)))

    def test_the_same_text_gives_the_same_sketch(self, scheme: Scheme) -> None:
        other = self.made()
        for seed in range(5):
            assert scheme.sketch(document(seed)) == scheme.sketch(document(seed)) == other.sketch(document(seed))

    @given(st.text(max_size=200))
    @PROPERTY
    def test_bytes_and_text_give_the_same_sketch(self, text: str) -> None:
        scheme = self.made()
        for whole in (text, document(4, 60) + text):
            data = whole.encode("utf-8", "surrogatepass")
            assert scheme.sketch(whole) == scheme.sketch(data)

    @given(st.lists(st.text(max_size=60) | st.binary(max_size=60), max_size=4))
    @PROPERTY
    def test_texts_together_are_sketched_as_alone(self, texts: list[str | bytes]) -> None:
        scheme = self.made()
        given = [*texts, document(6, 60), *NO_FEATURES[:2], document(7, 200).encode()]
        wanted = [scheme.sketch(text) for text in given]
        assert scheme.sketch_many(given).listed(scheme.id) == wanted
        beside = [registry.scheme(name) for name in ("simhash-doc", "minhash", "passages:window=8")]
        together = sketch_texts([scheme, *beside], given)
        listed = [made.listed(each.id) for each, made in zip((scheme, *beside), together, strict=True)]
        assert listed[0] == wanted
        assert [sketch_text([scheme, *beside], text) for text in given] == list(map(list, zip(*listed, strict=True)))

    @given(st.binary(max_size=200))
    @PROPERTY
    def test_no_bytes_are_too_odd(self, data: bytes) -> None:
        scheme = self.made()
        for whole in (data, document(5, 60).encode() + data):
            sketch = scheme.sketch(whole)
            if sketch is not None:
                self.check(scheme, sketch)

    @pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
    def test_no_text_is_too_odd(self, scheme: Scheme, text: str) -> None:
        sketch = scheme.sketch(text)
        if sketch is not None:
            self.check(scheme, sketch)
            assert scheme.similarities(sketch.payload, [sketch.payload]).tolist() == [1.0]

    @pytest.mark.parametrize("text", NO_FEATURES)
    def test_a_text_without_features_has_no_sketch(self, scheme: Scheme, text: str) -> None:
        assert scheme.sketch(text) is None
        assert scheme.sketch(text.encode()) is None

    # Similarities

    def test_equal_texts_are_wholly_similar_and_share_all_keys(self, scheme: Scheme) -> None:
        for seed in range(5):
            left, right = self.sketched(scheme, document(seed)), self.sketched(scheme, document(seed))
            assert left.keys == right.keys
            assert scheme.similarities(left.payload, [right.payload]).tolist() == [1.0]

    def test_similarities_are_symmetric_and_within_0_and_1(self, scheme: Scheme) -> None:
        texts = [document(seed, count) for seed in range(6) for count in (40, 280, 300)]
        payloads = [self.sketched(scheme, text).payload for text in texts]
        matrix = np.array([scheme.similarities(payload, payloads) for payload in payloads])
        assert matrix.shape == (len(payloads), len(payloads))
        assert matrix.dtype == np.float64
        assert np.all((matrix >= 0) & (matrix <= 1))
        assert np.array_equal(matrix, matrix.T)
        assert np.all(np.diag(matrix) == 1.0)

    def test_many_at_once_are_the_same_as_one_by_one(self, scheme: Scheme) -> None:
        payloads = [self.sketched(scheme, document(seed // 3, 200 + seed)).payload for seed in range(40)]
        together = scheme.similarities(payloads[0], payloads)
        assert together.tolist() == [scheme.similarities(payloads[0], [payload])[0] for payload in payloads]
        assert scheme.similarities(payloads[0], []).shape == (0,)

    def test_what_payloads_and_keys_hold_of_each_other_is_that_of_the_sketches(self, scheme: Scheme) -> None:
        made = [self.sketched(scheme, document(seed, 20 * seed + 40)) for seed in range(5)]
        held = scheme.keys_of(Ragged.of_bytes([sketch.payload for sketch in made]))
        if held is not None:
            assert held.values.dtype == np.int64
            assert [tuple(held.row(place).tolist()) for place in range(len(made))] == [sketch.keys for sketch in made]
        back = scheme.payloads_of(Ragged.of_integers([sketch.keys for sketch in made]))
        if back is not None:
            assert [back.bytes_of(place) for place in range(len(made))] == [sketch.payload for sketch in made]

    def test_pairs_of_a_table_are_compared_as_one_by_one(self, scheme: Scheme) -> None:
        payloads = [self.sketched(scheme, document(seed // 3, 200 + seed)).payload for seed in range(12)]
        left, right = (places.ravel() for places in np.mgrid[: len(payloads), : len(payloads)])
        values = scheme.compare(Ragged.of_bytes(payloads), left, right)
        wanted = [scheme.similarities(payloads[i], [payloads[j]])[0] for i, j in zip(left, right, strict=True)]
        assert values.tolist() == pytest.approx(wanted, abs=1e-12)

    def test_a_join_finds_what_lookups_find(self, scheme: Scheme) -> None:
        texts = [document(seed // 4, 200) + " " + document(seed % 4, 10 * (seed % 5)) for seed in range(39)]
        texts.append(texts[17])
        made = [self.sketched(scheme, text) for text in texts]
        sketches = Sketches(
            Ragged.of_bytes([sketch.payload for sketch in made]), Ragged.of_integers([sketch.keys for sketch in made])
        )
        asked = scheme.default_similarity
        blocks = list(scheme.join(sketches, asked))
        met = [pair for left, right in blocks for pair in zip(left.tolist(), right.tolist(), strict=True)]
        assert len(set(met)) == len(met), "each pair once"
        assert all(left < right for left, right in met)
        near = {
            (i, j)
            for i in range(40)
            for j in range(i + 1, 40)
            if scheme.similarities(made[i].payload, [made[j].payload])[0] >= asked
        }
        by_lookup = {
            (i, j)
            for i, j in near
            if len({scheme.layout.unpack(key)[0] for key in {*scheme.probes(made[i], asked)} & {*made[j].keys}})
            >= scheme.plan(asked).agreeing
        }
        assert by_lookup <= set(met)
        assert near
        if scheme.plan(asked).guaranteed:
            assert near <= set(met)

    def test_thresholds_are_written_as_they_are_read(self, scheme: Scheme) -> None:
        for similarity in (0.5, 0.6, 0.75, 0.9, 0.95, 1.0, scheme.default_similarity):
            least = scheme.least(scheme.written(similarity))
            assert least == pytest.approx(similarity, abs=1 / 32)
            assert scheme.least(scheme.written(least)) == least
        for wrong in ("", "x", "-1", "1.5", "nan", "-1bits", "999bits"):
            with pytest.raises(UsageError, match=scheme.family):
                scheme.least(wrong)

    def test_a_changed_text_is_at_least_as_similar_as_another_one(self, scheme: Scheme) -> None:
        for seed in range(5):
            text = document(seed, 400)
            changed = text.replace(text.split()[200], "changed", 1)
            payloads = [self.sketched(scheme, other).payload for other in (changed, document(seed + 100, 400))]
            near, far = scheme.similarities(self.sketched(scheme, text).payload, payloads)
            assert near >= far
            assert far < 1.0

    def test_bytes_that_are_no_payload_are_refused(self, scheme: Scheme) -> None:
        good = self.sketched(scheme, document(1)).payload
        for data in self.bad_payloads:
            with pytest.raises(PayloadError, match=scheme.family):
                scheme.similarities(data, [good])
            with pytest.raises(PayloadError, match=scheme.family):
                scheme.similarities(good, [good, data])
            if not data:
                continue  # a document without features is passed over before
            with pytest.raises(PayloadError, match="is damaged"):
                scheme.compare(Ragged.of_bytes([good, data]), np.array([0]), np.array([1]))
            if type(scheme).probes is not Scheme.probes:
                self.probed(scheme, data)

    def probed(self, scheme: Scheme, data: bytes) -> None:
        """Other bytes are reported, or not used for a lookup: keys are enough for some schemes."""
        with suppress(PayloadError):
            probes = scheme.probes(Sketch(scheme.id, data, (0,), 1), scheme.default_similarity)
            assert all(0 <= key < scheme.layout.end for key in probes)

    # Lookups

    def test_a_plan_is_made_for_the_default_similarity(self, scheme: Scheme) -> None:
        assert 0 < scheme.default_similarity <= 1
        plan = scheme.plan(scheme.default_similarity)
        assert plan.similarity == scheme.default_similarity
        assert plan.agreeing == scheme.agreeing

    def served(self, scheme: Scheme) -> list[float]:
        """The similarities served by the scheme, including all from its default one on."""
        similarities = []
        for similarity in SIMILARITIES:
            try:
                scheme.plan(similarity)
            except UsageError:
                continue
            similarities.append(similarity)
        assert similarities == [similarity for similarity in SIMILARITIES if similarity >= similarities[0]]
        assert similarities[0] <= scheme.default_similarity
        return similarities

    def test_plans_say_what_they_find(self, scheme: Scheme) -> None:
        recalls: dict[int | None, list[float]] = {}
        for similarity in self.served(scheme):
            plan = scheme.plan(similarity)
            assert plan.similarity == similarity
            assert plan.probes is None or plan.probes >= 1
            assert 1 <= plan.agreeing <= scheme.layout.tables
            assert 0 <= plan.recall <= 1
            assert plan.recall == 1.0 or not plan.guaranteed
            assert plan.explanation.endswith(".")
            assert "\n" not in plan.explanation
            recalls.setdefault(plan.probes, []).append(round(plan.recall, 12))
        for recall in recalls.values():
            assert recall == sorted(recall), "with as many probes, the more similar, the more is found"
        assert scheme.plan(1.0).recall == 1.0, "equal texts are always found"

    def test_the_probes_are_those_of_the_plan_and_find_the_text_itself(self, scheme: Scheme) -> None:
        sketches = [self.sketched(scheme, document(seed)) for seed in range(3)]
        for similarity in self.served(scheme):
            plan = scheme.plan(similarity)
            for sketch in sketches:
                probes = scheme.probes(sketch, similarity)
                assert len(set(probes)) == len(probes)
                assert plan.probes is None or len(probes) <= plan.probes
                assert all(0 <= probe < scheme.layout.end for probe in probes)
                met = {scheme.layout.unpack(key)[0] for key in set(sketch.keys) & set(probes)}
                assert len(met) >= plan.agreeing

    @pytest.mark.parametrize("similarity", [-0.1, 1.1, math.nan, math.inf])
    def test_a_similarity_out_of_range_is_refused(self, scheme: Scheme, similarity: float) -> None:
        with pytest.raises(UsageError, match="similarity"):
            scheme.plan(similarity)
