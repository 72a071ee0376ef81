"""Commands in a sentence, completed by the user's store."""

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
    _named.set(store)


def with_store(text: str) -> str:
    store = _named.get()
    if store == DEFAULT_STORE:
        return text
    option = f" --store {shlex.quote(shown_name(store))}"
    return _HINT.sub(lambda hint: hint[0] + option, text)
