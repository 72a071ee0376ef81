"""Settings from a file, in the order flags > environment > file > default."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from indexer.errors import UsageError

CONFIG_NAME = "neardup.toml"
ENVIRONMENT_PREFIX = "NEARDUP"
DEFAULT_STORE = "collection.neardup"


def load_settings(path: Path | None) -> tuple[Mapping[str, Any], Path | None]:
    """The settings file's content and its path: the named file, else ./neardup.toml, else nothing.

    Raises UsageError if a named file is absent, and for a file that can't be read or is no TOML.
    """
    if path is None:
        path = Path(CONFIG_NAME)
        if not path.exists():
            return {}, None
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), path
    except OSError as error:
        raise UsageError(f"{path}: the settings file can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error


# The settings that a command knows, and whether each takes several values, None for an option that is given on the
# command line alone; or the commands of a command.
KnownOptions = Mapping[str, "bool | KnownOptions | None"]


def command_defaults(settings: Mapping[str, Any], known: KnownOptions, path: Path | None) -> dict[str, Any]:
    """Default values for each command, and for those of a command of commands in a dict of their own.

    `settings` are those of a file. A key at the top holds for every command with this option, one in the table of a
    command for that command ([batch]: for its commands, [batch.sketch]: for that one), and the nearest one wins. Raises
    UsageError, with the key and the file, for an unknown key or table, and for an option of the command line alone.
    """
    return _defaults(settings, known, {}, f"{path}: ", "")


def _defaults(
    table: Mapping[str, Any], known: KnownOptions, above: Mapping[str, Any], file: str, name: str
) -> dict[str, Any]:
    commands = {key: each for key, each in known.items() if isinstance(each, Mapping)}
    own, refused, inside = _names(known), _names(known, refused=True), f" in [{name}]" if name else ""
    here = dict(above)
    for key, value in table.items():
        if not isinstance(value, Mapping):
            if key in refused - own:
                raise UsageError(f"{file}{key!r}{inside} is not a setting: it is given on the command line alone")
            _require_known(key, own, f"{file}unknown setting {key!r}{inside}")
            here[key] = value
        elif commands:
            _require_known(key, commands, f"{file}unknown table [{_joined(name, key)}]")
        else:
            _require_known(key, own, f"{file}unknown setting {key!r}{inside}")
            raise UsageError(f"{file}{key!r}{inside} takes a value, not a table")
    if not commands:
        return _values({key: value for key, value in here.items() if key in own}, known, file)
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    return {key: _defaults(tables.get(key, {}), each, here, file, _joined(name, key)) for key, each in commands.items()}


def _joined(*names: str) -> str:
    return ".".join(filter(None, names))


def _names(known: KnownOptions, *, refused: bool = False) -> set[str]:
    inner = [
        _names(each, refused=refused) if isinstance(each, Mapping) else {key} if (each is None) is refused else set()
        for key, each in known.items()
    ]
    return set().union(*inner)


def _values(chosen: Mapping[str, Any], several: KnownOptions, file: str) -> dict[str, Any]:
    for key, value in chosen.items():
        if isinstance(value, list) and not several[key]:
            raise UsageError(f"{file}{key!r} takes one value, not a list")
    # One value alone stands for a list of one; click would take a string for a list of its letters.
    return {
        key.replace("-", "_"): [value] if several[key] and isinstance(value, str) else value
        for key, value in chosen.items()
    }


def _require_known(key: str, known: Collection[str], problem: str) -> None:
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(sorted(known))}"
        raise UsageError(problem + hint)
