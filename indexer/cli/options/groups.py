"""Groups of options, given to a command as one frozen dataclass."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from indexer.cli.terminal.output import shown_store
from indexer.errors import UsageError
from indexer.model.paths import store_file

if TYPE_CHECKING:
    _BytesType = click.ParamType[int]
    _SecondsType = click.ParamType[float]
else:
    _BytesType = _SecondsType = click.ParamType

# Whoever opens a file reports its errors.
A_PATH = click.Path(readable=False)
A_FILE = click.Path(dir_okay=False, readable=False)
A_FOLDER = click.Path(file_okay=False, readable=False)
_DAY = 86_400
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

Returned = TypeVar("Returned")
Decorator = Callable[[Callable[..., object]], Callable[..., object]]


class Size(_BytesType):
    """A number of bytes: 500000, 200MB (powers of 1000), 2GiB (powers of 1024)."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        matched = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", str(value).lower())
        if not matched:
            self.fail(f"{value!r} is no size; write for example 500000, 200MB or 2GiB", param, ctx)
        return int(float(matched[1]) * _UNITS[matched[2] or ""])

    def shown(self, number: int) -> str:
        return f"{number >> 30}GiB" if number % (1 << 30) == 0 else f"{number // 10**6}MB"


class Seconds(_SecondsType):
    name = "seconds"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value if isinstance(value, int | float) else str(value))
        except ValueError:
            seconds = 0.0
        # Written so that NaN is refused too.
        if not 0 < seconds <= _DAY:
            self.fail(f"{value!r} is no number of seconds above 0 and up to {_DAY}", param, ctx)
        return seconds

    def shown(self, seconds: float) -> str:
        return f"{seconds:g}"


KINDS: dict[str, click.ParamType[Any]] = {
    "size": Size(),
    "seconds": Seconds(),
    "path": A_PATH,
    "file": A_FILE,
    "folder": A_FOLDER,
}
"""The types of click by their names in declarations."""


class Group:
    """A decorator that adds options to a command, and gives it their values as one object of a dataclass.

    The object is the parameter annotated with the dataclass. Each field is an option declared beside its type
    (`neardup.model.declared.Option`), or filled by one of `options`: an option of its name, or the group of its
    dataclass. Fields `without` an option keep their defaults. Declared options also go with `goes_with`, and not with
    `not_with`. The help lists the options under the `title`, and groups with a title of their own separately. Raises
    TypeError for a missing parameter or field, and for a field without an option.
    """

    def __init__(
        self, kind: type, *options: Decorator, title: str = "", without: Sequence[str] = (),
        goes_with: Sequence[str] = (), not_with: Sequence[str] = (),
    ) -> None:  # fmt: skip
        def made(**values: object) -> object:
            return kind(**values)

        members = dataclasses.fields(kind)
        made.__annotations__ = {member.name: member.type for member in members}
        self.kind = kind
        hints = {name: each for base in reversed(kind.__mro__) for name, each in _declared_hints(base).items()}
        defaults = {each.name: _default(each) for each in members}
        declared = {
            name: _option(name, hint, defaults[name], goes_with, not_with)
            for name, hint in hints.items()
            if name not in without
        }
        # click adds each parameter at the end, the first one last.
        self._made = _with_options(made, declared, options)
        self.parameters: tuple[click.Parameter, ...] = tuple(reversed(getattr(self._made, "__click_params__", [])))
        for parameter in self.parameters if title else ():
            vars(parameter).setdefault("title", title)
        self._require_complete(made.__annotations__)

    def made(self, values: Mapping[str, object]) -> object:
        return self._made(**values)

    def __call__(self, command: Callable[..., Returned]) -> Callable[..., Returned]:
        place = self.place(command)
        names = [str(parameter.name) for parameter in self.parameters]

        @functools.wraps(command)
        def wrapped(*arguments: object, **given: object) -> Returned:
            own = {name: given.pop(name) for name in names}
            return command(*arguments, **{place: self.made(own)}, **given)

        added = [*getattr(command, "__click_params__", []), *reversed(self.parameters)]
        vars(wrapped)["__click_params__"] = added
        return wrapped

    def place(self, command: Callable[..., object]) -> str:
        # Annotations are not evaluated, so that what they name need not be imported.
        names = [name for name, kind in command.__annotations__.items() if kind == self.kind.__name__]
        if len(names) != 1:
            raise TypeError(f"{command.__name__} needs one parameter of {self.kind.__name__}")
        return names[0]

    def _require_complete(self, fields: Mapping[str, object]) -> None:
        try:
            self.made({str(parameter.name): None for parameter in self.parameters})
        except TypeError as error:
            named = ", ".join(fields)
            raise TypeError(f"the options of {self.kind.__name__} are not its fields, {named}: {error}") from None


