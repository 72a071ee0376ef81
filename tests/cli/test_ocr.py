"""Scans among other files: counted where they are not read, read where that is asked for, and not read twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import ExtractionError, UsageError
from indexer.extract.ocr import tesseract
from indexer.ingest.rereading import StoredTexts
from indexer.library.opening import open_store
from indexer.model import Ref
from tests.cli.command import Neardup
from tests.extract.made_pdf import make_pdf
from tests.extract.made_scans import BRIDGE, HARVEST, image, joined, needs_tesseract

TYPED = "This page has a text of its own, which needs nobody to look at its picture again."


@pytest.fixture
def scans(neardup: Neardup, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a text, a scan of it, an image of it, and a PDF of which one page is a scan."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(neardup.folder / "cache"))
    folder = neardup.folder / "docs"
    folder.mkdir()
    (folder / "typed.txt").write_text(BRIDGE)
    (folder / "scan.pdf").write_bytes(image("PDF", BRIDGE))
    (folder / "photo.jpg").write_bytes(image("JPEG", BRIDGE))
    (folder / "mixed.pdf").write_bytes(joined(make_pdf([[TYPED]], numbered=False), image("PDF", HARVEST)))
    return folder


def test_scans_that_are_not_read_are_counted(neardup: Neardup, scans: Path) -> None:
    done = neardup("index", "docs", "--json").json
    assert (done["indexed"], done["empty"], done["scanned"], done["left_out"]) == (3, 1, 2, 1)
    said = neardup("index", "docs/photo.jpg", f"{scans}/scan.pdf", "--retry-failed").out
    assert "needs-ocr 1" in said
    assert "apt install tesseract-ocr" in said


def test_what_is_missing_is_named(neardup: Neardup) -> None:
    (neardup.folder / "sitecustomize.py").write_text("import sys; sys.modules['PIL'] = None")
    assert neardup("ocr", "--json").json["pillow"]
    hidden = {"PYTHONPATH": str(neardup.folder)}
    said = neardup("ocr", **hidden).out
    assert (
        "Pillow     not installed; OCR needs tesseract (Debian and Ubuntu: apt install tesseract-ocr) and Pillow"
        in said
    )
    assert neardup("ocr", "--json", **hidden).json["pillow"] is False


@needs_tesseract
def test_what_was_left_out_is_read_later_and_once(neardup: Neardup, scans: Path) -> None:
    neardup("index", "docs", "docs/photo.jpg")
    asked = ["index", "docs", "--ocr", "eng", "--json"]
    done = neardup(*asked).json
    # The image had failed, and the two PDFs lacked pages.
    assert (done["indexed"], done["replaced"], done["unchanged"], done["scanned"], done["failed"]) == (1, 2, 1, 0, {})
    near = neardup("similar", "docs/typed.txt", "--json").json["matches"]
    assert {match["id"] for match in near} == {"docs/scan.pdf", "docs/photo.jpg"}
    assert "tesseract" in neardup("show", "docs/mixed.pdf").out
    answers = neardup("similar", "docs", "--ocr", "eng", "--json").lines
    assert any(answer["query"]["name"].endswith("photo.jpg") for answer in answers)
    # Neither another run nor one without OCR reads anything again, or forgets it.
    assert neardup(*asked).json["unchanged"] == 4
    assert neardup("index", "docs", "--json").json["unchanged"] == 3
    assert neardup("compare", "id:docs/photo.jpg", "docs/typed.txt", "--json").json["relation"]
    assert neardup("ocr", "--json").json["documents"] == 3
    assert neardup("ocr", "--clear", "--json").json["removed"] == 3
    refused = neardup("index", "docs", "--ocr", "xyz", code=UsageError.exit_code)
    assert "tesseract has no data for xyz" in refused.err


@needs_tesseract
def test_scanned_documents_are_a_kind_of_their_own(neardup: Neardup, scans: Path) -> None:
    # Equal bytes are read once.
    for number in range(13):
        for name in ("scan.pdf", "photo.jpg"):
            (scans / f"{number}-{name}").write_bytes((scans / name).read_bytes())
        for name in ("typed.txt", "mixed.pdf"):
            (scans / f"{number}-{name}").write_bytes((scans / name).read_bytes())
    (scans / "long.pdf").write_bytes(joined(make_pdf([[TYPED] * 100], numbered=False), image("PDF", HARVEST)))
    neardup("index", "docs", "--ocr", "eng")
    [kind] = [each for each in neardup("doctor", "--json", code=7).json["findings"] if each["check"] == "kind"]
    assert "of 57 documents looked at, 42 are scans, of 42 pages that OCR read" in kind["says"]
    assert kind["advice"].endswith("--kind scans")
    fits = "the kind scans fits better than documents: of 57 documents looked at, 42 are scans"
    assert fits in neardup("evaluate", "--match", "minhash").out
    assert fits in neardup("evaluate", "--documents", "docs", "--ocr", "eng", "--match", "minhash").out


@needs_tesseract
def test_a_batch_reads_scans_too(neardup: Neardup, scans: Path) -> None:
    done = neardup("batch", "dedupe", "docs", "--out", "kept", "--ocr", "eng", "--json").json
    assert (done["documents"], done["kept"]) == (4, 2)


@needs_tesseract
def test_a_scan_can_not_be_read_again_where_there_is_no_tesseract(
    neardup: Neardup, scans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neardup("index", "docs", "--ocr", "eng", "--store", "s.neardup")
    with open_store(f"{neardup.folder}/s.neardup", read_only=True) as store:
        [typed, scan] = store.get([Ref("docs/typed.txt"), Ref("docs/scan.pdf")])
        assert typed
        assert scan
        assert "committee" in StoredTexts(store).of(scan)
        monkeypatch.setenv("PATH", "/nonexistent")
        tesseract.installed_languages.cache_clear()
        with pytest.raises(ExtractionError, match="needs tesseract"):
            StoredTexts(store).of(scan)
        assert StoredTexts(store).of(typed) == BRIDGE
    tesseract.installed_languages.cache_clear()
