"""The addresses of documents, by a template with their ids or fields."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, urlsplit

from indexer.clustering.canonical import value_of
from indexer.errors import UsageError
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.stores.base import Store
from indexer.stores.texts import document_of

_FIELD = re.compile(r"\{([^{}]+)\}")
_PAGE = 1000
# More is no address that a browser takes.
_LONGEST = 2000


def links_of(store: Store, template: str, records: Iterable[Record]) -> dict[Ref, str]:
    """The address of each document with all fields of a template: {id}, {source} or the name of a field.

    Raises UsageError for a template without an address.
    """
    names = list(dict.fromkeys(_FIELD.findall(template)))
    if not names or not (template.startswith("{") or is_web(template)):
        raise UsageError(
            f"--link {template}: write an address with {{id}} or {{FIELD}} in it, as 'https://example.org/{{id}}', or "
            "'{FIELD}' for a field that holds the address"
        )
    fields, links = [name for name in names if name not in ("id", "source")], dict[Ref, str]()
    for page in chunks({record.ref: record for record in records}.values(), _PAGE):
        owners = store.owners_values(page, fields) if fields else [{} for _ in page]
        for record, values in zip(page, owners, strict=True):
            place = document_of(record) or record.ref
            known = {name: value_of(record, values, name) for name in fields}
            known |= {"id": place.id, "source": record.source}
            if all(known.get(name) not in (None, "") for name in names):
                address = _FIELD.sub(lambda found: _written(str(known[found[1]]), whole=not found.start()), template)  # noqa: B023 used at once
                if is_web(address) and len(address) <= _LONGEST:
                    links[record.ref] = address
    return links


def is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _written(value: str, *, whole: bool) -> str:
    return value if whole else quote(value, safe="", errors="replace")
