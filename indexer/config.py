"""Settings from a file, in the order flags > environment > file > default; the command passes them to click."""

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
    """The settings file's content and its path: the file named, else ./neardup.toml, else nothing.

    Raises UsageError where a named file is absent, and where a file can't be read or is no TOML.
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


def command_defaults(
    settings: Mapping[str, Any], options: Mapping[str, Mapping[str, bool]], path: Path | None
) -> dict[str, dict[str, Any]]:
    """Default values for each command, from a settings file.

    `options` names the settings that each command knows, and says which of them take several values. A key at the top
    of the file holds for every command that knows it, one in the table of a command for that command, and the nearer
    one wins. Raises UsageError, which names the key and the file, for a key or table that no command knows.
    """
    shared = {key: value for key, value in settings.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in settings.items() if isinstance(value, Mapping)}
    everywhere = {name for names in options.values() for name in names}
    for key in shared:
        _require_known(key, everywhere, f"{path}: unknown setting {key!r}")
    for command, table in tables.items():
        _require_known(command, options, f"{path}: unknown table [{command}]")
        for key in table:
            _require_known(key, options[command], f"{path}: unknown setting {key!r} in [{command}]")
            if isinstance(table[key], Mapping):
                raise UsageError(f"{path}: {key!r} in [{command}] takes a value, not a table")
    defaults: dict[str, dict[str, Any]] = {}
    for command, several in options.items():
        chosen = {key: value for key, value in shared.items() if key in several} | dict(tables.get(command, {}))
        for key, value in chosen.items():
            if isinstance(value, list) and not several[key]:
                raise UsageError(f"{path}: {key!r} takes one value, not a list")
        # One value alone stands for a list of one; click would take a string for a list of its letters.
        defaults[command] = {
            key.replace("-", "_"): [value] if several[key] and isinstance(value, str) else value
            for key, value in chosen.items()
        }
    return defaults


def _require_known(key: str, known: Collection[str], problem: str) -> None:
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(sorted(known))}"
        raise UsageError(problem + hint)
