"""Many items as lists of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of `size`; the last one may be shorter, none is empty."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def chunks_by_size(items: Iterable[T], most: int, size_of: Callable[[T], int], size: int) -> Iterator[list[T]]:
    """The items in lists of at most `most`; a list ends early at `size` in all."""
    chunk: list[T] = []
    held = 0
    for item in items:
        chunk.append(item)
        held += size_of(item)
        if len(chunk) >= most or held >= size:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk
