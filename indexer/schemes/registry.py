"""The one list of schemes, and their construction from specifications: `minhash:bands=25,rows=5`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from indexer.errors import UsageError
from indexer.schemes.base import Parameter, Scheme

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Maker = Callable[..., Scheme]

# By family: where its class is. Imported when asked for, so that a command pays for what it uses.
FAMILIES: Mapping[str, str] = {
    "simhash-doc": "indexer.schemes.simhash:SimhashDoc",
    "simhash": "indexer.schemes.simhash_variants:SimhashVariant",
    "i-match": "indexer.schemes.imatch:IMatch",
    "spotsigs": "indexer.schemes.spotsigs:SpotSigs",
    "minhash": "indexer.schemes.minhash:Minhash",
    "weighted-minhash": "indexer.schemes.weighted_minhash:WeightedMinhash",
    "supershingles": "indexer.schemes.shingling:Supershingles",
    "random-projection": "indexer.schemes.random_projection:RandomProjection",
    "passages": "indexer.schemes.passages:Passages",
    "short-text": "indexer.schemes.short_text:ShortTextScheme",
}


# Where packages say which schemes they bring: a name is the family, what it leads to the class.
ENTRY_POINTS = "neardup.schemes"


def families() -> list[str]:
    return [*FAMILIES, *sorted({each.name for each in _entry_points()} - set(FAMILIES))]


def _entry_points() -> Iterable[EntryPoint]:
    # Imported when it is needed: it takes as long as all else that a command imports.
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


def scheme_class(family: str) -> type[Scheme]:
    if family not in FAMILIES:
        return _brought(family)
    module, name = FAMILIES[family].split(":")
    scheme: type[Scheme] = getattr(import_module(module), name)
    return scheme


@lru_cache(maxsize=64)
def known_class(family: str) -> type[Scheme] | None:
    try:
        return scheme_class(family)
    except UsageError:
        return None


def _brought(family: str) -> type[Scheme]:
    packages = {each.value: each for each in _entry_points() if each.name == family}
    if not packages:
        raise UsageError(f"{family!r} is not a scheme; known: {', '.join(families())}")
    if len(packages) > 1:
        raise UsageError(f"{family}: several packages bring a scheme of this name ({', '.join(sorted(packages))})")
    [(place, found)] = packages.items()
    try:
        made = found.load()
    except (Exception, SystemExit) as error:
        # Another's code may raise whatever it likes.
        raise UsageError(f"{family}: {place}, which a package names, can't be loaded: {error!r}") from error
    if not isinstance(made, type) or not issubclass(made, Scheme) or made.family != family:
        raise UsageError(
            f"{family}: {place} is not a subclass of indexer.schemes.base.Scheme with the family {family!r}"
        )
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", family):
        raise UsageError(f"{family!r}: the name of a scheme has lower-case letters, digits and hyphens between them")
    return made


def scheme(specification: str, corpus: Callable[[str], Any] | None = None) -> Scheme:
    """The scheme of a specification `family[:name=value,...]`.

    `corpus` returns the corpus statistics of a name, for schemes that need them; a digest in the specification has to
    match. Raises UsageError with the wrong family, parameter or value.
    """
    family, parameters = split(specification)
    made = scheme_class(family)
    needed = made.needed(parameters)
    arguments: dict[str, Any] = dict(parameters)
    if needed:
        if corpus is None:
            raise UsageError(f"{family}: needs the statistics of a corpus ({needed})")
        arguments["corpus"] = corpus(needed)
        digest = arguments["corpus"].digest
        if parameters.get("corpus", digest) != digest:
            raise UsageError(f"{specification!r}: the statistics {needed} are others, corpus={digest}")
    maker: Maker = made
    try:
        return maker(**arguments)
    except TypeError as error:
        raise UsageError(f"{specification!r}: {family} has no such parameter ({error})") from error


def family_of(specification: str) -> str:
    return split(specification)[0]


def split(specification: str) -> tuple[str, dict[str, Parameter]]:
    """Family and parameters of a specification `family:name=value,...`. Raises UsageError for another form."""
    family, _, rest = specification.strip().partition(":")
    parameters: dict[str, Parameter] = {}
    for part in filter(None, rest.split(",")):
        name, equals, value = part.partition("=")
        if not equals or not name.strip().isidentifier():
            raise UsageError(f"{specification!r}: {part!r} is not of the form name=value")
        if name.strip() in parameters:
            raise UsageError(f"{specification!r}: {name.strip()} is given twice")
        parameters[name.strip()] = _read(value.strip())
    return family, parameters


def _read(value: str) -> Parameter:
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
