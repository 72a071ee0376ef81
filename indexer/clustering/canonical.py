"""The choice of the document representing a cluster."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import starmap
from typing import Any, Literal, get_args
from urllib.parse import urldefrag, urljoin

from indexer.errors import UsageError
from indexer.model import CANONICAL_URL, Record
from indexer.model.chunking import chunks
from indexer.model.mails import is_mail
from indexer.model.refs import ref_order
from indexer.model.times import moment_key, sort_key
from indexer.stores.base import Store
from indexer.text.counts import counted

_TIME = "time:"
_PAGE = 1000
_NOTHING: Mapping[str, Any] = {}
CanonicalKind = Literal["earliest", "longest", "field", "source", "declared", "newest", "oldest"]

# By language the words by which folders and files are called copies, or made from others, and by which systems call
# the folder of deleted files.
_COPY_NAMES = {
    "en": "backup backups bak copy copies old trash recycled converted export exports exported",
    "de": "kopie kopien sicherung sicherungen sicherungskopie datensicherung papierkorb konvertiert exportiert",
    "fr": "copie copies sauvegarde sauvegardes corbeille converti convertis exporté exportés",
    "es": "copia copias respaldo respaldos papelera convertido convertidos exportado",
    "pt": "cópia cópias lixeira reciclagem convertido exportado",
    "it": "copia copie cestino convertito convertiti esportato",
    "nl": "kopie kopieën reservekopie prullenbak geconverteerd",
    "sv": "kopia kopior säkerhetskopia papperskorg konverterad",
    "da": "kopi kopier sikkerhedskopi papirkurv konverteret",
    "no": "kopi kopier sikkerhetskopi papirkurv konvertert",
    "fi": "kopio kopiot varmuuskopio roskakori",
    "pl": "kopia kopie zapasowa kosz skonwertowane",
    "cs": "kopie záloha zálohy koš",
    "hu": "másolat másolatok mentés lomtár",
    "tr": "kopya kopyalar yedek yedekler",
    "ru": "копия копии резервная корзина",
    "uk": "копія копії резервна кошик",
    "el": "αντίγραφο αντίγραφα κάδος",
}
_COPY_NAME = "|".join(sorted({name for names in _COPY_NAMES.values() for name in names.split()}))
# After a slash at the beginning: where matches are counted one after the other, ^ would be true behind each. What
# documents lie in beside files counts too. Also in the syntax of RE2.
_NO_LETTER = "[^a-z\u00df-\u024f\u0370-\u04ff]"
COPY_WORDS = (
    rf"{_NO_LETTER}(?:{_COPY_NAME})(?:{_NO_LETTER}|$)"
    # In scripts without spaces and small letters.
    r"|备份|副本|回收站|バックアップ|コピー|ごみ箱"
    r"|\([0-9]{1,2}\)(?:\.[a-z0-9]+)?$|~$"
    r"|\.(?:zip|tar|tgz|tbz2|txz|tzst|eml|emlx|msg|mbox)(?:\.(?:gz|zst|bz2|xz))?/"
)
_COPY_WORDS = re.compile(COPY_WORDS, re.IGNORECASE)
# The first letters of `sort_key`, in their order.
_KINDS = "ntx"


@dataclass(frozen=True, slots=True)
class CanonicalRule:
    """The rule for the canonical document of a cluster; ties go to the earliest, then to the first by id.

    Before the earliest, under every rule, come mails (`is_mail`), because their senders and dates are no part of their
    texts, then documents called a copy least often by their path or URL (`copy_words`). "earliest" goes by
    `arrived_at`; "longest" by tokens; "field" by the metadata `field` (`indexer.model.times.sort_key`; missing ones
    last); "source" by the first of the shell patterns `sources` to fit; "declared" by rel=canonical: pages naming their
    own URL first, those naming another last; "newest" and "oldest" replace the earliest by the latest or first version
    of it in its cluster, if the order is known. With `time` the earliest goes by the date in the metadata `time`.
    Fields of the owners of documents count as metadata.
    """

    kind: CanonicalKind = "earliest"
    field: str = ""
    descending: bool = False
    sources: tuple[str, ...] = ()
    time: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.field, self.time)))

    @property
    def reads_metadata(self) -> bool:
        return self.kind in ("field", "declared")

    @property
    def by_version(self) -> bool:
        return self.kind in ("newest", "oldest")

    def __str__(self) -> str:
        field = f"field:{self.field}" + ":desc" * self.descending
        time = [f"{_TIME}{self.time}"] * bool(self.time)
        return shlex.join((*time, field if self.kind == "field" else self.kind, *self.sources))

    def key(self, record: Record, owners: Mapping[str, Any] = _NOTHING) -> tuple[Any, ...]:
        own = (*self.preferred(record, owners), not is_mail(record.source), copy_words(record.source))
        at = moment_key(value_of(record, owners, self.time)) if self.time else record.arrived_at
        return (*own, at == "", at, *ref_order(record.ref))

    def has_fields(self, record: Record, owners: Mapping[str, Any]) -> bool:
        named = not self.field or value_of(record, owners, self.field) is not None
        return named and (not self.time or bool(moment_key(value_of(record, owners, self.time))))

    def preferred(self, record: Record, owners: Mapping[str, Any] = _NOTHING) -> tuple[Any, ...]:
        if self.kind == "longest":
            return (-record.tokens,)
        if self.kind == "field":
            return _field_key(value_of(record, owners, self.field), self.descending)
        if self.kind == "source":
            fits = (place for place, glob in enumerate(self.sources) if fnmatchcase(record.source, glob))
            return (next(fits, len(self.sources)),)
        if self.kind == "declared":
            return (_declared(record.source, _field(record.metadata, CANONICAL_URL)),)
        return ()


def values_for(rule: CanonicalRule, store: Store, records: Sequence[Record]) -> Sequence[Mapping[str, Any]]:
    return store.owners_values(records, rule.fields) if rule.fields else [_NOTHING] * len(records)


def require_fields(rule: CanonicalRule, store: Store) -> None:
    count = 0
    for page in chunks(store.scan(sketches=False) if rule.fields else (), _PAGE):
        if any(starmap(rule.has_fields, zip(page, values_for(rule, store, page), strict=True))):
            return
        count += len(page)
    if count:
        known = ", ".join(store.date_fields() or ())
        raise UsageError(
            f"of {counted(count, 'document')} none has {' and '.join(map(repr, rule.fields))}"
            f"{' with a date' if rule.time else ''}{known and f'; fields with dates: {known}'}"
        )


def copy_words(source: str) -> int:
    return len(_COPY_WORDS.findall(f"/{source}"))


def loses_mail(source: str, instead: str) -> bool:
    """True if a mail, by its path, would go for a document that is none: its sender and date would be lost."""
    return is_mail(source) and not is_mail(instead)


def _declared(source: str, url: Any) -> int:
    if not isinstance(url, str) or not source.startswith(("http://", "https://")):
        return 1
    try:
        named = urldefrag(urljoin(source, url))[0]
    except ValueError:
        return 1
    return 0 if named == urldefrag(source)[0] else 2


def parse_canonical(text: str, sources: Sequence[str] = ()) -> CanonicalRule:
    """The rule a user names: as in CanonicalRule, with field:NAME or field:NAME:desc, or source with patterns.

    Raises UsageError.
    """
    kind, _, rest = text.partition(":")
    if (text == "source") != bool(sources):
        raise UsageError("the rule source needs patterns, and patterns need the rule source")
    if simple := next((each for each in get_args(CanonicalKind) if text == each != "field"), None):
        return CanonicalRule(simple, sources=tuple(sources))
    name = rest.removesuffix(":desc")
    if kind != "field" or not name:
        raise UsageError(
            f"{text!r} is not a rule for the canonical document: earliest, longest, declared, newest, oldest, "
            "source, field:NAME[:desc]"
        )
    return CanonicalRule("field", name, rest.endswith(":desc"))


def canonical_asked(given: str | CanonicalRule | None, sources: Sequence[str] = ()) -> CanonicalRule | None:
    if isinstance(given, str):
        return parse_canonical(given, sources)
    if sources:
        raise UsageError("--prefer goes with --canonical source")
    if not isinstance(given, CanonicalRule | None):
        raise UsageError(f"canonical: the name of a rule, or a CanonicalRule, not {type(given).__name__}")
    return given


def read_canonical(text: str) -> CanonicalRule:
    kind, *sources = shlex.split(text) or [""]
    if not kind.startswith(_TIME):
        return parse_canonical(kind, sources)
    return replace(parse_canonical(sources[0], sources[1:]), time=kind.removeprefix(_TIME))


def value_of(record: Record, owners: Mapping[str, Any], name: str) -> Any:
    return owners[name] if name in owners else _field(record.metadata, name)


def _field(metadata: Any, name: str) -> Any:
    if not isinstance(metadata, dict):
        return None
    if name in metadata:
        return metadata[name]
    first, dot, rest = name.partition(".")
    return _field(metadata.get(first), rest) if dot else None


def _field_key(value: Any, descending: bool) -> tuple[Any, ...]:
    if value is None:
        return (len(_KINDS), ())
    key = sort_key(value if isinstance(value, str | bool | int | float) else json.dumps(value, sort_keys=True))
    # The last entry lets a longer text come before its beginning.
    rest = (*(-ord(character) for character in key[1:]), 1) if descending else tuple(map(ord, key[1:]))
    return (_KINDS.index(key[0]), rest)
