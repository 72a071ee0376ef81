"""Every deliberate error of neardup, under one root."""

from __future__ import annotations

import errno
import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# What is raised where the process is asked to stop: nothing is waited for then.
STOPPED = (KeyboardInterrupt, SystemExit)
_MACHINE = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT))


class NeardupError(Exception):
    """Root of all errors of this package; its text names the problem, the place, and the thing to do.

    `exit_code` is the command's exit status for the error.
    """

    exit_code = 1


class UsageError(NeardupError):
    """An argument, option or setting can't be used as given."""

    exit_code = 2


class PayloadError(UsageError):
    """A payload of another scheme, or from a damaged store."""

    exit_code = 3


class StoreError(NeardupError):
    """A store can't be opened, read or written."""

    exit_code = 3


class NoStoreError(StoreError):
    """There is no store yet: no file, or an empty one."""


class StoreBusyError(StoreError):
    """Another process holds the store for writing and did not release it in time."""


class IncompatibleStoreError(StoreError):
    """A store's fingerprints can't be compared with the wanted ones, or were made by a newer version."""

    exit_code = 4


class MachineError(NeardupError):
    """This machine lacks something: a package, memory, open files, disk space. It is no fault of any document."""


class NotFoundError(NeardupError):
    """There is no document with this identity, or no file at this path."""

    exit_code = 5


class ExtractionError(NeardupError):
    """A document gave no text.

    `reason` is a short fixed word (see `neardup.extract.REASONS`) for summaries; `detail` says more.
    """

    exit_code = 6

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[ExtractionError], tuple[str, str]]:
        return type(self), (self.reason, self.detail)


class FileActError(NeardupError):
    """A file can't be moved, linked or put back: the reason, without the file's name."""

    exit_code = 6


def shown(value: object) -> str:
    """The form of a given value in a message: a plain value, cut off if long, else its type."""
    if isinstance(value, str | bytes):
        return repr(value[:80])
    is_plain = value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 64)
    return repr(value) if is_plain else f"a {type(value).__name__}"


def machines_fault(error: Exception, doing: str) -> MachineError | None:
    """The error for a lack of the machine, or None if the document is to blame."""
    if isinstance(error, OSError) and error.errno in _MACHINE:
        return MachineError(
            f"{doing}: {error.strerror}; the machine is at fault, so nothing is recorded of the document"
        )
    missing = isinstance(error, ModuleNotFoundError) or (isinstance(error, ImportError) and not _of_memory(error))
    if missing:
        return MachineError(
            f"{doing}: {error}; install neardup again with what it needs (pip install --upgrade neardup)"
        )
    return None


def _of_memory(error: ImportError) -> bool:
    # A library that finds no room, because of what the document takes.
    return "allocate memory" in str(error) or "failed to map" in str(error)


def takes_named(function: Callable[P, R]) -> Callable[P, R]:
    """The function, raising a UsageError with the known arguments for an unknown one."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            signature = inspect.signature(function)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                names = ", ".join(name for name in signature.parameters if name != "self")
                by = "; match='minhash@0.8' says from which similarity on texts are near" * ("match" in names)
                called_as = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
                raise UsageError(f"{called_as}(): {error}; its arguments are {names}{by}") from None
            raise

    return called


def takes_named_arguments(kind: type[T]) -> type[T]:
    """The class, with `takes_named` applied to its public methods and constructor."""
    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(kind, name, takes_named(method))
    return kind
