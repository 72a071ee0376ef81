"""Scanned pages and images, read by tesseract: what is read, what is kept, and what attackers get."""

from __future__ import annotations

import io
import os
import stat
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from indexer.errors import ExtractionError, UsageError
from indexer.extract import Extracted, Failed, Item, Limits, Options, WorkerPool
from indexer.extract.base import NEEDS_OCR
from indexer.extract.document import read_document
from indexer.extract.ocr import kept, pages, tesseract
from indexer.extract.ocr.names import is_lacking, languages_of
from indexer.model import Document
from tests.extract.made_pdf import make_pdf
from tests.extract.made_scans import BRIDGE, HARVEST, drawn, image, joined, needs_tesseract

LIMITS = Limits(seconds=30, memory=1 << 30)
TYPED = "This page has a text of its own, which needs nobody to look at its picture again."
BLANK = make_pdf([[]], numbered=False)
ASKED = Options(ocr="eng")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is kept, of this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "neardup" / "ocr"


def outcomes(*documents: bytes, options: Options = ASKED, limits: Limits = LIMITS, jobs: int = 2) -> list[Any]:
    """What becomes of documents, in their order."""
    with WorkerPool(jobs, options, limits) as workers:
        found = list(workers.outcomes([Item(number, data) for number, data in enumerate(documents)]))
    return sorted(found, key=lambda outcome: int(outcome.key))


def read(*documents: bytes, **more: Any) -> list[Document]:
    """Documents of which none fails."""
    found = outcomes(*documents, **more)
    assert [outcome for outcome in found if not isinstance(outcome, Extracted)] == []
    return [outcome.document for outcome in found]


def share(text: str, wanted: str) -> float:
    """The share of the wanted words that a text has."""
    words = wanted.split()
    return sum(word in text.split() for word in words) / len(words)


@needs_tesseract
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "PDF"])
def test_the_words_of_an_image_are_read(kind: str) -> None:
    [document] = read(image(kind, BRIDGE))
    assert share(document.text, BRIDGE) > 0.9
    assert document.format == ("pdf" if kind == "PDF" else "image")
    assert languages_of(document.extractor) == "eng"
    assert not is_lacking(document.extractor, "eng")
    assert is_lacking(document.extractor, "deu")


@needs_tesseract
@pytest.mark.parametrize("mode", ["RGBA", "P", "1", "I;16"])
def test_images_of_all_depths(mode: str) -> None:
    page, out = drawn(BRIDGE), io.BytesIO()
    if mode == "RGBA":
        # Black letters on paper that is transparent.
        empty = Image.new("RGBA", page.size)
        empty.paste((0, 0, 0, 255), mask=page.point(lambda value: 255 - value))
        page = empty
    elif mode == "I;16":
        page = page.convert("I").point(lambda value: value * 257).convert("I;16")
    else:
        page = page.convert(mode)
    page.save(out, "PNG")
    assert share(read(out.getvalue())[0].text, BRIDGE) > 0.9


@needs_tesseract
def test_pages_of_a_tiff_and_of_a_mixed_pdf_come_in_their_order() -> None:
    mixed = joined(image("PDF", BRIDGE), make_pdf([[TYPED]], numbered=False), image("PDF", HARVEST), BLANK)
    many, mixed_read = read(image("TIFF", HARVEST, BRIDGE, HARVEST), mixed)
    assert share(many.text, BRIDGE) > 0.9
    assert len(many.pages) == 3
    first, second, third, _ = mixed_read.pages
    assert share(mixed_read.text[first:second], BRIDGE) > 0.9
    assert mixed_read.text[second:third].strip() == TYPED
    assert share(mixed_read.text[third:], HARVEST) > 0.9
    # What has a text, or nothing at all, is no scan.
    assert "; 2 scanned pages by tesseract" in mixed_read.extractor


def test_without_ocr_it_is_said_what_was_not_read() -> None:
    mixed, scan, plain = read(
        joined(image("PDF", BRIDGE), make_pdf([[TYPED]], numbered=False)),
        image("PDF", BRIDGE, HARVEST),
        joined(make_pdf([[TYPED]], numbered=False), BLANK),
        options=Options(),
    )
    assert (mixed.text, scan.text) == (TYPED, "")
    assert mixed.extractor.endswith("; 1 scanned page not read")
    assert scan.extractor.endswith("; 2 scanned pages not read")
    assert [is_lacking(each.extractor) for each in (mixed, scan, plain)] == [True, True, False]
    [failed] = outcomes(image("PNG", BRIDGE), options=Options())
    assert failed.reason == NEEDS_OCR
    assert "apt install tesseract-ocr" in failed.detail


