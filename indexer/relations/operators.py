"""Operators that two texts name or use: pages of a reference may differ in nothing else."""

from __future__ import annotations

import re

_SIGNS = b"-+*/%^&|~!<>=()"
_ONLY_SIGNS = bytes(code if code in _SIGNS else ord(" ") for code in range(256))
# Elsewhere a dash, a star or a slash is as often a mark of a format as an operator.
_ANYWHERE = frozenset((b"&&", b"||", b"->", b"=>"))
# So many equal signs may be an operator between spaces; more are a line, such as one under a heading.
_LONGEST = 2
# Of "promise<T&>" the sign behind the last type.
_OF_TYPE = re.compile(r"<[^<>]*[\w>] ?([*&]+|\[\]) ?>")


def differing_operators(text: str, other: str) -> tuple[str, str] | None:
    """The operators that only the one and only the other text has, where both have some; None where they have not.

    These are signs in front of a parenthesis, as in "operator*(", or alone within two, two or more between spaces, and
    a few that are nothing else. A sign of a type, as in "promise<T&>", tells also where the other text has none.
    """
    ours, theirs = _operators(text), _operators(other)
    if ours - theirs and theirs - ours:
        return _said(ours - theirs), _said(theirs - ours)
    types, other_types = {*_OF_TYPE.findall(text)}, {*_OF_TYPE.findall(other)}
    if types == other_types:
        return None
    return " ".join(sorted(types - other_types)), " ".join(sorted(other_types - types))


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