def options(*brought: Decorator) -> Decorator:
    """A decorator for a command with its options in the order of its parameters.

    Each is declared beside the type of its parameter, or is one of the `brought` options and groups.
    """

    def decorated(command: Callable[..., object]) -> Callable[..., object]:
        given = inspect.signature(command).parameters
        declared = {
            name: _option(name, hint, None if given[name].default is inspect.Parameter.empty else given[name].default)
            for name, hint in _declared_hints(command).items()
        }
        return _with_options(command, declared, brought)

    return decorated


class Titled(click.Command):
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titled: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                titled.setdefault(vars(parameter).get("title", "Options"), []).append(record)
        for title, records in titled.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Related(click.Option):
    """An option without effect unless one of `goes_with` is given, none of `not_with`, and, for `in_engine`, the store
    is not a file.

    Others are named as parameters, or as NAME=VALUE; options unknown to the command are ignored. An ineffective option
    is refused on a command line, and ignored in a settings file or the environment, because it is for other runs. The
    options of one `setting` override each other: on the command line, then in the environment, then in the settings
    file.
    """

    def __init__(
        self,
        declarations: Sequence[str],
        *,
        goes_with: Sequence[str] = (),
        not_with: Sequence[str] = (),
        in_engine: bool = False,
        setting: str = "",
        **attributes: Any,
    ) -> None:
        super().__init__(declarations, **attributes)
        self.goes_with, self.not_with, self.in_engine, self.setting = (
            tuple(goes_with), tuple(not_with), in_engine, setting,
        )  # fmt: skip

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        if self.name in opts and not ctx.resilient_parsing:
            partners = _named(ctx, self.goes_with)
            if partners and not any(_given(each, value, ctx, opts) for each, value in partners):
                flags = " or ".join(_flag(each, value) for each, value in partners)
                raise click.UsageError(f"{_flag(self)} goes with {flags}", ctx)
            for each, value in _named(ctx, self.not_with):
                if _given(each, value, ctx, opts):
                    raise click.UsageError(f"{_flag(self)} does nothing with {_flag(each, value)}", ctx)
            if self.in_engine and (name := _store_file(ctx, opts)):
                raise click.UsageError(f"{_flag(self)} is for an index in a search engine; {name} is a file", ctx)
        return super().handle_parse_result(ctx, opts, args)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        value, source = super().consume_value(ctx, opts)
        if self.in_engine and source in _FARTHER and _store_file(ctx, opts):
            return self.default, ParameterSource.DEFAULT
        if not self.setting or source not in _FARTHER:
            return value, source
        others = [each for each in ctx.command.params if isinstance(each, Related) and each.setting == self.setting]
        sources = [click.Option.consume_value(each, ctx, opts)[1] for each in others if each is not self]
        if any(each not in (source, *_FARTHER[source]) for each in sources):
            # Not by get_default(), which reads the settings file.
            return self.default, ParameterSource.DEFAULT
        return value, source


def _with_options(
    command: Callable[..., object], declared: Mapping[str, Decorator], brought: Sequence[Decorator]
) -> Callable[..., object]:
    """The command with its options in the order of its annotations; others come first."""
    chosen = dict(declared)
    for option in brought:
        if isinstance(option, Group):
            chosen[option.place(command)] = option
        else:
            [parameter] = vars(option(lambda: None))["__click_params__"]
            chosen[str(parameter.name)] = option
    ordered = sorted(chosen, key=[*reversed(command.__annotations__), *chosen].index)
    return functools.reduce(lambda made, name: chosen[name](made), ordered, command)