@needs_tesseract
def test_what_was_read_is_kept_and_nobody_else_can_read_it(own_folder: Path) -> None:
    scan = image("PNG", BRIDGE)
    [first] = read(scan)
    [path] = own_folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(own_folder.stat().st_mode) == 0o700
    # Tesseract is not asked again: what stands in the file is what is read.
    path.write_text('{"0": "words that nobody has drawn"}')
    assert read(scan)[0].text == "words that nobody has drawn"
    path.write_text('{"0": 7, "x')
    assert read(scan)[0].text == first.text
    assert kept.clear() == 1
    assert read(scan)[0].text == first.text


def test_what_is_kept_is_limited_and_the_oldest_goes_first(own_folder: Path) -> None:
    known = kept.KeptPages("eng")
    for number in range(4):
        known.keep(bytes([number]), {0: "x" * 100})
        [path] = [each for each in own_folder.iterdir() if each.stat().st_mtime > 1_000_000]
        os.utime(path, (number, number))
    known.of(b"\0")
    assert kept.clear(250) == 2
    assert [bool(known.of(bytes([number]))) for number in range(4)] == [True, False, False, True]
    assert kept.KeptPages("deu").of(b"\0") == {}


def test_a_folder_of_somebody_else_is_refused(own_folder: Path) -> None:
    own_folder.parent.mkdir(parents=True)
    elsewhere = own_folder.parent / "elsewhere"
    elsewhere.mkdir()
    own_folder.symlink_to(elsewhere)
    with pytest.raises(UsageError, match="must be your own"):
        kept.KeptPages("eng")


def png_of(width: int, height: int, more: bytes = b"") -> bytes:
    """A PNG that says to be so large, and holds zeros; `more` is a chunk's kind and data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(bytes(1 << 20)))
    others = chunk(more[:4], more[4:]) if more else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + others + pixels + chunk(b"IEND", b"")


@needs_tesseract
def test_broken_and_hostile_images_cost_themselves_alone() -> None:
    good, tiff = image("PNG", BRIDGE), bytearray(image("TIFF", BRIDGE, HARVEST))
    # The second page's directory leads nowhere.
    [first] = struct.unpack_from("<I", tiff, 4)
    [entries] = struct.unpack_from("<H", tiff, first)
    struct.pack_into("<I", tiff, first + 2 + 12 * entries, len(tiff) + 1000)
    attacks = {
        "cut.png": good[: len(good) // 2],
        "bomb.png": png_of(100_000, 100_000),
        "flat.png": png_of(1_000_000, 1),
        "frames.png": png_of(10, 10, b"acTL" + struct.pack(">II", (1 << 31) - 1, 0)),
        "head.jpg": b"\xff\xd8\xff",
        "cut.tif": image("TIFF", BRIDGE)[:400],
        "lost.tif": bytes(tiff),
        "cut.pdf": image("PDF", BRIDGE)[:3000],
        "good.png": good,
    }
    found = dict(zip(attacks, outcomes(*attacks.values()), strict=True))
    reasons = {name: outcome.reason for name, outcome in found.items() if isinstance(outcome, Failed)}
    assert reasons["bomb.png"] == "too-large"
    assert {reasons["head.jpg"], reasons["cut.tif"], reasons.get("frames.png", "malformed")} == {"malformed"}
    assert not any("object at" in outcome.detail for outcome in found.values() if isinstance(outcome, Failed))
    assert set(reasons.values()) <= {"malformed", "too-large", "timeout", "out-of-memory"}
    assert share(found["good.png"].document.text, BRIDGE) > 0.9


def test_what_can_not_be_met_here_is_refused_by_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("--help", "../eng", "eng+", "eng deu"):
        with pytest.raises(UsageError, match="as tesseract does"):
            tesseract.require_ocr(wrong)
    monkeypatch.setenv("PATH", "/nonexistent")
    tesseract.installed_languages.cache_clear()
    with pytest.raises(UsageError, match=r"needs tesseract \(Debian"):
        tesseract.require_ocr("eng")
    tesseract.installed_languages.cache_clear()


@needs_tesseract
def test_a_language_without_data_is_named() -> None:
    with pytest.raises(UsageError, match=r"no data for xyz, only for .*eng.*apt install tesseract-ocr-xyz"):
        tesseract.require_ocr("eng+xyz")


@pytest.fixture
def stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A tesseract that never ends; the time that it sleeps tells its process."""
    seconds = f"{100_000 + os.getpid()}"
    program = tmp_path / "bin" / "tesseract"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\ncase $1 in --version) echo tesseract 9.9;; --list-langs) echo Languages:; echo eng;; "
        f"*) exec sleep {seconds};; esac\n"
    )
    program.chmod(0o755)
    # A worker runs only what lies beside Python's modules, or in the system's folders.
    monkeypatch.syspath_prepend(str(program.parent))
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    caches = (tesseract.version, tesseract.installed_languages)
    for each in caches:
        each.cache_clear()
    yield seconds
    for each in caches:
        each.cache_clear()


