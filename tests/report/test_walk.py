"""A collection from index to undo, as somebody goes about it who decides in a browser by the mouse and by keys."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.cli.command import Neardup, write
from tests.cli.written import html, prose
from tests.report.browsing import used_page


def _digests(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def test_decided_in_a_browser_carried_out_taken_back_and_remembered(tmp_path: Path) -> None:
    letter = f"On {{}} the library lent this book to {{}}. {prose(2)}"
    write(
        tmp_path,
        {
            "in/docs/a.html": html(prose(1), title="Tea"),
            "in/docs/copy/a.html": html(prose(1), title="Tea"),
            "in/docs/copy/b.txt": prose(1).upper(),
            "in/docs/letter-1.txt": letter.format("7 May 2021", "Anna Hale"),
            "in/docs/letter-2.txt": letter.format("9 June 2022", "Boris Lind"),
        },
    )
    before = _digests(tmp_path / "in")
    neardup = Neardup(tmp_path)
    neardup("index", "in")
    neardup("cluster")
    neardup("report", "-o", "report.html")
    with used_page(tmp_path) as page:
        page.open(tmp_path / "report.html")
        page.click("nav a[href='#decide']")
        assert page.ask("document.querySelectorAll('#decide-list article').length") == 2
        # One goes by a key, and one by the mouse.
        page.click("#decide-list article li.document .facts")
        for key in ("k", "ArrowDown", "d", "ArrowDown"):
            page.press(key)
        page.click("#decide-list article li.document:nth-of-type(3) button[data-choice=drop]")
        page.click("#decide-list article:nth-of-type(2) .head button:nth-of-type(2)")
        page.reload()
        assert page.ask("document.getElementById('decide-status').textContent") == "2 of 2 clusters decided"
        page.click("#decide-save")
        decisions = page.saved("decisions.json")
    asked = ("prune", "--decisions", decisions, "--move-to", "away")
    assert "2 files" in neardup(*asked, "--dry-run").err
    assert _digests(tmp_path / "in") == before
    neardup(*asked, "--yes", "--list", "moved.jsonl")
    assert {Path(path).name for path in _digests(tmp_path / "in")} == {"a.html", "letter-1.txt", "letter-2.txt"}
    neardup("undo", "moved.jsonl", "--yes")
    assert _digests(tmp_path / "in") == before
    assert neardup("decisions", decisions, "--json").json["kept"] == 2
    neardup("cluster")
    [cluster] = neardup("report", "--format", "json").json["largest"]
    assert not any("letter" in member["id"] for member in cluster["members"])
    assert cluster["size"] == 3
    assert neardup("prune", "--decisions", decisions, "--delete", "--yes", "--json").out
    assert neardup("stats", "--json").json["documents"] == 3
