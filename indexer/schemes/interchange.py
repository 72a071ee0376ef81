"""The written forms institutions exchange, each behind its short identifier: see docs/schemes.md."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from types import MappingProxyType

from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.schemes import simhash
from indexer.schemes.base import Scheme
from indexer.schemes.minhash import Minhash
from indexer.schemes.passages import Passages

# By short identifier: what the bytes are made with. Keys may differ, since they are not written.
FORMS: Mapping[str, Scheme] = MappingProxyType({"mh3": Minhash(), "pa2": Passages()})
SHORT_IDS = ("sd1", *FORMS)


def fingerprints(text: str | bytes) -> dict[str, str | None]:
    """The written form of a text (bytes are read as UTF-8) under each short identifier; None for a missing one."""
    fingerprint = simhash.fingerprint(text)
    forms: dict[str, str | None] = {"sd1": str(fingerprint) if fingerprint else None}
    for short, scheme in FORMS.items():
        sketch = scheme.sketch(text)
        forms[short] = written(short, sketch.payload) if sketch else None
    return forms


def written(short: str, payload: bytes) -> str:
    """Bytes as text: short identifier, hyphen, base32 (RFC 4648 section 6), lower case, without padding."""
    return f"{short}-{base64.b32encode(payload).decode('ascii').rstrip('=').lower()}"


def form(by: Scheme, sketch: Sketch) -> str:
    for short, scheme in FORMS.items():
        if scheme.id == by.id:
            return written(short, sketch.payload)
    return sketch.payload.hex()


def parse(text: str) -> tuple[str, bytes]:
    """The short identifier and the bytes of a written form other than sd1; case is ignored.

    Raises UsageError for an unknown identifier, characters outside base32, a wrong length, unsorted keys, and a pad bit
    other than zero (RFC 4648 section 3.5).
    """
    short, hyphen, plain = text.strip().lower().partition("-")
    if not hyphen or short not in FORMS:
        raise UsageError(f"{text[:40]!r} has none of the short identifiers {', '.join(FORMS)} before a hyphen")
    try:
        payload = base64.b32decode(plain.upper() + "=" * (-len(plain) % 8))
    except (binascii.Error, ValueError):
        raise UsageError(f"{text[:40]!r}: base32 has only the characters a-z and 2-7, in certain numbers") from None
    if written(short, payload) != f"{short}-{plain}":
        raise UsageError(f"{text[:40]!r}: the last character carries a pad bit that must be zero; it is damaged")
    FORMS[short].similarities(payload, [payload])
    return short, payload


def similarity(one: str, other: str) -> float:
    """The similarity of two written forms of one identifier other than sd1, 0 to 1; UsageError as for `parse`."""
    (short, left), (_, right) = parse(one), parse(other)
    return float(FORMS[short].similarities(left, [right])[0])
