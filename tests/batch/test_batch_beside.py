"""Documents with equal texts that differ in what stands beside these: none of them goes from a batch."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from shutil import rmtree

import pytest

import indexer
from indexer.batch.clusters.clustering import cluster
from indexer.batch.form import Form
from indexer.extract.ocr import tesseract
from tests.batch.batched import MINHASH, sketched
from tests.batch.beside import BESIDE, decided, letter, mail, options, page, row, written
from tests.cli.written import prose
from tests.extract.made_scans import needs_tesseract

KINDS = [("pdf", page), ("docx", letter), ("eml", mail), ("jsonl", row)]


@pytest.mark.parametrize(("ending", "made"), KINDS, ids=[kind for kind, _ in KINDS])
def test_what_differs_beside_the_text_stays(ending: str, made: Callable[[str], bytes], tmp_path: Path) -> None:
    given, out = written(tmp_path / "in", ending, made), tmp_path / "out"
    sketched(given, out, Form((MINHASH,)), id_from="relative")
    said = cluster(str(out), str(out), options())
    found = decided(out)
    assert (said["removed"], said["relations"]) == (1, {"identical": 1})
    named = {"eml": "subject", "jsonl": "title"}.get(ending)
    told = f"1 fact differs: {named} Invoice for the mill / Invoice for the quay" if named else BESIDE
    assert found["c"] == (True, "form", told)


@needs_tesseract
def test_without_the_tools_of_the_sketches_digests_tell_and_the_rest_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, out = written(tmp_path / "in", "docx", letter), tmp_path / "out"
    sketched(given, out, Form((MINHASH,), ocr="eng"), id_from="relative")
    monkeypatch.setattr(tesseract, "installed_languages", tuple)
    assert cluster(str(out), str(out), options())["removed"] == 1
    found = decided(out)
    assert (found["b"][:2], found["c"][:2]) == ((False, "identical"), (True, None))
    assert "tesseract" in str(found["c"][2])


@pytest.mark.parametrize(("ending", "made"), KINDS, ids=[kind for kind, _ in KINDS])
def test_what_differs_beside_the_text_is_not_left_out(
    ending: str, made: Callable[[str], bytes], tmp_path: Path
) -> None:
    given = written(tmp_path / "in", ending, made)
    with indexer.open(tmp_path / "a.neardup") as store:
        came = store.index(given, id_from="relative", skip_duplicates=True)
        assert (came.indexed, came.duplicates) == (2, 1)


BODY = f"Flats by the sea. {prose(4)}"
TITLES = [
    ("Flat at the harbour", "Flat at the mill", True),
    ("Flat at the harbour", "flat  at the Harbour", False),
    ("Flat at the harbour", "", False),
    ("Flat at the harbour | Flats by the sea", "Flat at the harbour", False),
    ("Flats by the sea", "Flat at the mill", False),
    ("Flat at the harbour", "Flat at the harbour - second edition", True),
]


@pytest.mark.parametrize(("one", "other", "stays"), TITLES)
def test_titles_decide_alike_in_stores_batches_and_answers(one: str, other: str, stays: bool, tmp_path: Path) -> None:
    rows = [{"id": name, "title": title, "text": BODY} for name, title in (("a", one), ("b", other))]
    given = tmp_path / "in" / "rows.jsonl"
    given.parent.mkdir()
    given.write_text("".join(json.dumps(each) + "\n" for each in rows))
    sketched(given.parent, tmp_path / "out", Form((MINHASH,)))
    cluster(str(tmp_path / "out"), str(tmp_path / "out"), options())
    with indexer.open(tmp_path / "a.neardup") as store:
        store.index(given)
        store.cluster()
        compared, differs = store.compare("a", "b"), store.diff("a", "b")
        removed = [each for each in store.prune(dry_run=True).surplus if not each.kept]
    with indexer.open(tmp_path / "b.neardup") as store:
        came = store.index(given, skip_duplicates=True)
    _, relation, evidence = decided(tmp_path / "out")["b"]
    assert {compared.relation, differs.relation} == {relation}
    assert (relation == "form") == stays
    assert stays == (came.indexed == 2) == (not removed) == decided(tmp_path / "out")["b"][0]
    if stays:
        assert evidence == f"1 fact differs: title {other} / {one}"
        assert compared.evidence == differs.evidence == f"1 fact differs: title {one} / {other}"


def test_what_stands_in_the_titles_of_many_pages_says_nothing(tmp_path: Path) -> None:
    rows = [
        {"id": f"{site}{page}", "title": f"Page {page} | {site} news", "text": f"Page {page}. {prose(page)}"}
        for page in range(12)
        for site in ("Quay", "Mill")
    ]
    given = tmp_path / "rows.jsonl"
    given.write_text("".join(json.dumps(each) + "\n" for each in rows))
    with indexer.open(tmp_path / "a.neardup") as store:
        store.index(given)
        assert store.cluster().relations == {"reflowed": 12}


def test_copies_of_a_text_are_deleted_and_what_differs_beside_it_is_shown(tmp_path: Path) -> None:
    rows = [
        {"id": name, "title": title, "text": BODY} for name, title in zip("abc", ("Quay", "Quay", "Mill"), strict=True)
    ]
    rows.append({"id": "d", "title": "Quay", "text": BODY.replace("by", "10⁶", 1)})
    rows.append({"id": "e", "title": "Quay", "text": BODY.replace("by", "106", 1)})
    given = tmp_path / "rows.jsonl"
    given.write_text("".join(json.dumps(each) + "\n" for each in rows))
    with indexer.open(tmp_path / "a.neardup") as store:
        store.index(given)
        listed = store.delete_copies("a", dry_run=True).documents
        assert [(each.id, each.identical, each.evidence) for each in listed] == [
            ("a", True, ""), ("b", True, ""), ("c", False, "1 fact differs: title Mill / Quay"),
        ]  # fmt: skip
        assert [each.id for each in store.delete_copies("d", dry_run=True).documents] == ["d"]
        assert store.delete_copies("a").deleted == 3


MENUS = ("<nav><a href='/a'>Home</a> <a href='/b'>Basket</a></nav>", "<nav><a href='/c'>Sign in</a></nav>")
ORDER = ('<input name="quantity" value="12">', '<input name="quantity" value="21">')


def pages(folder: Path) -> Path:
    """Pages with equal texts or misread ones, and other menus, titles and form values."""
    clean = prose(4, 120).split()
    dirty = [f"{word[:2]}{word[3]}{word[2]}{word[4:]}" if at % 25 == 0 else word
             for at, word in enumerate(clean)]  # fmt: skip
    folder.mkdir()
    for number, (text, menu, title, order) in enumerate(
        product((dirty, clean), MENUS, ("", "Spring orders", "Autumn orders"), ("", *ORDER))
    ):
        body = f"{menu}<main><p>{' '.join(text)}</p><form>{order}</form></main>"
        (folder / f"{number:02}.html").write_text(f"<title>{title}</title><body>{body}</body>")
    return folder


def test_pages_in_other_menus_are_decided_as_in_a_store_and_need_no_text(tmp_path: Path) -> None:
    given, out = pages(tmp_path / "in"), tmp_path / "out"
    sketched(given, out, Form((MINHASH,)), id_from="relative")
    said = cluster(str(out), str(out), options())
    with indexer.open(tmp_path / "a.neardup") as store:
        store.index(given, id_from="relative")
        store.cluster()
        gone = {each.id: each.relation for each in store.prune(dry_run=True).surplus if not each.kept}
    found = decided(out)
    assert {f"{name}.html": relation for name, (keep, relation, _) in found.items() if not keep} == gone
    assert said["removed"] == len(gone) > 10
    # Those that the digests decide on go without their texts.
    rmtree(given)
    again = cluster(str(out), str(out), replace(options(), stale="keep"))
    assert (again["relations"], said["relations"].keys()) == ({"reflowed": 30}, {"noise", "reflowed"})
