"""Output of commands, with nothing for a terminal to obey."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer.cli.config import DEFAULT_STORE
from indexer.errors import ExtractionError, UsageError
from indexer.model.declared import as_json
from indexer.text import visible
from indexer.text.counts import counted
from indexer.text.hiding import shown_name, without_credentials
from indexer.text.remarks import Level, in_json, remark

if TYPE_CHECKING:
    from indexer.library.opening import RunProgress
    from indexer.library.rows import RowFormat

printable = visible.printable
# Cells of a terminal: between two columns, and what a column has at least.
_BETWEEN = 2
_LEAST_CELL = 12
# Seconds between two lines about how far a run is.
_MINUTE = 60.0
# A store's path or URL as it may be printed.
shown_store = shown_name


_named: ContextVar[str] = ContextVar("named", default=DEFAULT_STORE)
# A sentence ends a hint, and so does what encloses it.
_HINT = re.compile(
    r"\bneardup (?:annotate|cluster|corpus|doctor|evaluate|failures|index|prune|report|schemes|setup|show|stats)\b"
    r"(?![^;:()`]*--store)(?! of| --help)"
)


def name_store(store: str) -> None:
    _named.set(store)


def with_store(text: str) -> str:
    store = _named.get()
    if store == DEFAULT_STORE:
        return text
    option = f" --store {shlex.quote(shown_name(store))}"
    return _HINT.sub(lambda hint: hint[0] + option, text)


def say(text: str, *, level: Level = "info", **fields: object) -> None:
    remark(with_store(without_credentials(text)), level=level, **fields)


@contextmanager
def told_each_minute(counts: RunProgress, doing: str) -> Iterator[None]:
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(_MINUTE):
            done, total, failed = counts.done, counts.total, counts.failures
            of = f" of {total:,}" if total else ""
            say(f"{doing}: {done:,}{of} documents, {failed:,} failed", done=done, total=total, failed=failed)

    thread = threading.Thread(target=tell, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def can_ask() -> bool:
    return sys.stdin.isatty() and not in_json()


def confirm(question: str, otherwise: str) -> None:
    """Ask a question, and stop unless the answer is yes. Raises UsageError, saying `otherwise`, if nobody is there."""
    if not can_ask():
        raise UsageError(otherwise)
    click.confirm(question, abort=True, err=True)


def about(error: BaseException) -> dict[str, object]:
    reason = {"reason": error.reason} if isinstance(error, ExtractionError) else {}
    return {"error": type(error).__name__, **reason}


def answer(text: str) -> None:
    click.echo(printable(text))


def answer_json(value: Any) -> None:
    click.echo(json.dumps(as_json(value)))


def fields(pairs: Iterable[tuple[str, object]]) -> None:
    rows = [(printable(name), str(value)) for name, value in pairs if value not in ("", None)]
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {printable(value)}")


def counts(lines: Iterable[tuple[str, int | None, str]], remarked: str = "") -> None:
    """Print counts, without those that are None; a remark goes with a count above 0, and with `remarked`."""
    for name, count, said in lines:
        if count is not None:
            shown = f"  {printable(said)}" if said and (count or name == remarked) else ""
            click.echo(f"{name:<13} {count:>9,}{shown}")


def html_line(counts: Mapping[str, int], of: int) -> tuple[str, int | None, str]:
    """The line of a summary about HTML in fields that were read as text."""
    named = ", ".join(counts)
    return "HTML as text", sum(counts.values()) or None, f"of {of:,}, in {named}; its tags are words; see --format auto"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    from rich.cells import cell_len, set_cell_size

    lines: list[list[str]] = [list(columns), *([printable(cell) for cell in row] for row in rows)]
    if sys.stdout.isatty():
        fitted = fitting(lines, shutil.get_terminal_size().columns)
        if fitted is None:
            _paragraphs(columns, lines[1:])
            return
        lines = [list(columns), *fitted[1:]]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (
            " " * (width - cell_len(cell)) + cell if column in right else set_cell_size(cell, width)
            for column, cell, width in zip(columns, line, widths, strict=True)
        )
        click.echo((" " * _BETWEEN).join(padded).rstrip())


def _paragraphs(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for first, *others in rows:
        named = (f"{column} {cell}" for column, cell in zip(columns[1:], others, strict=True) if cell)
        click.echo(first)
        click.echo("    " + "  ".join(named))


def fitting(rows: Sequence[Sequence[str]], width: int) -> list[list[str]] | None:
    from rich.cells import cell_len

    columns = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    least = [min(whole, max(_LEAST_CELL, cell_len(column[0]))) for whole, column in zip(widths, columns, strict=True)]
    room = width - _BETWEEN * (len(widths) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda place: (widths[place] > least[place], widths[place]))
        widths[widest] -= 1
    return [[cut_to(cell, most) for cell, most in zip(row, widths, strict=True)] for row in rows]


def cut_to(text: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    # What tells names of one folder apart stands at their end.
    tail = width // 2
    end = set_cell_size(text[::-1], tail)[::-1]
    return set_cell_size(text, width - 1 - tail).rstrip() + "…" + end.lstrip()


def size(number: int) -> str:
    if number < 1000:
        return counted(number, "byte")
    value = float(number)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 1000:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:.1f} TB"


Row = TypeVar("Row")


def written_rows(rows: Iterable[Row], kind: type[Row], form: RowFormat, output: str | None) -> int:
    """Write records of a kind to a file, or to standard output for None; returns how many.

    Raises UsageError if a file can't be written, and for Parquet without pyarrow or on a terminal.
    """
    from indexer.library.rows import save, write

    if output is not None:
        return save(rows, kind, output, form)
    if form == "parquet" and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal; name a file with -o")
    return write(rows, kind, sys.stdout.buffer if form == "parquet" else sys.stdout, form)
