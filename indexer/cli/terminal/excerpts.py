"""Passages common to two documents, as lines for people."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from indexer.cli.terminal.output import answer
from indexer.text.counts import counted, share_shown
from indexer.text.excerpts import Excerpt, Stretch

# So many other places of a passage are named.
_PLACES = 3


def show_excerpts(excerpts: Iterable[Excerpt], total: int, sides: tuple[str, str]) -> None:
    width = max(map(len, sides))

    def show(side: str, stretch: Stretch) -> None:
        answer(f"    {side:<{width}}  {shown_place(stretch)}")
        answer(f"    {'':<{width}}  {_said(stretch)}")

    for query, places in groupby(excerpts, lambda excerpt: excerpt.query):
        first, *others = places
        total -= 1 + len(others)
        alike = "" if first.similarity == 1 else f", {share_shown(first.similarity)} of the letters the same"
        answer(f"  {counted(first.words, 'word')}{alike}")
        show(sides[0], query)
        show(sides[1], first.match)
        if others:
            where = "; ".join(shown_place(each.match) for each in others[:_PLACES])
            more = f"; and in {counted(len(others) - _PLACES, 'more place')}" if len(others) > _PLACES else ""
            answer(f"    {'':<{width}}  also {where}{more}")
    if total:
        answer(f"  and {counted(total, 'shorter passage')}")


def shown_place(stretch: Stretch) -> str:
    page = f"page {stretch.page:,}, " if stretch.page is not None else ""
    words = f"words {stretch.word + 1:,} to {stretch.word + stretch.words:,}"
    return f"{page}{words}, characters {stretch.start:,} to {stretch.end:,}"


def _said(stretch: Stretch) -> str:
    parted = " " if stretch.after[:1].isalnum() else ""
    return f"{stretch.before} [{stretch.text}]{parted}{stretch.after}".strip()
