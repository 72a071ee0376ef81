"""Remarks on standard error: sentences, or JSON lines."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from indexer.text.visible import printable

Level: TypeAlias = Literal["info", "warning", "error"]

_form: dict[str, bool] = {"json": False}
# What every line says in JSON: by which command, of which store.
_always: dict[str, object] = {}


def remark(text: str, *, level: Level = "info", **fields: object) -> None:
    message = printable(text)
    if _form["json"]:
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": moment, "level": level, "message": message, **_always, **fields})
    else:
        line = f"neardup: {message}"
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def in_json() -> bool:
    return _form["json"]


def note(**fields: object) -> None:
    _always.update(fields)


@contextmanager
def spoken(*, as_json: bool) -> Iterator[None]:
    """Remarks in this form; warnings of libraries are shown only on request (Python's -W)."""
    before, shown = _form["json"], warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], *_place: object) -> None:
        if sys.warnoptions:
            remark(f"{category.__name__}: {message}", level="warning", warning=category.__name__)

    _form["json"] = as_json
    _always.clear()
    warnings.showwarning = tell  # type: ignore[assignment] # it takes the place too
    try:
        yield
    finally:
        _form["json"], warnings.showwarning = before, shown
        _always.clear()
