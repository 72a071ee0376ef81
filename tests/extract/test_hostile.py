"""Documents that attack, in the pool: text where there is some, else a named reason, and the rest unharmed."""

from __future__ import annotations

import collections
import functools
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from indexer.extract import REASONS, Extracted, Failed, Item, Limits, Options, WorkerPool

Outcome = Extracted[str, Any] | Failed[str]

LIMITS = Limits(seconds=20, memory=1 << 30, input_bytes=50_000_000)


def laughs(reference: str) -> bytes:
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    return f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY l0 "ha">{levels}]>{reference}'.encode()


def huge_page() -> bytes:
    """A PDF whose page draws one form, which draws another ten times, and so on."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1/Kids[3 0 R]>>"]
    objects.append("<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</XObject<</X 4 0 R>>>>/Contents 16 0 R>>")
    for number in range(4, 15):
        stream = "/X Do " * 10
        resources = f"/Resources<</XObject<</X {number + 1} 0 R>>>>"
        objects.append(f"<</Subtype/Form/BBox[0 0 9 9]{resources}/Length {len(stream)}>>stream\n{stream}\nendstream")
    objects.append("<</Subtype/Form/BBox[0 0 9 9]/Length 9>>stream\n0 0 m 1 1\nendstream")
    objects.append("<</Length 5>>stream\n/X Do\nendstream")
    body = "".join(f"{n} 0 obj\n{o}\nendobj\n" for n, o in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer<</Root 1 0 R/Size {len(objects) + 1}>>".encode()


@functools.cache
def bomb_in_pdf() -> bytes:
    stream = zlib.compress(b" " * 400_000_000, 9)
    head = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n"
    )
    body = b"4 0 obj<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream endobj\n" % (len(stream), stream)
    return head + body + b"trailer<</Root 1 0 R/Size 5>>"


# Name of the attack -> the bytes, and what comes of it: a text that is found in the document, or reasons.
ATTACKS: dict[str, tuple[bytes, str | set[str]]] = {
    "nested.html": (b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000 + b"<p>after", "deep after"),
    "lists.html": (b"<ul><li>" * 50_000 + b"deep", "deep"),
    "inline.html": (b"<b><i>" * 100_000 + b"deep", "deep"),
    "attribute.html": (b"<p title='" + b"x" * 20_000_000 + b"'>text", "text"),
    "attributes.html": (b"<p " + b"".join(b"a%d=1 " % n for n in range(10_000)) + b">text", "text"),
    "unclosed.html": (b"<p>text<a href='" + b"<p>" * 1_000_000, "text"),
    "nul.html": (b"<p>te\0xt" + b"\0" * 1_000_000 + b"<p>after", "after"),
    "nested.xml": (b"<r>" + b"<a>" * 100_000 + b"deep" + b"</a>" * 100_000 + b"</r>", "deep"),
    "unended.xml": (b"<r>text" + b"<a>" * 100_000, "text"),
    "laughs.xml": (laughs("<r>text &l11;</r>"), "text"),
    "laughs-attribute.xml": (laughs('<r a="&l11;">text</r>'), {"malformed"}),
    "quadratic.xml": (
        b'<!DOCTYPE r [<!ENTITY a "' + b"a" * 100_000 + b'">]><r>text' + b"&a;" * 100_000 + b"</r>",
        "text",
    ),
    "external.xml": (b'<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><r>text &e;</r>', "text"),
    "recursive.xml": (b'<!DOCTYPE r [<!ENTITY a "&b;"><!ENTITY b "&a;">]><r>text &a;</r>', "text"),
    "name.xml": (b"<" + b"n" * 10_000_000 + b">text</" + b"n" * 10_000_000 + b">", "text"),
    "bomb.gz": (gzip.compress(b"<p>" + b"x" * 60_000_000), {"too-large"}),
    "bomb.pdf": (bomb_in_pdf(), {"", "malformed", "out-of-memory", "crashed", "timeout"}),
    "forms.pdf": (huge_page(), {"", "malformed", "crashed", "timeout"}),
    "junk.bin": (bytes(range(256)) * 4000, {"unsupported"}),
    "empty.xml": (b"", {""}),
    "lines.txt": (b"\n" * 10_000_000 + b"text", "text"),
    "line.txt": (b"word " * 2_000_000, "word word"),
}


def outcome_of(outcomes: dict[str, Outcome], name: str) -> str:
    outcome = outcomes[name]
    if isinstance(outcome, Failed):
        assert outcome.reason in REASONS
        return outcome.reason
    return outcome.document.text


@pytest.fixture(scope="module")
def attacked() -> dict[str, Outcome]:
    items = (Item(name, data, name) for name, (data, _) in ATTACKS.items())
    with WorkerPool(2, Options(), LIMITS) as pool:
        return {outcome.key: outcome for outcome in pool.outcomes(items)}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(attacked: dict[str, Outcome], name: str) -> None:
    expected = ATTACKS[name][1]
    came = outcome_of(attacked, name)
    if isinstance(expected, str):
        assert expected in " ".join(came.split())
    else:
        assert came in expected


def test_every_robust_document_gives_text_or_a_named_reason(shared_data: Path) -> None:
    truth = [json.loads(line) for line in (shared_data / "truth" / "robust.jsonl").read_text().splitlines()]
    items = (Item(row["id"], (shared_data / row["path"]).read_bytes(), row["path"]) for row in truth)
    with WorkerPool(2, Options(), LIMITS) as pool:
        outcomes = {outcome.key: outcome for outcome in pool.outcomes(items)}
    assert len(outcomes) == len(truth)
    reasons = collections.Counter(outcome.reason for outcome in outcomes.values() if isinstance(outcome, Failed))
    assert set(reasons) <= {"encrypted", "malformed"}
    for row in truth:
        came = outcome_of(outcomes, row["id"])
        if row["format"] == "pdf" and row["poppler_rc"] == 0 and row["poppler_chars"] > 20:
            assert len(came) > 10, row["id"]
            assert came not in REASONS, row["id"]
        if row.get("expect") == "encrypted" and row["poppler_rc"] != 0:
            assert came == "encrypted", row["id"]


def test_what_comes_after_an_attack_is_unharmed() -> None:
    bombs = [Item(f"bomb {n}", bomb_in_pdf()) for n in range(3)]
    tight = Limits(seconds=10, memory=128 << 20)
    with WorkerPool(1, Options(), tight) as pool:
        outcomes = {o.key: o for o in pool.outcomes([*bombs, Item("after", b"<p>one</p>two", "a.html")])}
    assert outcome_of(outcomes, "after") == "one\ntwo"
    assert {outcome_of(outcomes, bomb.key) for bomb in bombs} <= {
        "",
        "malformed",
        "out-of-memory",
        "crashed",
        "timeout",
    }