def _declared_hints(thing: Any) -> dict[str, Any]:
    names, found = vars(sys.modules[thing.__module__]), dict[str, Any]()
    for name, annotation in inspect.get_annotations(thing).items():
        try:
            alone = types.SimpleNamespace(__annotations__={name: annotation})
            found |= typing.get_type_hints(alone, names, include_extras=True)
        except NameError:
            # What is no option may name a type that is imported for type checkers alone.
            if str(annotation).startswith("Annotated["):
                raise
    return {name: hint for name, hint in found.items() if typing.get_origin(hint) is typing.Annotated}


def _default(member: dataclasses.Field[Any]) -> object:
    if member.default_factory is not dataclasses.MISSING:
        return member.default_factory()
    return None if member.default is dataclasses.MISSING else member.default


def _option(
    name: str, hint: Any, default: object, goes_with: Sequence[str] = (), not_with: Sequence[str] = ()
) -> Decorator:
    said, plain, flag = hint.__metadata__[0], hint.__origin__, name.replace("_", "-")
    on_or_off = plain == bool | None
    if typing.get_origin(plain) in (typing.Union, types.UnionType):
        # In Python a list in a text may also be a tuple.
        plain = next(each for each in typing.get_args(plain) if each is not types.NoneType)
    attributes: dict[str, Any] = {"multiple": typing.get_args(plain)[1:] == (...,), "metavar": said.metavar}
    kind = typing.get_args(plain)[0] if attributes["multiple"] else plain
    if on_or_off:
        attributes["default"], flag = None, f"{flag}/--no-{flag}"
    elif kind is bool:
        attributes["is_flag"] = True
    elif said.kind:
        attributes["type"] = KINDS.get(said.kind, said.kind)
    elif typing.get_origin(kind) is typing.Literal:
        attributes["type"] = click.Choice(typing.get_args(kind))
    elif kind is not str:
        attributes["type"] = (click.IntRange if kind is int else click.FloatRange)(said.least, said.most)
        attributes["metavar"] = said.metavar or "N" * (kind is int)
    if default not in (None, ()) and default is not False:
        attributes |= {"default": getattr(attributes.get("type"), "shown", lambda it: it)(default)}
        attributes["show_default"] = default != ""
    return click.option(
        *(said.names or [f"--{flag}"]), name, cls=Related, help=said.help,
        goes_with=[*said.goes_with, *goes_with], not_with=[*said.not_with, *not_with], in_engine=said.in_engine,
        setting=said.setting, allow_from_autoenv=not said.typed, required=said.required, **attributes,
    )  # fmt: skip


def _store_file(ctx: click.Context, opts: Mapping[str, Any]) -> str:
    store = next((each.consume_value(ctx, opts)[0] for each in ctx.command.params if each.name == "store"), "")
    return shown_store(store) if store and store_file(store) else ""


def typed(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def refuse_typed(names: Iterable[str], why: str) -> None:
    """Raise UsageError for the first of some parameters on the command line; `why` follows its name."""
    command = click.get_current_context().command
    known = {str(each.name): each for each in command.params}
    for name in names:
        if name in known and typed(name):
            raise UsageError(f"{_flag(known[name])} {why}")


# A source of values, and those that are farther away than it.
_FARTHER = {
    ParameterSource.ENVIRONMENT: (ParameterSource.DEFAULT_MAP, ParameterSource.DEFAULT),
    ParameterSource.DEFAULT_MAP: (ParameterSource.DEFAULT,),
}


def _named(ctx: click.Context, others: Sequence[str]) -> list[tuple[click.Parameter, str]]:
    known = {each.name: each for each in ctx.command.params}
    named = (other.partition("=") for other in others)
    return [(known[name], value) for name, _, value in named if name in known]


def _given(parameter: click.Parameter, wanted: str, ctx: click.Context, opts: Mapping[str, Any]) -> bool:
    value, source = parameter.consume_value(ctx, opts)
    if source == ParameterSource.DEFAULT and not wanted:
        return False
    made = parameter.process_value(ctx, value)
    return made == wanted if wanted else made is not None and made is not False and made != ()


def _flag(parameter: click.Parameter, value: str = "") -> str:
    if isinstance(parameter, click.Argument):
        return "a file" if parameter.name == "files" else str(parameter.name).upper()
    # Of several names the first that is a word.
    name = next((each for each in parameter.opts if each.startswith("--")), parameter.opts[0])
    return name + f" {value}" * bool(value)
