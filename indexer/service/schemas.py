"""Requests and answers of the service, each declared once.

To add a member, write it below, with its meaning beside its type, as in `indexer.library.records`.
"""

from __future__ import annotations

import json
import types
import typing
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any

from indexer.errors import NeardupError, UsageError
from indexer.library.records import Hashed, Match, Similar
from indexer.library.rows import Rows
from indexer.model.declared import members

# The types that a member of a request may have, with the word for each, and its name in JSON Schema.
_KINDS: Mapping[type, tuple[str, str]] = {
    bool: ("true or false", "boolean"),
    int: ("a whole number", "integer"),
    float: ("a number", "number"),
    str: ("a text", "string"),
}


LINES = "_fingerprint"
"""The path of bulk requests, as the engines name theirs."""
LINES_TYPE = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class AskedDocument:
    """A document in a request: its text, or the id of a stored one. With both, the stored one is no answer."""

    text: Annotated[str | None, "The text"] = None
    id: Annotated[str | None, "The id of a stored document; with a text, its present or future id"] = None


@dataclass(frozen=True, slots=True)
class SimilarRequest:
    """A request for the documents near some documents."""

    documents: Annotated[tuple[AskedDocument, ...], "The documents to ask about"]
    match: Annotated[str | None, "The match rule; null for the store's default"] = None
    limit: Annotated[int | None, "The most matches; null for all"] = 10
    at_least: Annotated[float | None, "The least similarity (0 to 1) instead of the rule's"] = None
    include_short: Annotated[bool, "True to compare also documents too short to be compared by default"] = False
    passages: Annotated[bool, "True to add the passages in common, from texts read again"] = False
    relation: Annotated[bool, "True to add the relation of the texts, from texts read again"] = False
    explain: Annotated[bool, "True to add an explanation of the rule's lookup"] = False


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request whether documents would repeat a stored one."""

    documents: Annotated[tuple[AskedDocument, ...], "The documents to ask about"]
    match: Annotated[str | None, "The match rule; null for the store's default"] = None


@dataclass(frozen=True, slots=True)
class DistinctRequest:
    """A request to fold the copies among the hits of any search."""

    hits: Annotated[tuple[AskedDocument, ...], "The hits in their order, the best first"]
    match: Annotated[str | None, "The match rule; null for the store's default"] = None
    renditions: Annotated[bool, "True to fold also the same work in another format or frame"] = False


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """A request to compare two documents."""

    a: Annotated[AskedDocument, "A document"]
    b: Annotated[AskedDocument, "Another one"]
    match: Annotated[str | None, "The match rule; null for the store's default"] = None


@dataclass(frozen=True, slots=True)
class FingerprintRequest:
    """A request for fingerprints of texts."""

    texts: Annotated[tuple[str, ...], "The texts"]
    scheme: Annotated[str | None, "The scheme of the added sketches; null for the simhash alone"] = None


@dataclass(frozen=True, slots=True)
class LinesRequest:
    """A request to give the documents of a bulk request their fingerprints; its members are in the URL's query."""

    field: Annotated[tuple[str, ...], "The fields with the text, in order; none for those the index remembers"] = ()
    format: Annotated[str, "Their format: text, html, or auto, where each value tells"] = "text"
    skip: Annotated[bool, "True to leave out documents that repeat stored ones"] = False
    on: Annotated[tuple[str, ...], "RELATION=skip or RELATION=store, beside or instead of skip"] = ()
    match: Annotated[str | None, "The match rule for that; null for the store's default"] = None


