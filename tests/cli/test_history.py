"""`neardup history` over files, as a user sees it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import indexer
from indexer.clustering.decision_file import FORM
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


def test_older_versions_go_for_the_latest_where_the_order_is_known(neardup: Neardup) -> None:
    text = prose(1)
    files = {f"docs/{number}/a.txt": f"{text} It has now {number} pages." for number in ("1.9", "1.10", "2.0")}
    # One that says nothing of its place in time, and reports of two days.
    files |= {"copy.txt": text, "day-2024-05-06.txt": f"{text} Six.", "day-2024-05-07.txt": f"{text} Seven."}
    write(neardup.folder, files)
    neardup("index", "docs", *list(files)[3:])
    neardup("cluster")
    assert "goes with" in neardup("prune", "--older-versions", code=2).err
    assert "does nothing with" in neardup("prune", "--older-versions", "--dry-run", "--parts", code=2).err
    named = neardup("prune", "--older-versions", "--dry-run")
    said = "is older than docs/2.0/a.txt, the latest version; the next one: version"
    assert sorted(named.out.splitlines()) == [
        f"docs/1.10/a.txt  {said} 1.10 < 2.0 in the path",
        f"docs/1.9/a.txt  {said} 1.9 < 1.10 in the path",
    ]
    assert "2 older versions have a later one" in named.err
    assert {row["older"] for row in older(neardup)} == {
        f"version {each} in the path" for each in ("1.10 < 2.0", "1.9 < 1.10")
    }
    assert neardup("prune", "--older-versions", "--delete", "--yes", "--json").json["deleted"] == 2
    assert {"docs/2.0/a.txt", *list(files)[3:]} == set(everything(neardup))


def older(neardup: Neardup) -> list[dict[str, Any]]:
    return neardup("prune", "--older-versions", "--dry-run", "--json").lines


def everything(neardup: Neardup) -> list[str]:
    with indexer.open(neardup.folder / "collection.neardup") as collection:
        return [one.id for one in collection]


def test_the_users_dates_order_versions_that_are_to_go(neardup: Neardup) -> None:
    text = prose(1)
    rows = [
        {"id": name, "url": "https://example.org/a", "text": f"{text} {name.title()}.", "seen": f"202{year}-05-06"}
        for name, year in (("second", 2), ("third", 3), ("first", 1))
    ]
    (neardup.folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    neardup("index", "rows.jsonl")
    neardup("cluster")
    assert neardup("prune", "--older-versions", "--dry-run").out == ""
    neardup("cluster", "--time-field", "seen")
    assert {row["id"]: row["repeats"] for row in older(neardup)} == {"first": "third", "second": "third"}
    [apart] = neardup("report", "--format", "json").json["largest"]
    decided = [
        {"id": one["id"], "digest": neardup("show", one["id"], "--json").json["text_digest"], "choice": "apart"}
        for one in apart["members"]
        if one["id"] != "first"
    ]
    (neardup.folder / "decided.json").write_text(json.dumps({"form": FORM, "clusters": [{"documents": decided}]}))
    neardup("decisions", "decided.json")
    assert {row["id"]: row["kept"] for row in older(neardup)} == {
        "second": "somebody called it not the same",
        "first": "",
    }


def test_files_of_older_versions_are_moved_away_and_put_back(neardup: Neardup) -> None:
    text = prose(1)
    write(neardup.folder, {"docs/v1/a.txt": text, "docs/v2/a.txt": f"{text} And more."})
    neardup("index", "docs")
    neardup("cluster")
    neardup("prune", "--older-versions", "--move-to", "old", "--yes", "--list", "moved.jsonl")
    assert not (neardup.folder / "docs/v1/a.txt").exists()
    assert (neardup.folder / "docs/v2/a.txt").exists()
    neardup("undo", "moved.jsonl", "--yes")
    assert (neardup.folder / "docs/v1/a.txt").read_text() == text
