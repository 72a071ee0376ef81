"""The options that name the schemes whose sketches a store keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer.errors import UsageError
from indexer.model import SIMHASH_DOC

if TYPE_CHECKING:
    from indexer.schemes.base import Scheme
    from indexer.stores import Store

Command = TypeVar("Command", bound=Callable[..., Any])

scheme_option = click.option(
    "--scheme",
    multiple=True,
    metavar="NAME[:PARAM=VALUE,...]",
    help="Keep a sketch of each document by this scheme too; give it several times for several. The store remembers "
    "its schemes, and later runs keep to them. neardup schemes lists them.",
)
only_new_option = click.option(
    "--schemes",
    metavar="NAME,...",
    help="Make a new store with exactly these schemes; simhash-doc alone is the lean form.  [default: "
    "simhash-doc,minhash]",
)


def schemes_options(command: Command) -> Command:
    """Add what names the schemes of a store."""
    return scheme_option(only_new_option(command))


def schemes_of_new(given: Mapping[str, Any]) -> list[Scheme]:
    """The schemes beside simhash-doc that a new store is made with."""
    from indexer.matching.rule import PREFERRED
    from indexer.schemes import registry

    if given["schemes"] is None:
        return [registry.scheme(PREFERRED)]
    names: list[str] = []
    for part in given["schemes"].split(","):
        # A comma also stands between the parameters of one scheme.
        if names and "=" in part and ":" not in part:
            names[-1] += f",{part.strip()}"
        else:
            names.append(part.strip())
    if SIMHASH_DOC not in names:
        raise UsageError(f"--schemes {given['schemes']}: every store keeps {SIMHASH_DOC}; name it too")
    return [registry.scheme(name) for name in names if name and name != SIMHASH_DOC]


def schemes_of(store: Store, given: Mapping[str, Any]) -> Sequence[Scheme]:
    """The schemes beside simhash-doc of an open store: its own, and those that are named.

    Raises UsageError where --schemes names others than a store has that was made before.
    """
    from indexer.store_schemes import require_exactly, wanted_schemes

    if given["schemes"] is not None and not store.created:
        require_exactly(schemes_of_new(given), [each.name for each in store.info.schemes], given["scheme"])
    return wanted_schemes(store, given["scheme"])