def running(seconds: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", seconds.encode()]:
                found.append(int(entry.name))
    return found


def gone(seconds: str) -> bool:
    for _ in range(200):
        if not running(seconds):
            return True
        time.sleep(0.05)
    return False


def test_a_page_that_takes_too_long_costs_no_other_document(stuck: str) -> None:
    limits = Limits(seconds=5, memory=1 << 30)
    mixed = joined(image("PDF", BRIDGE), make_pdf([[TYPED]], numbered=False))
    photo, scan, typed = outcomes(image("PNG", BRIDGE), image("PDF", BRIDGE), mixed, limits=limits, jobs=3)
    for failed in (photo, scan):
        assert (failed.reason, failed.detail) == ("timeout", "tesseract read none of 1 scanned page within 5 seconds")
    assert typed.document.text == TYPED
    assert "; 1 scanned page that tesseract can't read" in typed.document.extractor
    assert gone(stuck)


@pytest.mark.parametrize("way", ["close", "kill"])
def test_tesseract_ends_with_its_worker(stuck: str, way: str) -> None:
    workers: WorkerPool[Any] = WorkerPool(1, ASKED, LIMITS)
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(lambda: list(workers.outcomes([Item(0, image("PNG", BRIDGE))])))
        while not running(stuck):
            time.sleep(0.05)
        if way == "kill":
            [worker] = workers._workers
            os.kill(worker._process.pid, 9)
            [outcome] = reading.result()
            assert isinstance(outcome, Failed)
            assert outcome.reason == "crashed"
        workers.close()
        if way == "close":
            with pytest.raises(UsageError, match="the pool of workers is closed"):
                reading.result()
    assert gone(stuck)


@needs_tesseract
def test_pages_are_read_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are workers, also of one document; and without workers one after the other."""
    most = 0

    class Counted(tesseract.Recognition):
        alive = 0

        def __init__(self, *arguments: Any) -> None:
            nonlocal most
            super().__init__(*arguments)
            Counted.alive += 1
            most = max(most, Counted.alive)

        def close(self) -> None:
            super().close()
            Counted.alive -= 1

    monkeypatch.setattr(pages, "Recognition", Counted)
    scans = image("TIFF", BRIDGE, HARVEST, BRIDGE)
    alone = read_document(scans, "", ASKED, LIMITS)
    assert most == 1
    most = 0
    with tempfile.TemporaryFile() as file:
        reader = pages.PageReader("eng", LIMITS, slots=pages.Slots(file.fileno(), 2))
        assert read_document(scans, "", ASKED, LIMITS, reader).text == alone.text
    assert most == 2


def test_what_a_program_reads_itself_asks_for_what_is_needed() -> None:
    with pytest.raises(ExtractionError) as failed:
        read_document(image("JPEG", BRIDGE), "", Options(), LIMITS)
    assert failed.value.reason == NEEDS_OCR


@needs_tesseract
def test_running_lines_of_scans_are_kept_beside_the_text() -> None:
    known = {0: f"Harbour Gazette 7\n\n{BRIDGE}", 1: f"Harbour Gazette 8\n\n{HARVEST}"}
    document = read_document(
        image("TIFF", BRIDGE, HARVEST), "", ASKED, LIMITS, pages.PageReader("eng", LIMITS, known=known)
    )
    assert "Gazette" not in document.text
    assert [text for kind, text in document.left_out if kind == "page margin"] == ["Harbour Gazette #"]
