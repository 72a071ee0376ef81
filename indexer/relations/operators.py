"""Operators that two texts name or use: pages of a reference may differ in nothing else."""

from __future__ import annotations

_SIGNS = b"-+*/%^&|~!<>=()"
_ONLY_SIGNS = bytes(code if code in _SIGNS else ord(" ") for code in range(256))
# Elsewhere a dash, a star or a slash is as often a mark of a format as an operator.
_ANYWHERE = frozenset((b"&&", b"||", b"->", b"=>"))


def differing_operators(text: str, other: str) -> tuple[str, str] | None:
    """The operators that only the one and only the other text has, where both have some; None where they have not.

    These are signs in front of a parenthesis, as in "operator*(", or alone within two, and a few that are nothing else.
    """
    ours, theirs = _operators(text), _operators(other)
    if ours == theirs or not (ours - theirs and theirs - ours):
        return None
    return _said(ours - theirs), _said(theirs - ours)


def _operators(text: str) -> set[bytes]:
    runs = {*text.encode("utf-8", "surrogatepass").translate(_ONLY_SIGNS).split()}
    return {run.strip(b"()") for run in runs if len(run) > 1 and (run in _ANYWHERE or _is_named(run))}


def _is_named(run: bytes) -> bool:
    within = run.startswith(b"(") and run.endswith(b")")
    return (within or run.endswith(b"(")) and bool(run.strip(b"()"))


def _said(operators: set[bytes]) -> str:
    return " ".join(sorted(each.decode() for each in operators))
