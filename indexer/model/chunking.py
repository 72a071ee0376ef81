"""Many items as lists of a few, for what is read, sent or written at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of `size`; the last one may be shorter, none is empty."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
