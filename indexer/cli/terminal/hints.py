"""Commands that a sentence names: with the store that the user has named, so that they can be run as they stand."""

from __future__ import annotations

import re
import shlex
from contextvars import ContextVar

from indexer.cli.config import DEFAULT_STORE
from indexer.text.hiding import shown_name

_named: ContextVar[str] = ContextVar("named", default=DEFAULT_STORE)
# A sentence ends a hint, and so does what encloses it.
_HINT = re.compile(
    r"\bneardup (?:annotate|cluster|corpus|doctor|evaluate|failures|index|prune|report|schemes|setup|show|stats)\b"
    r"(?![^;:()`]*--store)(?! of| --help)"
)


def name_store(store: str) -> None:
    """Take note of the store that the command in this context was given."""
    _named.set(store)


def with_store(text: str) -> str:
    """A sentence whose commands name the store, unless it is the usual one or they do already."""
    store = _named.get()
    if store == DEFAULT_STORE:
        return text
    option = f" --store {shlex.quote(shown_name(store))}"
    return _HINT.sub(lambda hint: hint[0] + option, text)
