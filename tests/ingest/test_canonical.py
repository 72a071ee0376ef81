"""The URL that a page declares canonical, as pages write it."""

from __future__ import annotations

import pytest

from indexer.extract.declared import canonical_url

URL = "https://example.org/a?b=1&c=2"


@pytest.mark.parametrize(
    "page",
    [
        b'<link rel="canonical" href="https://example.org/a?b=1&amp;c=2">',
        b"<LINK HREF='https://example.org/a?b=1&c=2' REL='Canonical'/>",
        b"<link\n rel = canonical\n href = https://example.org/a?b=1&c=2 >",
        b'<link rel="shortlink canonical" data-href="x" href=" https://example.org/a?b=1&c=2 ">',
        # Said twice, and elsewhere in comments, scripts and the body.
        b'<link rel=canonical href="https://example.org/a?b=1&c=2">' * 2,
        b'<!-- <link rel=canonical href="/x"> --><script>"<link rel=canonical href=/y>"</script>'
        b'<link rel=canonical href="https://example.org/a?b=1&c=2"></head><body><link rel=canonical href="/z">',
    ],
)
def test_what_a_page_declares(page: bytes) -> None:
    assert canonical_url(b"<!doctype html><html><head><title>t</title>" + page) == URL


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"<p>canonical",
        b'<link rel="canonical">',
        b'<link rel="canonical" href="">',
        b'<link rel="noncanonical" href="/x">',
        b'<link rel="stylesheet" href="canonical.css">',
        # Who says two things says none.
        b'<link rel="canonical" href="/a"><link rel="canonical" href="/b">',
        b'<!-- <link rel="canonical" href="/a">',
        b'<body><link rel="canonical" href="/a">',
        b" " * 40_000 + b'<link rel="canonical" href="/a">',
    ],
)
def test_what_declares_nothing(page: bytes) -> None:
    assert canonical_url(page) == ""


@pytest.mark.parametrize(
    "piece", [b"<link ", b"<link rel ", b"<!--", b"<script ", b"<link rel=canonical href", b'<link rel="', b"rel = "]
)
def test_hostile_heads_declare_nothing(piece: bytes) -> None:
    assert canonical_url(b"canonical" + piece * (1 << 20)) == ""
