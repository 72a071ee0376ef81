"""Tables fit a terminal, and are whole in a pipe; what is quiet says only what failed."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from indexer.cli.terminal.output import cut_to, fitting
from tests.cli.command import COMMAND, Neardup, write
from tests.cli.written import changed, prose
from tests.processes import on_terminal
from tests.warm import clean_environment

LONG = "a-name-that-goes-on-and-on-" * 8 + "to-the-end.txt"
cells = st.text(alphabet="ab 日é", max_size=60)


@given(st.text(max_size=80), st.integers(1, 40))
def test_what_is_cut_fits_and_keeps_both_ends(text: str, width: int) -> None:
    cut = cut_to(text, width)
    assert cell_len(cut) <= width
    if cut != text:
        head, _, tail = cut.partition("…")
        assert text.startswith(head)
        assert text.endswith(tail)


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=4)))
def test_a_table_is_as_wide_as_the_terminal_or_none(rows: list[list[str]]) -> None:
    for width in (20, 60, 400):
        found = fitting(rows, width)
        if found is None:
            assert width < sum(max(12, cell_len(name)) + 2 for name in rows[0])
            continue
        widths = [max(map(cell_len, column)) for column in zip(*found, strict=True)]
        assert sum(widths) + 2 * (len(widths) - 1) <= width
        assert found == rows or any("…" in cell for row in found for cell in row)


def on_a_terminal(neardup: Neardup, *arguments: str) -> list[str]:
    """What a command prints on a terminal of 80 columns."""
    environment = {**clean_environment(), "COLUMNS": "80", "NO_COLOR": "1"}
    return on_terminal([*COMMAND, *arguments], "stdout", cwd=neardup.folder, env=environment)[1].splitlines()


def test_a_long_name_is_cut_on_a_terminal_and_whole_in_a_pipe(neardup: Neardup) -> None:
    write(neardup.folder, {LONG: prose(1), "b.txt": changed(prose(1))})
    neardup("index", ".")
    shown = on_a_terminal(neardup, "similar", "b.txt", "--no-relation")
    assert len(shown) == 2
    assert max(map(cell_len, shown)) <= 80
    assert "…" in shown[1]
    assert "to-the-end.txt" in shown[1]
    row = neardup("similar", "b.txt", "--no-relation").out.splitlines()[1]
    assert row.startswith(LONG)
    # The title of a text is its first line, here all of it: of that the beginning is enough.
    [title] = re.findall(r"near +(\S.*) …$", row)
    assert 80 < len(title) <= 100
    assert " ".join(prose(1).split()).startswith(title)


def test_quiet_is_quiet_but_for_what_failed(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1)})
    done = neardup("index", "a.txt", "-q")
    assert (done.out, done.err) == ("", "")
    write(neardup.folder, {"broken.pdf": "%PDF-1.7"})
    done = neardup("index", ".", "--quiet")
    assert done.out == ""
    assert done.err == "neardup: 1 failed (malformed 1); neardup failures lists them\n"
    assert neardup("index", ".", "-q", "--json").json["unchanged"] == 1
