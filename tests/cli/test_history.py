"""`neardup history` over files, as a user sees it."""

from __future__ import annotations

import pytest

import indexer
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


def latest(neardup: Neardup) -> list[str]:
    """The documents that a search for the latest versions shows."""
    with indexer.open(neardup.folder / "collection.neardup") as collection:
        return sorted(one.id for one in collection if (known := collection.get(one.id)) and known.is_latest)


@pytest.mark.parametrize(
    "gone",
    [
        ("delete", "docs/2.1/a.txt"),
        ("delete", "--copies-of", "docs/2.1/a.txt", "--match", "default", "--yes"),
        ("prune", "--delete", "--yes"),
    ],
)
def test_another_one_is_the_latest_where_the_latest_goes(neardup: Neardup, gone: tuple[str, ...]) -> None:
    text = " ".join(prose(number) for number in range(9))
    pages = {f"docs/{number}/a.txt": f"{text} It has now {number} pages." for number in ("1.9", "1.10")}
    pages["docs/2.1/a.txt"] = pages["docs/1.10/a.txt"] + "\n\n"
    write(neardup.folder, pages | {"far.txt": prose(9)})
    neardup("index", "docs", "far.txt")
    neardup("cluster")
    assert latest(neardup) == ["docs/2.1/a.txt", "far.txt"]
    neardup(*gone)
    left = latest(neardup)
    assert left == ["docs/1.9/a.txt" if "--copies-of" in gone else "docs/1.10/a.txt", "far.txt"]
    neardup("cluster")
    assert latest(neardup) == left


@pytest.mark.parametrize("how", [(), ("--cluster",), ("--skip-duplicates",)])
def test_another_one_is_the_latest_where_the_latest_is_replaced(neardup: Neardup, how: tuple[str, ...]) -> None:
    text = prose(1)
    write(neardup.folder, {f"docs/{number}/a.txt": f"{text} In {number}." for number in ("1.9", "2.0", "2.1")})
    neardup("index", "docs")
    neardup("cluster")
    assert latest(neardup) == ["docs/2.1/a.txt"]
    (neardup.folder / "docs/2.1/a.txt").write_text(prose(7))
    neardup("index", "docs", *how)
    assert latest(neardup) == ["docs/2.0/a.txt", "docs/2.1/a.txt"]
    assert neardup("show", "docs/2.1/a.txt", "--json").json["ordinal"] is None


def test_the_latest_version_is_that_of_what_came_and_what_was_loaded(neardup: Neardup) -> None:
    text = " ".join(prose(number) for number in range(9))
    write(neardup.folder, {f"docs/{number}/a.txt": f"{text} It has now {number} pages." for number in (1.0, 1.1)})
    neardup("index", "docs")
    neardup("cluster")
    write(neardup.folder, {"docs/2.0/a.txt": f"{text} It has now 2.0 pages.", "far.txt": prose(9)})
    neardup("index", "--cluster", "docs", "far.txt")
    came = latest(neardup)
    assert came == ["docs/2.0/a.txt", "far.txt"]
    neardup("batch", "sketch", "docs", "far.txt", "--out", "sketches")
    neardup("batch", "cluster", "sketches", "--out", "sketches")
    neardup("batch", "load", "sketches", "--store", "loaded.neardup")
    with indexer.open(neardup.folder / "loaded.neardup") as collection:
        assert sorted(one.id for one in collection if collection.get(one.id).is_latest) == came
