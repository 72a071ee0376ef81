"""Forms with copies of some of them, and which of these belong together."""

from __future__ import annotations

from tests.cli.written import changed, prose

_FRAME = prose(1, 150)


def invoice(number: int, more: str = "") -> str:
    """A form of a number, with more at its end."""
    return f"Invoice {1000 + 7 * number}. {_FRAME} The amount is {120 + 3 * number}.50 EUR.{more}"


PAGES = (
    {f"{number}": invoice(number) for number in range(10)}
    | {f"{number}-copy": invoice(number).replace(" ", "\n") for number in range(0, 10, 3)}
    | {f"{number}-edited": invoice(number, " It is so.") for number in range(0, 10, 4)}
    | {"other": prose(5), "other-edited": changed(prose(5))}
)
"""Ten forms, of some of which there are copies and edited ones, and another text."""

TOGETHER = {
    frozenset(name for name in PAGES if name.split("-", maxsplit=1)[0] == own)
    for own in {name.split("-", maxsplit=1)[0] for name in PAGES}
}
