"""Results, declared once: a frozen dataclass with a docstring that explains each field under "Attributes:".

From the declaration come the answer in JSON (`as_json`), the columns of Arrow tables and frames
(`neardup.library.rows`), the list in the help of a command (`neardup.cli.options.answers`) and its section of
docs/reference/json.md.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

_ENTRY = re.compile(r"(\w+): (.+)", re.DOTALL)


class DeclaredMember(NamedTuple):
    """A member of a result: its name, its meaning, and the `kind` of results in it, None for a value.

    With `many` it is a list of these. `of` is the class declaring it.
    """

    name: str
    meaning: str
    kind: type | None
    many: bool
    of: type


def members(kind: type) -> list[DeclaredMember]:
    """The members of a class of results, in order. Raises TypeError for a field missing in the docstring."""
    hints = typing.get_type_hints(kind)
    found = []
    for field in fields(kind):
        of = next(each for each in reversed(kind.__mro__) if field.name in inspect.get_annotations(each))
        meaning = _meanings(of).get(field.name)
        if meaning is None:
            raise TypeError(f"{of.__name__}.{field.name} is not explained in the docstring")
        inner = next(_declared(hints[field.name]), None)
        many = inner is not None and any(name in str(field.type) for name in ("Rows[", "tuple["))
        found.append(DeclaredMember(field.name, meaning, inner, many, of))
    return found


def description(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "").partition("\n\nAttributes:\n")[0]


def as_json(value: Any) -> Any:
    """A result as JSON types: an object with every field, null for unknown values."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if is_dataclass(value):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return list(map(as_json, value))
    return str(value) if isinstance(value, Exception) else value


def _meanings(kind: type) -> dict[str, str]:
    _, _, listed = inspect.cleandoc(kind.__doc__ or "").partition("\n\nAttributes:\n")
    entries = re.split(r"\n {4}(?! )", "\n" + listed.rstrip())[1:]
    matched = (_ENTRY.fullmatch(" ".join(entry.split())) for entry in entries)
    return {each[1]: each[2].rstrip(".") for each in matched if each}


def _declared(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for each in typing.get_args(hint):
        yield from _declared(each)
