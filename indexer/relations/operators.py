"""Operators that two texts name or use: pages of a reference may differ in nothing else."""

from __future__ import annotations

import re

_SIGNS = b"-+*/%^&|~!<>=()"
_ONLY_SIGNS = bytes(code if code in _SIGNS else ord(" ") for code in range(256))
# Elsewhere a dash, a star or a slash is as often a mark of a format as an operator.
_ANYWHERE = frozenset((b"&&", b"||", b"->", b"=>"))
# So many equal signs may be an operator between spaces; more are a line, such as one under a heading.
_LONGEST = 2
# By a text without which there is none: in C++ what tells "promise<T&>" from "promise<T>", "f(T &)" from "f(T)",
# "f(A..., ...)" from "f(A...)", "T const *" from "T *", and "operator<<" from "operator&&", of whose pages each may
# have all signs.
_OF_CODE = {
    "<": re.compile(r"<[^<>]*[\w>] ?([*&]+|\[\]) ?>"),
    "&": re.compile(r"\w ?(&+) ?\)"),
    "...": re.compile(r"\.\.\.(, ?\.\.\.) ?\)"),
    "const": re.compile(r"\b(const) ?[*&]"),
    "operator": re.compile(r"\b(operator(?:[-+*/%^&|~!<>=]{1,3}|\[\]|\(\)))"),
}


def differing_operators(text: str, other: str) -> tuple[str, str] | None:
    """The operators that only the one and only the other text has, where both have some; None where they have not.

    These are signs in front of a parenthesis, as in "operator*(", or alone within two, two or more between spaces, and
    a few that are nothing else. A sign of a type, as in "promise<T&>", and the name of an operator, as in "operator<<",
    tell also where the other text has none.
    """
    ours, theirs = _operators(text), _operators(other)
    if ours - theirs and theirs - ours:
        return _said(ours - theirs), _said(theirs - ours)
    code, other_code = _of_code(text), _of_code(other)
    if code == other_code:
        return None
    return _said_of_code(code - other_code), _said_of_code(other_code - code)


def _of_code(text: str) -> set[tuple[str, str]]:
    """The signs of code, each with the mark of its expression."""
    found = ((mark, pattern.findall(text)) for mark, pattern in _OF_CODE.items() if mark in text)
    return {(mark, "".join(said.split())) for mark, every in found for said in every}


def _said_of_code(signs: set[tuple[str, str]]) -> str:
    return " ".join(sorted({said for _, said in signs}))


def _operators(text: str) -> set[bytes]:
    signs = text.encode("utf-8", "surrogatepass")
    runs = {run for run in signs.translate(_ONLY_SIGNS).split() if len(run) > 1}
    if not runs:
        return runs
    alone = {run for run in runs & {*signs.split()} if not _is_line(run)}
    return {run.strip(b"()") for run in runs if run in alone or run in _ANYWHERE or _is_named(run)}


def _is_line(run: bytes) -> bool:
    return len(run) > _LONGEST and len({*run}) == 1


def _is_named(run: bytes) -> bool:
    within = run.startswith(b"(") and run.endswith(b")")
    return (within or run.endswith(b"(")) and bool(run.strip(b"()"))


def _said(operators: set[bytes]) -> str:
    return " ".join(sorted(each.decode() for each in operators))
