"""The protocol of a pool and its workers: frames of JSON and bytes.

A worker may be under the control of a hostile document, so its messages must not run code: JSON, not pickle. A frame is
the length of the JSON (4 bytes, big-endian), the length of the bytes (8), the JSON, the bytes.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import struct
from collections.abc import Callable
from typing import IO, Any

from indexer import model

_HEAD = struct.Struct(">IQ")
# What a document says of itself besides its text is small, and so should be what a task makes of it.
MAX_JSON = 64 << 20

_SCALARS = frozenset((type(None), bool, int, float, str))
_KINDS: tuple[Any, ...] = (model.Fingerprint, model.Document, model.Record, model.Ref, model.Sketch)
_MODELS: dict[str, Callable[..., Any]] = {kind.__name__: kind for kind in _KINDS}
_FIELDS: dict[type[Any], list[str]] = {
    kind: [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else [*kind._fields]
    for kind in _KINDS
}


class ProtocolError(Exception):
    """The other side sent something other than a frame."""


def send(file: IO[bytes], message: Any, data: bytes = b"") -> None:
    """Write a frame of a message in JSON's types."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    for piece in (_HEAD.pack(len(text), len(data)) + text, data):
        left = memoryview(piece)
        while left:
            left = left[file.write(left) :]


def receive(read: Callable[[int], bytes], limit: int) -> tuple[dict[str, Any], bytes]:
    """The next frame, of at most `limit` bytes besides its message.

    Raises EOFError at the end, ProtocolError for anything else.
    """
    head = read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    size, more = _HEAD.unpack(head)
    if size > MAX_JSON or more > limit:
        raise ProtocolError(f"a frame of {size} and {more} bytes")
    try:
        message = _restored(json.loads(read(size).decode("utf-8", "surrogatepass")))
    except (ValueError, TypeError, RecursionError, LookupError) as error:
        raise ProtocolError(str(error)) from None
    if not isinstance(message, dict):
        raise ProtocolError("not an object")
    return message, read(more)


def plain(value: Any) -> Any:
    """`value` in JSON's types; other values become an object with one key beginning with a dollar sign.

    Raises TypeError for unknown values.
    """
    kind = type(value)
    if kind in _SCALARS or isinstance(value, (int, float, str)):
        return value
    if kind in _FIELDS:
        return {f"${kind.__name__}": {name: plain(getattr(value, name)) for name in _FIELDS[kind]}}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, tuple):
        return {"$tuple": [plain(item) for item in value]}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {key: plain(item) for key, item in value.items()}
    raise TypeError(f"{kind.__name__} can't be sent: a task returns JSON types, bytes, tuples or model classes")


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (key, item), *_ = value.items()
        if key == "$bytes":
            return base64.b64decode(item, validate=True)
        if key == "$tuple":
            return tuple(_restored(part) for part in item)
        if key.startswith("$"):
            return _MODELS[key[1:]](**{name: _restored(part) for name, part in item.items()})
    return {key: _restored(item) for key, item in value.items()}
