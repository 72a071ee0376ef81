"""What a worker may say."""

from __future__ import annotations

import io
import struct
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


def sent(message: Any, data: bytes = b"") -> io.BytesIO:
    file = io.BytesIO()
    wire.send(file, wire.plain(message), data)
    file.seek(0)
    return file


@given(VALUES)
def test_values_arrive_as_they_were_sent(value: Any) -> None:
    assert wire.receive(sent({"value": value}, b"x").read, 1) == ({"value": value}, b"x")


def test_a_document_arrives() -> None:
    document = Document("text", notes=("a", "b"), size=3)
    assert wire.receive(sent({"document": document}).read, 0) == ({"document": document}, b"")


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{", b"\xff", b'{"$Popen":{}}', b'{"$Fingerprint":{"value":1}}', b'{"$bytes":"!"}', b"[" * 100_000],
)
def test_nonsense_is_refused(text: bytes) -> None:
    frame = io.BytesIO(struct.pack(">IQ", len(text), 0) + text)
    with pytest.raises(wire.ProtocolError):
        wire.receive(frame.read, 0)


def test_too_long_a_frame_is_refused() -> None:
    with pytest.raises(wire.ProtocolError, match="5 bytes"):
        wire.receive(sent({}, b"12345").read, 4)


def test_the_end_is_no_frame() -> None:
    with pytest.raises(EOFError):
        wire.receive(io.BytesIO(b"\0" * 11).read, 0)


@pytest.mark.parametrize("value", [object(), {1: 2}, {"$bytes": 1}, {1, 2}])
def test_what_json_lacks_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        wire.plain(value)
