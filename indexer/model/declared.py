"""Results and options, declared once: a frozen dataclass with the meaning of each field beside its type.

From the declaration of a result come the answer in JSON (`as_json`), the columns of Arrow tables and frames
(`neardup.library.rows`), the list in the help of a command (`neardup.cli.options.commands`) and its section of
docs/reference/json.md.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple


class DeclaredMember(NamedTuple):
    """A member of a result: its name, its meaning, and the `kind` of results in it, None for a value.

    With `many` it is a list of these. `of` is the class declaring it.
    """

    name: str
    meaning: str
    kind: type | None
    many: bool
    of: type


class Option(NamedTuple):
    """The declaration of an option, beside its type in `Annotated`; the type and the default do the rest.

    `kind` is a type of click, or the name of one in `neardup.cli.options.commands`. Numbers are from `least` to `most`.
    `goes_with`, `not_with`, `in_engine` and `setting` are those of `neardup.cli.options.commands.Related`. A `typed`
    option is for the command line alone. `names` replace the name of the field.
    """

    help: str
    kind: Any = ""
    least: float | None = None
    most: float | None = None
    metavar: str | None = None
    goes_with: Sequence[str] = ()
    not_with: Sequence[str] = ()
    in_engine: bool = False
    setting: str = ""
    typed: bool = False
    required: bool = False
    names: Sequence[str] = ()


def members(kind: type) -> list[DeclaredMember]:
    """The members of a class of results, in order. Raises TypeError for a field without a meaning."""
    hints = typing.get_type_hints(kind, include_extras=True)
    found = []
    for field in fields(kind):
        of = next(each for each in reversed(kind.__mro__) if field.name in inspect.get_annotations(each))
        hint = hints[field.name]
        if typing.get_origin(hint) is not typing.Annotated:
            raise TypeError(f"{of.__name__}.{field.name} is not explained beside its type")
        inner = next(_declared(hint), None)
        many = inner is not None and any(name in str(field.type) for name in ("Rows[", "tuple["))
        found.append(DeclaredMember(field.name, hint.__metadata__[0], inner, many, of))
    return found


def description(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "")


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


def _declared(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for each in typing.get_args(hint):
        yield from _declared(each)
