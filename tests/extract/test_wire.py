"""What a worker may say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.extract import wire
from indexer.model import Document, Fingerprint, Ref

PLAIN = st.none() | st.booleans() | st.integers(0, 2**64) | st.floats(allow_nan=False) | st.text() | st.binary()
MODELS = st.builds(Fingerprint, st.integers(0, 2**64 - 1), st.integers(0)) | st.builds(Ref, st.text(), st.text())
KEYS = st.text().filter(lambda key: not key.startswith("$"))
VALUES = st.recursive(
    PLAIN | MODELS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner),
    max_leaves=20,
)


@given(VALUES)
def test_values_arrive_as_they_were_sent(value: Any) -> None:
    head, body = wire.frame(value, b"x")
    assert wire.lengths(head[: wire.HEAD_SIZE], 1) == (len(head) - wire.HEAD_SIZE, 1)
    assert wire.message(head[wire.HEAD_SIZE :]) == value
    assert body == b"x"


def test_a_document_arrives() -> None:
    document = Document("text", notes=("a", "b"), size=3)
    assert wire.message(wire.frame(document)[0][wire.HEAD_SIZE :]) == document


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff", b'{"$Popen":{}}', b'{"$Fingerprint":{"value":1}}', b'{"$bytes":"!"}', b"[" * 100_000],
)
def test_nonsense_is_refused(text: bytes) -> None:
    with pytest.raises(wire.ProtocolError):
        wire.message(text)


def test_too_long_a_frame_is_refused() -> None:
    head, _ = wire.frame({}, b"12345")
    with pytest.raises(wire.ProtocolError):
        wire.lengths(head[: wire.HEAD_SIZE], 4)


@pytest.mark.parametrize("value", [object(), {1: 2}, {"$bytes": 1}, {1, 2}])
def test_what_json_lacks_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        wire.frame(value)
