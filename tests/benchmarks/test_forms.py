"""Short texts and records of one template, as the pages say of them."""

from __future__ import annotations

from tests.benchmarks import forms


def test_headlines_with_a_word_changed() -> None:
    """What the pages say of texts of 8 to 20 words, on fewer of them."""
    found = forms.headlines(400)
    by_words, usual = found["minhash:shingle=1@0.6"], found[forms.RULES[0]]
    assert by_words.pop("wrong") == 0
    assert min(by_words.values()) > 0.98
    assert max(usual.values()) < 0.5


def test_records_in_one_form() -> None:
    """The usual way takes records for copies because of their template; a comparison of their texts removes nothing
    that has another word.
    """
    found = forms.chats(600, 30)
    for share in forms.TEMPLATE_SHARES:
        assert found[share]["neardup"] == (0, 0)
    # Sketches alone tell them apart below the rule's share.
    for share in (0.3, 0.5, 0.6):
        assert found[share]["sketches"] == (30, 0)
    assert found[0.6]["bands"][1] > 0
    assert found[0.6]["simhash"][1] > 0
    # Records that are mostly template are near by any measure of their whole text.
    assert found[0.8]["sketches"][1] > 500


def test_copies_go_and_not_one_form() -> None:
    many, twice = forms.filled(300, 30), forms.filled(20, 20)
    for way in ("neardup", "neardup prune", "batch dedupe"):
        assert many[way] == (30, 0)
        assert twice[way] == (20, 0)
    assert twice["sketches"][1] > 0
