"""Addresses without what tells who passed them on, and texts without where their links lead."""

from __future__ import annotations

import pytest

from indexer.text.links import without_targets, without_tracking


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("see https://a.example/x?utm_source=m&utm_campaign=9 now", "see https://a.example/x now"),
        ("see https://a.example/x?id=5&utm_source=m&page=2#top now", "see https://a.example/x?id=5&page=2#top now"),
        ("(www.a.example/x?fbclid=IwAR0-x_1)", "(www.a.example/x)"),
        ("https://a.example/?gclid=abc&q=tea.", "https://a.example/?q=tea."),
        ("https://a.example/y;jsessionid=0A1B2C.node1?id=3", "https://a.example/y?id=3"),
        ("https://a.example/y?PHPSESSID=q7r8&id=3", "https://a.example/y?id=3"),
        ("https://a.example/y?sid=0123456789abcdef0123&id=3", "https://a.example/y?id=3"),
    ],
)
def test_parameters_that_track_are_left_out(text: str, plain: str) -> None:
    found = without_tracking(text)
    assert len(found) == len(text)
    assert found.replace(" ", "") == plain.replace(" ", "")


@pytest.mark.parametrize(
    "text",
    [
        "https://a.example/story?sid=1207",
        "https://a.example/search?q=utm_source=x",
        "a text on utm_source=mail and ?fbclid=1",
        "https://a.example/?id=5",
        "plain",
    ],
)
def test_other_parameters_and_other_texts_stay(text: str) -> None:
    assert without_tracking(text) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("the [old mill](https://a.example/mill_(old).html) is", "the old mill is"),
        ('the [old mill](../mill.md "The mill") is', "the old mill is"),
        ("the [old mill](<a b.md>) is", "the old mill is"),
        ("the [old mill][1] is\n\n[1]: https://a.example/mill 'The mill'\nhigh", "the [old mill][1] is\n\n\nhigh"),
        ("f[0](x) and (see) it", "f 0 and (see) it"),
        ("a footnote [1] (see below)", "a footnote [1] (see below)"),
    ],
)
def test_targets_of_markdown_are_left_out(text: str, plain: str) -> None:
    found = without_targets(text)
    assert len(found) == len(text)
    assert [line.replace(" ", "") for line in found.split("\n")] == [
        line.replace(" ", "") for line in plain.split("\n")
    ]


def test_a_text_made_to_take_time_takes_none() -> None:
    for piece in ("](", "](((", "[a](b", "https://a?", "https://a?utm_a=1&", "[x]: ", "](<", '](a "'):
        text = piece * 20_000
        assert len(without_targets(without_tracking(text))) == len(text)
