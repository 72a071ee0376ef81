"""Options that belong together: defined once, and given to a command as one object of a frozen dataclass."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

Result = TypeVar("Result")
Decorator = Callable[[Callable[..., object]], Callable[..., object]]


class Group:
    """A decorator that adds options to a command, and gives it their values as one object of a dataclass.

    The object comes as the parameter that is annotated with the dataclass. Each option fills the field of its name; a
    group among `options` fills the field that is annotated with its dataclass. Raises TypeError where there is no such
    parameter or field, and where a field has no option.
    """

    def __init__(self, kind: type, *options: Decorator) -> None:
        def made(**values: object) -> object:
            return kind(**values)

        made.__annotations__ = {member.name: member.type for member in dataclasses.fields(kind)}
        wrapped: Callable[..., object] = made
        for option in reversed(options):
            wrapped = option(wrapped)
        self.kind = kind
        # click adds each parameter at the end, the first one last.
        self.parameters: tuple[click.Parameter, ...] = tuple(reversed(getattr(wrapped, "__click_params__", [])))
        self._made = wrapped
        self._require_complete(made.__annotations__)

    def made(self, values: Mapping[str, object]) -> object:
        """The object of these values, by the names of the parameters."""
        return self._made(**values)

    def __call__(self, command: Callable[..., Result]) -> Callable[..., Result]:
        """Add the options to a command."""
        place = self._place(command)
        names = [str(parameter.name) for parameter in self.parameters]

        @functools.wraps(command)
        def wrapped(*arguments: object, **given: object) -> Result:
            own = {name: given.pop(name) for name in names}
            return command(*arguments, **{place: self.made(own)}, **given)

        added = [*getattr(command, "__click_params__", []), *reversed(self.parameters)]
        vars(wrapped)["__click_params__"] = added
        return wrapped

    def _place(self, command: Callable[..., object]) -> str:
        """The name of the parameter that takes the object."""
        # Annotations are not evaluated, so that what they name need not be imported.
        names = [name for name, kind in command.__annotations__.items() if kind == self.kind.__name__]
        if len(names) != 1:
            raise TypeError(f"{command.__name__} needs one parameter of {self.kind.__name__}")
        return names[0]

    def _require_complete(self, fields: Mapping[str, object]) -> None:
        """TypeError unless every field is filled, and nothing else is given."""
        try:
            self.made({str(parameter.name): None for parameter in self.parameters})
        except TypeError as error:
            named = ", ".join(fields)
            raise TypeError(f"the options of {self.kind.__name__} are not its fields, {named}: {error}") from None


class Partnered(click.Option):
    """An option that does nothing without one of those named in `goes_with`: on a command line without, it is refused.

    In a settings file or the environment it is for the runs that have one.
    """

    def __init__(self, declarations: Sequence[str], *, goes_with: Sequence[str], **attributes: Any) -> None:
        super().__init__(declarations, **attributes)
        self.goes_with = tuple(goes_with)

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Read the value. Raises UsageError where it would do nothing."""
        if self.name in opts and not ctx.resilient_parsing:
            partners = [each for each in ctx.command.params if each.name in self.goes_with]
            if not any(_given(partner, ctx, opts) for partner in partners):
                flags = " or ".join(_flag(partner) for partner in partners)
                raise click.UsageError(f"{_flag(self)} goes with {flags}", ctx)
        return super().handle_parse_result(ctx, opts, args)


def _given(parameter: click.Parameter, ctx: click.Context, opts: Mapping[str, Any]) -> bool:
    """Whether a parameter has a value from anywhere."""
    value = parameter.process_value(ctx, parameter.consume_value(ctx, opts)[0])
    return value is not None and value is not False and value != ()


def _flag(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len)
