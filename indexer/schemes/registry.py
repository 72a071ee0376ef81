"""The one list of schemes, and how one is made from what a user writes: `minhash:bands=25,rows=5`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from indexer.errors import UsageError
from indexer.schemes.base import Parameter, Scheme

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
}


def families() -> list[str]:
    """The names of all schemes."""
    return list(FAMILIES)


def scheme_class(family: str) -> type[Scheme]:
    """The class of a scheme; UsageError, with the names that there are, for an unknown one."""
    from importlib import import_module

    if family not in FAMILIES:
        raise UsageError(f"{family!r} is no scheme; there are: {', '.join(FAMILIES)}")
    module, name = FAMILIES[family].split(":")
    scheme: type[Scheme] = getattr(import_module(module), name)
    return scheme


def scheme(specification: str, corpus: Callable[[str], Any] | None = None) -> Scheme:
    """The scheme of a specification `family[:name=value,...]`.

    `corpus` gives the corpus statistics of a name, for schemes that need them; a digest in the specification has to be
    theirs. Raises UsageError that names the family, the parameter or the value that is wrong.
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


def split(specification: str) -> tuple[str, dict[str, Parameter]]:
    """Family and parameters of a specification; UsageError for one that is not of the form `family:name=value,...`."""
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
