"""Files moved aside, replaced by links, and put back, and the list of what was done.

Nothing is overwritten, no symbolic link is followed, and at every moment the bytes of each file are whole somewhere. A
copy gets its name when complete, so a kill or a full disk leaves no cut file under a document's name.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import stat
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal, Self

from indexer.errors import FileActError, NeardupError, UsageError, machines_fault
from indexer.ingest.regular_files import UnreadableError, open_regular, write_line
from indexer.model.paths import printable_path

Act = Literal["move", "hard", "symbolic"]

# Linux can rename without overwriting; other systems give a file two names for a moment.
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
_HERE, _NO_REPLACE = -100, 1
_NOT_KNOWN = (errno.ENOSYS, errno.EINVAL)
# The name of the form in the first line of a list.
FORM = {"form": "neardup acts 1"}
_LONGEST_LINE = 200_000
_KINDS = {"mode": int, "size": int, "modified_ns": int}


@dataclass(frozen=True, slots=True)
class FileAct:
    """One act on a file of a document: `path` is moved to `target`, or replaced by a link to it.

    `id` is the document's, `sha256` and `size` describe the file's bytes, `mode` and `modified_ns` its former state.
    """

    act: Act
    id: str
    path: str
    target: str
    sha256: str
    size: int
    mode: int
    modified_ns: int

    @property
    def digest(self) -> str:
        return digest_of(json.dumps(asdict(self)).encode())

    def spare(self, place: str) -> str:
        name = hashlib.sha256(f"{self.path}\0{self.target}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return os.path.join(os.path.dirname(place), f".neardup-{name}.part")


def checked_bytes(path: str) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file without symbolic links on its path. Raises FileActError with the reason."""
    try:
        if os.path.realpath(path) != path:
            raise FileActError("a symbolic link leads to it, and none is followed")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileActError("it is no regular file")
            if _is_open_elsewhere(file):
                raise FileActError("another program has it open")
            return file.read(), status
    except (OSError, ValueError) as error:
        # A program may have said of its document that it came from a path that no file can have.
        why = error.strerror if isinstance(error, OSError) else error
        raise FileActError(f"it can't be read: {why}") from None


