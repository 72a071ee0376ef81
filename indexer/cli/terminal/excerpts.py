"""Passages that two documents have in common, as lines for people."""

from __future__ import annotations

from collections.abc import Iterable

from indexer.cli.terminal.output import answer
from indexer.text.counts import counted, share_shown
from indexer.text.excerpts import Excerpt, Stretch


def show_excerpts(excerpts: Iterable[Excerpt], total: int, sides: tuple[str, str]) -> None:
    """Print where each passage stands on either side, and what it says there; `sides` are what the two are called."""
    width = max(map(len, sides))
    shown = 0
    for excerpt in excerpts:
        shown += 1
        alike = "" if excerpt.similarity == 1 else f", {share_shown(excerpt.similarity)} of the letters the same"
        answer(f"  {counted(excerpt.words, 'word')}{alike}")
        for side, stretch in zip(sides, (excerpt.query, excerpt.match), strict=True):
            answer(f"    {side:<{width}}  {shown_place(stretch)}")
            answer(f"    {'':<{width}}  {_said(stretch)}")
    if total > shown:
        answer(f"  and {counted(total - shown, 'shorter passage')}")


def shown_place(stretch: Stretch) -> str:
    """Where a part of a text stands."""
    page = f"page {stretch.page:,}, " if stretch.page is not None else ""
    words = f"words {stretch.word + 1:,} to {stretch.word + stretch.words:,}"
    return f"{page}{words}, characters {stretch.start:,} to {stretch.end:,}"


def _said(stretch: Stretch) -> str:
    """The passage in brackets between the words beside it."""
    parted = " " if stretch.after[:1].isalnum() else ""
    return f"{stretch.before} [{stretch.text}]{parted}{stretch.after}".strip()
