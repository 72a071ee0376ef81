"""Commands made from signatures, with the options declared there and the members of their answers in the help."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from indexer.cli.terminal.grouped import HelpContext
from indexer.cli.terminal.output import shown_store
from indexer.errors import UsageError
from indexer.model import declared
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


class Taking(NamedTuple):
    """A choice among the options of a dataclass, beside it in the signature of a command.

    Fields `without` an option keep their defaults. The options also go with `goes_with`, and not with `not_with`. The
    help lists them under `heading`, by default that of the dataclass.
    """

    heading: str = ""
    without: tuple[str, ...] = ()
    goes_with: tuple[str, ...] = ()
    not_with: tuple[str, ...] = ()


_WHOLE = Taking()


class DeclaredOptions:
    """The options declared beside the types of a command's parameters, or of the fields of a dataclass, in order.

    A declaration is an `Option`, or a function that makes an option for a name. A dataclass of options brings its own,
    and is made of their values.
    """

    def __init__(self, thing: Any, defaults: Mapping[str, object], part: Taking = _WHOLE) -> None:
        self._kinds: dict[str, tuple[Any, DeclaredOptions]] = {}
        self.parameters: list[click.Option] = []
        for name, hint in _hints(thing).items():
            kind, said = (hint.__origin__, hint.__metadata__[0]) if hasattr(hint, "__metadata__") else (hint, None)
            brings_own = dataclasses.is_dataclass(kind)
            if name in part.without:
                continue
            if brings_own:
                inner = of_dataclass(kind, said or _WHOLE)
                self._kinds[name] = kind, inner
                self.parameters += inner.parameters
            else:
                self.parameters.append(
                    said(name) if callable(said) else _option(name, kind, said, defaults[name], part)
                )
        for parameter in self.parameters:
            vars(parameter).setdefault("heading", part.heading or getattr(thing, "heading", ""))

    def taken(self, given: dict[str, Any]) -> dict[str, Any]:
        """The values of the parameters or fields, out of those of all options."""
        for name, (kind, inner) in self._kinds.items():
            given[name] = kind(**inner.taken({str(each.name): given.pop(str(each.name)) for each in inner.parameters}))
        return given


@functools.cache
def of_dataclass(kind: Any, part: Taking = _WHOLE) -> DeclaredOptions:
    return DeclaredOptions(kind, {each.name: _default(each) for each in dataclasses.fields(kind)}, part)


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


def _hints(thing: Any) -> dict[str, Any]:
    """The hints of options and of dataclasses of options, those of a base class first."""
    hints = typing.get_type_hints(thing, include_extras=True).items()
    return {name: hint for name, hint in hints if dataclasses.is_dataclass(hint) or hasattr(hint, "__metadata__")}


def _default(member: dataclasses.Field[Any]) -> object:
    if member.default_factory is not dataclasses.MISSING:
        return member.default_factory()
    return None if member.default is dataclasses.MISSING else member.default


def _option(name: str, plain: Any, said: Any, default: object, part: Taking) -> Related:
    flag = name.replace("_", "-")
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
    return Related(
        [*(said.names or [f"--{flag}"]), name], help=said.help, goes_with=[*said.goes_with, *part.goes_with],
        not_with=[*said.not_with, *part.not_with], in_engine=said.in_engine, setting=said.setting,
        allow_from_autoenv=not said.typed, required=said.required, **attributes,
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


class Answering(click.Command):
    """A command with the answer `answers`: a class of `indexer.library.records`, or MODULE:CLASS, empty for none.

    Its arguments are made by click's decorators; its options are declared in the signature, and made when asked for.
    With `--json` it prints one object, or one a line if `many`; `others` are the classes of its other answers by their
    headings. `heading` is for an answer in another form than JSON.
    """

    context_class = HelpContext

    def __init__(
        self, *arguments: Any, answers: str = "", many: bool = False, others: Mapping[str, str] | None = None,
        heading: str = "", **attributes: Any,
    ) -> None:  # fmt: skip
        super().__init__(*arguments, **attributes)
        usual = "With --json " + ("one object per line" if many else "one object")
        self._forms = {heading or usual: answers, **(others or {})} if answers else {}

    @functools.cached_property
    def _declared(self) -> DeclaredOptions:
        given = inspect.signature(self.callback).parameters if self.callback else {}
        empty = inspect.Parameter.empty
        defaults = {name: None if each.default is empty else each.default for name, each in given.items()}
        declared = DeclaredOptions(self.callback, defaults)
        self._params += declared.parameters
        return declared

    @property
    def params(self) -> list[click.Parameter]:
        _ = self._declared
        return self._params

    @params.setter
    def params(self, arguments: list[click.Parameter]) -> None:
        self._params = arguments

    def invoke(self, ctx: click.Context) -> Any:
        ctx.params = self._declared.taken(ctx.params)
        return super().invoke(ctx)

    def results(self) -> list[tuple[str, type]]:
        return [(heading, _class(name)) for heading, name in self._forms.items()]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titled: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                titled.setdefault(vars(parameter).get("heading") or "Options", []).append(record)
        for title, records in titled.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        for heading, kind in self.results():
            with formatter.section(heading):
                formatter.write_dl(list(_lines(kind)))


def command(answers: str = "", *, cls: type[click.Command] = Answering, **attributes: Any) -> Callable[..., Any]:
    """A decorator that makes a command; the attributes are those of `Answering`, and of click's commands.

    The docstring is the help, and from "Examples:" on what stands below the options.
    """
    attributes |= {"answers": answers} if answers else {}

    def made(callback: Callable[..., object]) -> click.Command:
        about, _, examples = inspect.cleandoc(callback.__doc__ or "").partition("Examples:")
        return click.command(cls=cls, help=about, epilog=f"\b\nExamples:{examples}", **attributes)(callback)

    return made


def _class(name: str) -> type:
    module, _, own = name.rpartition(":")
    place = module if module.startswith("indexer.") else f"indexer.library.{module or 'records'}"
    kind: type = getattr(importlib.import_module(place), own)
    return kind


def _lines(kind: type) -> Iterator[tuple[str, str]]:
    from indexer.library.records import Described, Stored

    # The one that the others refer to lists them all.
    included = issubclass(kind, Stored) and kind is not Described
    for member in declared.members(kind):
        if member.of is not Stored or not included:
            inner = (
                [each.name for each in declared.members(member.kind) if each.of is not Stored] if member.kind else []
            )
            if member.kind and issubclass(member.kind, Stored):
                inner.append("and those of neardup show --json before cluster")
            yield member.name, member.meaning + f" ({'each ' * member.many}{', '.join(inner)})" * bool(inner)
    if included:
        yield "id, ...", "The stored document, as in neardup show --json"
