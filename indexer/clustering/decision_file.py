"""Files of decisions, as a report writes them.

Judgments of a random sample have the same form: each is a cluster of two documents, beside the seed and the size of the
sample, and decides nothing. A file may come from anybody and is not trusted: only ids, digests of texts and choices are
taken from it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from indexer.errors import UsageError, shown
from indexer.model import own_files
from indexer.model.decisions import CHOICES, DecidedChoice, DecidedDocument, Decision, JudgedSample
from indexer.model.paths import printable_path
from indexer.text.counts import counted
from indexer.text.visible import printable

Held = TypeVar("Held")

# The name of the form in its first field; another form has another number.
FORM = "neardup decisions 1"
MOST_BYTES = 64_000_000
MOST_DOCUMENTS = 500_000
_LONGEST_ID = 32_768
_DIGEST = re.compile("[0-9a-f]{32}")
MOST_SAMPLED = 1000
_FIELDS, _SAMPLE = {"form", "clusters"}, {"seed", "size", "judged"}
_CLUSTER, _DOCUMENT = {"documents"}, {"id", "digest", "choice"}


def read_decisions(path: str | os.PathLike[str]) -> list[Decision]:
    """The decisions in a file. Raises UsageError, with the place, for any other form."""
    return _read(path, parsed_decisions)


def read_judgments(path: str | os.PathLike[str]) -> JudgedSample:
    """The judgments in a file. Raises UsageError, with the place, for any other form, and for none."""
    return _read(path, parsed_judgments)


def parsed_decisions(data: bytes) -> list[Decision]:
    return _decisions(_held(data)["clusters"], "clusters", "cluster")


def parsed_judgments(data: bytes) -> JudgedSample:
    held = _held(data)
    if "sample" not in held:
        raise UsageError("it has no judgments of a sample; judge one in a report, and save the judgments there")
    sample = _fields(held["sample"], _SAMPLE, "sample")
    if not isinstance(sample["seed"], str) or not _DIGEST.fullmatch(sample["seed"]):
        raise UsageError("sample: seed must be 32 hexadecimal digits")
    if type(sample["size"]) is not int or not 1 <= sample["size"] <= MOST_SAMPLED:
        raise UsageError(f"sample: size must be a number from 1 to {MOST_SAMPLED:,}")
    judged = _decisions(sample["judged"], "judged", "judgment")
    for number, one in enumerate(judged, 1):
        if len(one.documents) != 2 or {each.choice for each in one.documents} not in ({"keep"}, {"apart"}):
            raise UsageError(f"judgment {number}: it must be of two documents, both to keep or both apart")
    if len({one.documents[0].id for one in judged}) < len(judged):
        raise UsageError("judged: a document of the sample stands there twice")
    return JudgedSample(sample["seed"], sample["size"], tuple(judged))


def _read(path: str | os.PathLike[str], parsed: Callable[[bytes], Held]) -> Held:
    name = printable_path(os.fspath(path))
    try:
        with open(path, "rb", opener=own_files.reader) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{name}: the decisions can't be read: {error.strerror}") from None
    try:
        return parsed(data)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def _held(data: bytes) -> dict[str, Any]:
    if len(data) > MOST_BYTES:
        raise UsageError(
            f"a file of decisions has at most {counted(MOST_BYTES, 'byte')}; decide on fewer clusters in each"
        )
    try:
        held = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not a file of decisions (JSON in UTF-8): {error}") from None
    form = held.get("form") if isinstance(held, dict) else None
    if form != FORM:
        raise UsageError(f'not a file of decisions: its field "form" is {shown(form)} and must be "{FORM}"')
    return _fields(held, _FIELDS | ({"sample"} & held.keys()), "the file")


def _decisions(clusters: Any, field: str, each_is: str) -> list[Decision]:
    if not isinstance(clusters, list):
        raise UsageError(f"{field}: must be a list")
    decisions, count = [], 0
    for number, each in enumerate(clusters, 1):
        place = f"{each_is} {number}"
        documents = _fields(each, _CLUSTER, place)["documents"]
        if not isinstance(documents, list) or not documents:
            raise UsageError(f"{place}: documents must be a list with an entry")
        count += len(documents)
        if count > MOST_DOCUMENTS:
            raise UsageError(f"a file decides on at most {counted(MOST_DOCUMENTS, 'document')}; use several files")
        decided = tuple(_document(one, f"{place}, document {at}") for at, one in enumerate(documents, 1))
        if len({one.id for one in decided}) < len(decided):
            raise UsageError(f"{place}: a document stands there twice")
        decisions.append(Decision(decided))
    return decisions


def _document(value: Any, place: str) -> DecidedDocument:
    fields = _fields(value, _DOCUMENT, place)
    for name, text in fields.items():
        if not isinstance(text, str):
            raise UsageError(f"{place}: {name} must be a string")
    if not fields["id"] or len(fields["id"]) > _LONGEST_ID:
        raise UsageError(f"{place}: id must have 1 to {counted(_LONGEST_ID, 'character')}")
    if not _DIGEST.fullmatch(fields["digest"]):
        raise UsageError(f"{place}: digest must be the 32 hexadecimal digits of a text's digest")
    if fields["choice"] not in CHOICES:
        choices = ", ".join(CHOICES)
        raise UsageError(f"{place}: choice is {shown(fields['choice'])} and must be one of {choices}")
    return DecidedDocument(fields["id"], fields["digest"], cast(DecidedChoice, fields["choice"]))


def _fields(value: Any, names: set[str], place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{place}: must be an object with {', '.join(sorted(names))}")
    if unknown := sorted(value.keys() - names):
        raise UsageError(f"{place}: unknown field {printable(shown(unknown[0]))}; a file of decisions has no others")
    if missing := sorted(names - value.keys()):
        raise UsageError(f"{place}: {missing[0]} is missing")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        raise ValueError("a field stands twice in an object")
    return held


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