def _is_open_elsewhere(file: IO[bytes]) -> bool:
    try:
        import fcntl

        fcntl.fcntl(file.fileno(), fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(file.fileno(), fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except (ImportError, AttributeError, OSError):
        return False
    return False


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def has_bytes(path: str, sha256: str) -> bool:
    """True if a regular file with these bytes is at a path without links."""
    with suppress(FileActError):
        return digest_of(checked_bytes(path)[0]) == sha256
    return False


def do_act(act: FileAct) -> None:
    """Move a file, or put a link in its place. Raises FileActError with the reason, and leaves the file."""
    try:
        # Read once more, right before it goes.
        if not has_bytes(act.path, act.sha256):
            raise FileActError("it has changed at this moment")
        if act.act == "move":
            _move(act.path, act.target, act)
        else:
            _link(act)
    except OSError as error:
        raise FileActError(_sentence(error, act.target)) from None


def _sentence(error: OSError, place: str) -> str:
    if isinstance(error, FileExistsError):
        return f"there is something at {place} already, and nothing is overwritten"
    if isinstance(error, PermissionError):
        return f"this user may not change the folder: {error.strerror}"
    return f"{error.strerror}" + (
        " (a hard link can't lead to another file system)" if error.errno == errno.EXDEV else ""
    )


def _move(path: str, target: str, act: FileAct) -> None:
    folder = os.path.dirname(target)
    if os.path.realpath(folder) != folder:
        raise FileActError("a symbolic link leads to where it would go, and none is followed")
    os.makedirs(folder, exist_ok=True)
    try:
        _rename(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with _spare(act, target) as spare:
            _copy(path, spare, act)
            _rename(spare, target)
        _sync(folder)
        _remove_copied(path, target, act)
    _sync(folder)
    _sync(os.path.dirname(path))


def _rename(path: str, target: str) -> None:
    if _renameat2:
        if not _renameat2(_HERE, os.fsencode(path), _HERE, os.fsencode(target), _NO_REPLACE):
            return
        if (number := ctypes.get_errno()) not in _NOT_KNOWN:
            raise OSError(number, os.strerror(number))
    os.link(path, target, follow_symlinks=False)
    try:
        os.unlink(path)
    except OSError:
        os.unlink(target)
        raise


def _remove_copied(path: str, target: str, act: FileAct) -> None:
    try:
        if digest_of(checked_bytes(path)[0]) != act.sha256:
            raise FileActError("it has changed while it was copied")
        os.unlink(path)
    except BaseException:
        if os.path.lexists(path):
            os.unlink(target)
        raise


@contextmanager
def _spare(act: FileAct, place: str) -> Iterator[str]:
    name = act.spare(place)
    with suppress(FileNotFoundError):
        os.unlink(name)
    try:
        yield name
    finally:
        with suppress(OSError):
            os.unlink(name)


def _copy(path: str, spare: str, act: FileAct) -> None:
    data, status = checked_bytes(path)
    descriptor = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        with suppress(OSError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        # Rights to read, write and execute: a copy gives nobody those of its owner.
        os.fchmod(descriptor, act.mode & 0o777)
        os.utime(descriptor, ns=(act.modified_ns, act.modified_ns))
        os.fsync(descriptor)
    if not has_bytes(spare, act.sha256):
        raise FileActError("its copy is not what was read, so it stays")


def _link(act: FileAct) -> None:
    with _spare(act, act.path) as spare:
        if act.act == "hard":
            os.link(act.target, spare, follow_symlinks=False)
        else:
            os.symlink(os.path.relpath(act.target, os.path.dirname(act.path)), spare)
        if not has_bytes(act.target, act.sha256):
            raise FileActError("the kept file has changed at this moment")
        if os.path.samefile(act.path, act.target):
            raise FileActError("it and the kept file are one file")
        os.replace(spare, act.path)
    _sync(os.path.dirname(act.path))


def _sync(folder: str) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def undo_act(act: FileAct, *, dry_run: bool = False) -> bool:
    """Take an act back; False if there is nothing to do.

    Raises FileActError with the reason if it can't be taken back.
    """
    left = [name for place in (act.path, act.target) if os.path.lexists(name := act.spare(place))]
    try:
        back = _unmove(act, dry_run) if act.act == "move" else _unlink(act, dry_run)
        if not dry_run and (back or left):
            for name in left:
                with suppress(FileNotFoundError):
                    os.unlink(name)
            if act.act == "move":
                _remove_empty(os.path.dirname(act.target), os.path.dirname(act.path))
    except OSError as error:
        raise FileActError(_sentence(error, act.path)) from None
    return back or bool(left)


def _unmove(act: FileAct, dry_run: bool) -> bool:
    there, moved = os.path.lexists(act.path), os.path.lexists(act.target)
    if not moved:
        if there:
            return False
        raise FileActError(f"it is neither at {act.path} nor at {act.target}")
    if there:
        # A run that died after the copy has left both.
        if not (has_bytes(act.path, act.sha256) and has_bytes(act.target, act.sha256)):
            raise FileActError(f"something else stands at {act.path}, so {act.target} is left where it is")
        if _is_one_name(act.path, act.target):
            raise FileActError(f"{act.path} and {act.target} are one file, which is left where it is")
        if not dry_run:
            os.unlink(act.target)
        return True
    if not has_bytes(act.target, act.sha256):
        raise FileActError(f"{act.target} has changed since it was moved, so it is left where it is")
    if not dry_run:
        _move(act.target, act.path, act)
    return True


def _is_one_name(path: str, other: str) -> bool:
    status = os.lstat(path)
    folders = os.path.dirname(path), os.path.dirname(other)
    return os.path.samestat(status, os.lstat(other)) and (status.st_nlink < 2 or os.path.samefile(*folders))


def _remove_empty(folder: str, like: str) -> None:
    while os.path.basename(folder) == os.path.basename(like) != "":
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder, like = os.path.dirname(folder), os.path.dirname(like)


def _unlink(act: FileAct, dry_run: bool) -> bool:
    if not _is_link(act):
        if has_bytes(act.path, act.sha256):
            return False
        raise FileActError("it is no longer the same link, so it is left as it is")
    if not has_bytes(act.target, act.sha256):
        raise FileActError(f"{act.target} has changed since the link was made, so the link is left")
    if not dry_run:
        with _spare(act, act.path) as spare:
            _copy(act.target, spare, act)
            os.replace(spare, act.path)
        _sync(os.path.dirname(act.path))
    return True


def _is_link(act: FileAct) -> bool:
    try:
        if act.act == "symbolic":
            return os.readlink(act.path) == os.path.relpath(act.target, os.path.dirname(act.path))
        return os.path.samestat(os.lstat(act.path), os.lstat(act.target))
    except OSError:
        return False


def target_of(path: str, folder: str, base: str) -> str:
    below = os.path.relpath(path, base) if base and path.startswith(os.path.join(base, "")) else path.lstrip(os.sep)
    return str(Path(folder, below))


class ActList:
    """A list of acts written as they are done, one JSON object a line; a context manager.

    It always makes a new file. Raises UsageError if it exists.
    """

    def __init__(self, path: str) -> None:
        self._shown = f"{printable_path(path)}: the list of what is done"
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"{self._shown} can't be made here: {error.strerror}") from None
        self._write(FORM)

    def begin(self, act: FileAct) -> None:
        """Write an act before doing it; it is on disk when this returns."""
        self._write(asdict(act))

    def _write(self, value: Mapping[str, Any]) -> None:
        try:
            write_line(self._descriptor, json.dumps(value).encode())
        except OSError as error:
            doing = f"{self._shown} can't be written"
            raise machines_fault(error, doing) or NeardupError(f"{doing}: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def acts_backwards(path: str | os.PathLike[str]) -> Iterator[FileAct]:
    """The acts in a list, the last first, without a last line cut off by a kill.

    Raises UsageError for another file.
    """
    name = printable_path(os.fspath(path))
    try:
        with open_regular(os.fspath(path)) as file:
            starts, end = array("Q"), 0
            while (line := file.readline(_LONGEST_LINE)).endswith(b"\n"):
                starts.append(end)
                end += len(line)
                _checked(line, name, len(starts))
            if not starts or len(line) == _LONGEST_LINE:
                raise UsageError(f"{name}:{len(starts) + 1}: no list of acts by neardup")
            for number in range(len(starts), 1, -1):
                file.seek(starts[number - 1])
                yield FileAct(**_checked(file.readline(_LONGEST_LINE), name, number))
    except (UnreadableError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error.detail
        raise UsageError(f"{name}: the list can't be read: {why}") from None


def _checked(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(line)
        if number == 1:
            if value != FORM:
                raise ValueError("the first line is another one")
            return value
        act = FileAct(**value)
        for member, held in value.items():
            kind = _KINDS.get(member, str)
            if type(held) is not kind:
                raise ValueError(f"{member} is no {kind.__name__}")
        is_known = act.act in ("move", "hard", "symbolic")
        if not is_known or not os.path.isabs(act.path) or not os.path.isabs(act.target):
            raise ValueError("an act of another kind, or a relative path")
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{name}:{number}: no list of acts by neardup: {error}") from None
    return value
