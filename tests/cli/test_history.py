"""`neardup history` over files, as a user sees it."""

from __future__ import annotations

from tests.cli.command import Neardup, write
from tests.cli.written import prose


def test_versions_of_a_page_and_what_each_changed(neardup: Neardup) -> None:
    text = prose(1)
    files = {
        "docs/1.9/a.txt": text,
        "docs/1.10/a.txt": text + " Three more words.",
        "docs/2.0/a.txt": text.replace(text.split()[5], "otherwise", 1) + " Three more words.",
        "copy.txt": text,
        "far.txt": prose(2),
    }
    write(neardup.folder, files)
    neardup("index", "docs", "copy.txt", "far.txt")
    assert "3 documents in a known order" in neardup("cluster").out
    found = neardup("history", "docs/1.10/a.txt", "--json").json
    assert [(one["id"], one["ordinal"], one["is_latest"]) for one in found["versions"]] == [
        ("docs/1.9/a.txt", 1, False),
        ("docs/1.10/a.txt", 2, False),
        ("docs/2.0/a.txt", 3, True),
    ]
    first, second, _ = found["versions"]
    assert (first["change"], first["evidence"]) == (None, "")
    assert second["evidence"] == "version 1.9 < 1.10 in the path"
    assert (second["change"]["added"], second["change"]["removed"]) == (3, 0)
    assert [(one["id"], one["order"]) for one in found["others"]] == [("copy.txt", "unknown")]
    shown = neardup("history", "docs/1.10/a.txt").out
    assert "  2  docs/1.10/a.txt <-\n     version 1.9 < 1.10 in the path\n     0 words removed, 3 added" in shown


def test_what_is_gone_alone_or_newest(neardup: Neardup) -> None:
    text = prose(1)
    write(neardup.folder, {"docs/1.9/a.txt": text, "docs/2.0/a.txt": text + " More.", "far.txt": prose(2)})
    neardup("index", "docs", "far.txt")
    neardup("cluster")
    assert "far.txt is alone" in neardup("history", "far.txt").err
    assert neardup("history", "none.txt", code=5).out == ""
    assert neardup("show", "docs/2.0/a.txt", "--json").json["ordinal"] == 2
    assert neardup("show", "far.txt", "--json").json["is_latest"] is True
    neardup("cluster", "--canonical", "newest")
    assert neardup("show", "docs/2.0/a.txt", "--json").json["cluster"]["is_canonical"]
    (neardup.folder / "docs/2.0/a.txt").unlink()
    assert "not compared: " in neardup("history", "docs/1.9/a.txt").out
    assert "compared" not in neardup("history", "docs/1.9/a.txt", "--no-changes").out
