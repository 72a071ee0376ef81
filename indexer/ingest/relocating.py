"""Files moved aside, replaced by links, and put back: each act is written to a list before it is done.

Nothing is overwritten, no symbolic link is followed, and at every moment the bytes of each file stand somewhere whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

from indexer.errors import NeardupError, UsageError
from indexer.model.paths import printable_path

Act = Literal["move", "hard", "symbolic"]

# The name of the form in the first line of a list.
FORM = "neardup acts 1"
_MOST_LINES, _LONGEST_LINE = 10_000_000, 200_000
_PIECE = 1 << 20


class FileActError(NeardupError):
    """A file can't be moved, linked or put back: why, in a sentence without its name."""


@dataclass(frozen=True, slots=True)
class FileAct:
    """One act on a file of a document: `path` is moved to `target`, or replaced by a link to it.

    `id` is the document's, `sha256` and `size` are those of the file's bytes, `mode` and `modified_ns` as they were.
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
    def spare(self) -> str:
        """The name beside the file under which a link or a copy is made before it takes the file's place."""
        name = hashlib.sha256(f"{self.path}\0{self.target}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return os.path.join(os.path.dirname(self.path), f".neardup-{name}.part")


def checked_bytes(path: str) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file to which no symbolic link leads; FileActError says why there are none."""
    try:
        if os.path.realpath(path) != path:
            raise FileActError("a symbolic link leads to it, and none is followed")
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileActError("it is no regular file")
            if _is_open_elsewhere(file):
                raise FileActError("another program has it open")
            return file.read(), status
    except OSError as error:
        raise FileActError(f"it can't be read: {error.strerror}") from None


def _is_open_elsewhere(file: IO[bytes]) -> bool:
    """True if another program is known to have a file open; only Linux tells."""
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
    """The SHA-256 of bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def has_bytes(path: str, sha256: str) -> bool:
    """True if a regular file stands at a path, without links on the way, that holds these bytes."""
    with suppress(FileActError):
        return digest_of(checked_bytes(path)[0]) == sha256
    return False


class ActList:
    """A list of acts that is written as they are done, one JSON object a line; a context manager.

    The file is made, and never one that is there: UsageError.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            shown = printable_path(path)
            raise UsageError(f"{shown}: the list of what is done can't be made here: {error.strerror}") from None
        self._file = os.fdopen(descriptor, "wb")
        self._write({"form": FORM})

    def begin(self, act: FileAct) -> None:
        """Write an act that is about to be done; it is on the disk when this comes back."""
        self._write(asdict(act))

    def _write(self, value: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def read_acts(path: str | os.PathLike[str]) -> list[FileAct]:
    """The acts in a list; a last line that a kill cut off is left out. UsageError for what is no list."""
    name = printable_path(os.fspath(path))
    try:
        with open(path, "rb") as file:
            lines = file.read(_LONGEST_LINE * 1000).split(b"\n")
    except OSError as error:
        raise UsageError(f"{name}: the list can't be read: {error.strerror}") from None
    # What follows the last end of a line was not written whole, and so nothing was done by it.
    acts = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            value = json.loads(line)
            if number == 1:
                if value != {"form": FORM}:
                    raise ValueError("the first line is another one")
                continue
            acts.append(_act(value))
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError(f"{name}:{number}: no list of acts that neardup has written: {error}") from None
    if not lines[:-1]:
        raise UsageError(f"{name}: no list of acts that neardup has written")
    return acts


def _act(value: Any) -> FileAct:
    kinds = {"mode": int, "size": int, "modified_ns": int}
    act = FileAct(**value)
    for name, held in value.items():
        if type(held) is not kinds.get(name, str):
            raise ValueError(f"{name} is no {kinds.get(name, str).__name__}")
    if act.act not in ("move", "hard", "symbolic") or not os.path.isabs(act.path) or not os.path.isabs(act.target):
        raise ValueError("an act of another kind, or a path that is not absolute")
    return act


def do_act(act: FileAct) -> None:
    """Move a file, or put a link in its place. FileActError says why it could not be done; the file then stands."""
    try:
        if act.act == "move":
            os.makedirs(os.path.dirname(act.target), exist_ok=True)
            _moved(act.path, act.target, act)
        else:
            _linked(act)
    except OSError as error:
        raise FileActError(_sentence(error, act)) from None


def _sentence(error: OSError, act: FileAct) -> str:
    if isinstance(error, FileExistsError):
        place = act.target if act.act == "move" else act.spare
        return f"there is something at {place} already, and nothing is overwritten"
    if isinstance(error, PermissionError):
        return f"this user may not change the folder: {error.strerror}"
    return f"{error.strerror}" + (" (a hard link can't lead to another file system)" if act.act == "hard" else "")


def _moved(path: str, target: str, act: FileAct) -> None:
    """Move a file to where nothing is: it has both names for a moment, or a copy that was compared."""
    if os.path.realpath(os.path.dirname(target)) != os.path.dirname(target):
        raise FileActError("a symbolic link leads to where it would go, and none is followed")
    try:
        os.link(path, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # Another file system, or one without hard links.
        _copied(path, target, act)
    _synced(os.path.dirname(target))
    try:
        os.unlink(path)
    except OSError:
        # Its folder may not be changed, so it keeps the name that it had.
        if has_bytes(path, act.sha256):
            os.unlink(target)
        raise
    _synced(os.path.dirname(path))


def _copied(path: str, target: str, act: FileAct) -> None:
    data, _ = checked_bytes(path)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), stat.S_IMODE(act.mode))
        os.fsync(file.fileno())
    os.utime(target, ns=(act.modified_ns, act.modified_ns), follow_symlinks=False)
    if not has_bytes(target, act.sha256):
        raise FileActError("its copy is not what was read, so it stays")


def _linked(act: FileAct) -> None:
    """Put a link in the place of a file whose bytes the target has, in one step."""
    if act.act == "hard":
        os.link(act.target, act.spare, follow_symlinks=False)
    else:
        os.symlink(os.path.relpath(act.target, os.path.dirname(act.path)), act.spare)
    try:
        # Read once more, right before it goes.
        if not (has_bytes(act.path, act.sha256) and has_bytes(act.target, act.sha256)):
            raise FileActError("it, or the file that is kept, has changed at this moment")
        os.replace(act.spare, act.path)
    except BaseException:
        with suppress(OSError):
            os.unlink(act.spare)
        raise
    _synced(os.path.dirname(act.path))


def _synced(folder: str) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def undo_act(act: FileAct, *, dry_run: bool = False) -> bool:
    """Take an act back; False where it was not done, or was taken back. FileActError says why it can't be."""
    try:
        return _unmoved(act, dry_run) if act.act == "move" else _unlinked(act, dry_run)
    except OSError as error:
        raise FileActError(f"it can't be put back: {error.strerror}") from None


def _unmoved(act: FileAct, dry_run: bool) -> bool:
    there, moved = os.path.lexists(act.path), os.path.lexists(act.target)
    if there:
        if moved and has_bytes(act.path, act.sha256) and has_bytes(act.target, act.sha256):
            # It was stopped between the two names, or after the copy.
            if not dry_run:
                os.unlink(act.target)
            return False
        if moved:
            raise FileActError(f"something else stands at {act.path}, so {act.target} is left where it is")
        return False
    if not moved:
        raise FileActError(f"it is neither at {act.path} nor at {act.target}")
    if not has_bytes(act.target, act.sha256):
        raise FileActError(f"{act.target} has changed since it was moved, so it is left where it is")
    if not dry_run:
        os.makedirs(os.path.dirname(act.path), exist_ok=True)
        _moved(act.target, act.path, act)
        _remove_empty(os.path.dirname(act.target), os.path.dirname(act.path))
    return True


def _remove_empty(folder: str, like: str) -> None:
    """Remove a folder that was made for moved files, and those above it, as far as they are empty and called alike."""
    while os.path.basename(folder) == os.path.basename(like) != "":
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder, like = os.path.dirname(folder), os.path.dirname(like)


def _unlinked(act: FileAct, dry_run: bool) -> bool:
    if not dry_run and os.path.lexists(act.spare):
        os.unlink(act.spare)
    if not _is_link(act):
        if has_bytes(act.path, act.sha256):
            return False
        raise FileActError("it is no longer the link that was made, so it is left as it is")
    if not has_bytes(act.target, act.sha256):
        raise FileActError(f"{act.target} has changed since the link was made, so the link is left")
    if not dry_run:
        _copied(act.target, act.spare, act)
        os.replace(act.spare, act.path)
        _synced(os.path.dirname(act.path))
    return True


def _is_link(act: FileAct) -> bool:
    """True if the link that was made still stands."""
    try:
        if act.act == "symbolic":
            return os.readlink(act.path) == os.path.relpath(act.target, os.path.dirname(act.path))
        own, other = os.lstat(act.path), os.lstat(act.target)
        return (own.st_ino, own.st_dev) == (other.st_ino, other.st_dev)
    except OSError:
        return False


def target_of(path: str, folder: str, base: str) -> str:
    """The place in a folder for a file: by its path below `base`, else by its whole path."""
    below = os.path.relpath(path, base) if base and path.startswith(os.path.join(base, "")) else path.lstrip(os.sep)
    return str(Path(folder, below))
