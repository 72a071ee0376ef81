"""Find and draw scanned pages for OCR."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from typing import Any

from indexer.errors import ExtractionError
from indexer.extract.ocr.names import not_read
from indexer.extract.ocr.pages import PageReader
from indexer.extract.ocr.tesseract import Picture
from indexer.extract.paragraphs import of_text
from indexer.text.counts import counted

MOST_PIXELS = 40_000_000
"""The most pixels of a page: one of A4 at 600 dots an inch has 35 million."""

_DOTS, _POINTS = 300, 72
# Other numbers in an image are no resolution of a scan, and tesseract's own guess is better.
_LEAST_DOTS, _MOST_DOTS = 70, 2400
# A stamp of the library, or a page number, may be text on a page that is a picture otherwise.
_FEW_WORDS, _COVERED = 10, 0.25


def of_image(image: Any, number: int) -> Picture | None:
    from PIL import Image, ImageOps

    # Damage shows in many ways, and costs this page alone.
    with suppress(OSError, SyntaxError, ValueError, EOFError):
        image.seek(number)
        width, height = image.size
        if width * height > MOST_PIXELS:
            said = f"page {number + 1} has {counted(width * height, 'pixel')}; the limit is {MOST_PIXELS:,}"
            raise ExtractionError("too-large", said)
        # Photographs say which side is up.
        turned = ImageOps.exif_transpose(image)
        if turned.mode.startswith("I"):
            turned = turned.convert("I").point(lambda value: value / 256)
        if "A" in turned.getbands() or "transparency" in turned.info:
            # What is transparent is paper.
            turned = turned.convert("RGBA")
            turned = Image.alpha_composite(Image.new("RGBA", turned.size, "white"), turned)
        gray = turned.convert("L")
        return Picture(*gray.size, gray.tobytes(), _dots(image))
    return None


def _dots(image: Any) -> int:
    with suppress(TypeError, ValueError, OverflowError, ZeroDivisionError, IndexError):
        dots = round(float(image.info["dpi"][0])) if "dpi" in image.info else 0
        return dots if _LEAST_DOTS <= dots <= _MOST_DOTS else 0
    return 0


def _is_picture(document: Any, number: int) -> bool:
    import pypdfium2
    import pypdfium2.raw as pdfium

    with suppress(pypdfium2.PdfiumError):
        page = document[number]
        try:
            size, covered = page.get_width() * page.get_height(), 0.0
            for picture in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]):
                left, bottom, right, top = picture.get_bounds()
                # Inside of another object they are not in the units of the page.
                covered += size if picture.level else (right - left) * (top - bottom)
                if covered >= _COVERED * size:
                    return True
        finally:
            page.close()
    return False


def _of_pdf(document: Any, number: int) -> Picture | None:
    import pypdfium2

    with suppress(pypdfium2.PdfiumError):
        page = document[number]
        try:
            most = (MOST_PIXELS / max(1.0, page.get_width() * page.get_height())) ** 0.5
            scale = min(_DOTS / _POINTS, most)
            bitmap = page.render(scale=scale, grayscale=True)
            rows, width = memoryview(bitmap.buffer).cast("B"), bitmap.width
            starts = range(0, bitmap.height * bitmap.stride, bitmap.stride)
            pixels = b"".join(rows[start : start + width] for start in starts)
            return Picture(width, bitmap.height, pixels, round(scale * _POINTS))
        finally:
            page.close()
    return None


def _has_few_words(lines: Sequence[str]) -> bool:
    # Most pages have enough in their first lines.
    return all(count < _FEW_WORDS for count in accumulate(len(line.split()) for line in lines))


def with_scans(data: bytes, pages: Sequence[list[str]], reader: PageReader | None) -> tuple[Sequence[list[str]], str]:
    """The lines of the pages of a PDF, with scanned ones as `reader` reads them.

    Raises ExtractionError if no page has a text and none could be read.
    """
    import pypdfium2

    few = [number for number, lines in enumerate(pages) if _has_few_words(lines)]
    if not few:
        return pages, ""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError:
        return pages, ""
    try:
        scans = {number: partial(_of_pdf, document, number) for number in few if _is_picture(document, number)}
        if reader is None:
            return pages, not_read(len(scans))
        found = reader.read(scans)
        if scans and not found and not any(pages):
            raise reader.failure(len(scans))
        read = [of_text(found[number]) if number in found else page for number, page in enumerate(pages)]
        return read, reader.said(scans, found)
    finally:
        document.close()