@dataclass(frozen=True, slots=True)
class SimilarAnswer:
    """The documents near each of some documents, in their order."""

    answers: Annotated[Rows[Similar], "The documents near each document"]


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer whether a document repeats a stored one."""

    name: Annotated[str, 'The id of the document, or "the text"']
    seen: Annotated[bool, "True if a stored document is near it by the rule"]
    match: Annotated[Match | None, "The stored document that is nearest to it; null for none"] = None
    outdated: Annotated[int, "The number of near documents left out because their texts changed after the "
        "fingerprint"] = 0  # fmt: skip
    error: Annotated[NeardupError | None, "Why it could not be asked about; null if it could"] = None


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """Answers whether some documents repeat a stored one, in their order."""

    answers: Annotated[Rows[Seen], "Whether each document repeats a stored one"]


@dataclass(frozen=True, slots=True)
class FingerprintAnswer:
    """The fingerprints of some texts, in their order."""

    answers: Annotated[Rows[Hashed], "The fingerprint of each text"]


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """The reason why a request was not answered."""

    error: Annotated[str, "The reason, with the thing to do"]


def read_json(body: bytes) -> Any:
    """The value of JSON (RFC 8259). Raises UsageError for other text, NaN and Infinity, and repeated names."""
    try:
        return json.loads(body, object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the request: is no JSON: {error}"[:200]) from None


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(members)
    if len(made) < len(members):
        name = next(name for name, count in Counter(name for name, _ in members).items() if count > 1)
        raise UsageError(f"the request: {name[:80]!r} is given twice")
    return made


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number")


def read_form(kind: type, given: Any, place: str = "the request") -> Any:
    if not isinstance(given, Mapping):
        raise UsageError(f"{place}: must be an object, with {_listed(kind)}")
    hints = typing.get_type_hints(kind)
    if unknown := sorted(set(given) - set(hints)):
        raise UsageError(f"{place}: {unknown[0]!r} is unknown; there are {_listed(kind)}")
    required = [field.name for field in fields(kind) if field.default is MISSING]
    for name in required:
        if name not in given:
            raise UsageError(f"{place}: {name!r} is missing")
    return kind(**{name: _value(hints[name], value, f"{name!r}") for name, value in given.items()})


def read_query(kind: type, given: Sequence[tuple[str, str]]) -> Any:
    hints = typing.get_type_hints(kind)
    read: dict[str, Any] = {}
    for name, text in given:
        several, inner, _ = _taken(hints.get(name, str))
        value = {"true": True, "false": False}.get(text, text) if inner is bool else text
        if several:
            read.setdefault(name, []).append(value)
        else:
            read[name] = value
    return read_form(kind, read, "the query")


def _value(hint: Any, given: Any, place: str) -> Any:
    several, kind, optional = _taken(hint)
    if given is None and optional:
        return None
    if not several:
        return _one(kind, given, place)
    if not isinstance(given, list):
        raise UsageError(f"{place}: must be a list")
    return tuple(_one(kind, one, f"{place}, number {number}") for number, one in enumerate(given, 1))


def _one(kind: type, given: Any, place: str) -> Any:
    if kind not in _KINDS:
        return read_form(kind, given, place)
    # True is a number to Python, and 1 is no float.
    fits = isinstance(given, int | float) if kind is float else isinstance(given, kind)
    if not fits or (isinstance(given, bool) and kind is not bool):
        raise UsageError(f"{place}: must be {_KINDS[kind][0]}")
    try:
        return float(given) if kind is float else given
    except OverflowError:
        raise UsageError(f"{place}: is too large") from None


def _taken(hint: Any) -> tuple[bool, type, bool]:
    if typing.get_origin(hint) is tuple:
        return True, typing.get_args(hint)[0], False
    if isinstance(hint, types.UnionType):
        [kind] = [each for each in typing.get_args(hint) if each is not types.NoneType]
        return False, kind, True
    return False, hint, False


def _listed(kind: type) -> str:
    return ", ".join(field.name for field in fields(kind))


def request_schema(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    meanings = {member.name: member.meaning for member in members(kind)}
    properties = {}
    for field in fields(kind):
        several, inner, optional = _taken(hints[field.name])
        made: dict[str, Any] = {"type": _KINDS[inner][1]} if inner in _KINDS else request_schema(inner)
        made = {"type": "array", "items": made} if several else made
        if optional:
            made["type"] = [made["type"], "null"]
        if field.default is not MISSING:
            made["default"] = field.default
        properties[field.name] = {**made, "description": meanings[field.name]}
    required = [field.name for field in fields(kind) if field.default is MISSING]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        **({"required": required} if required else {}),
    }


def answer_schema(kind: type) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for member in members(kind):
        inner = answer_schema(member.kind) if member.kind else {}
        made = {"type": "array", "items": inner} if member.many else inner
        properties[member.name] = {**made, "description": member.meaning}
    return {"type": "object", "properties": properties, "required": list(properties)}
