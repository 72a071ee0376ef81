"""PDF: the lines of each page, put together into running text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from indexer.errors import ExtractionError
from indexer.extract.base import EXTRACTOR_VERSION, Limits
from indexer.extract.formats import PDF_READERS
from indexer.extract.layout import NUMBERED, by_columns, parted_number, without_line_numbers
from indexer.extract.ocr.pages import PageReader
from indexer.extract.ocr.pictures import with_scans
from indexer.extract.paragraphs import END, PageLine, with_ends
from indexer.extract.pdfium import beside_text, bounded, read_fast
from indexer.extract.running import running_text
from indexer.model import Document
from indexer.text.counts import counted
from indexer.text.dates import read_day

if TYPE_CHECKING:
    from pdfminer.layout import LTTextContainer

# The reference extractor is slow: on a PDF in which the fast one saw no text it reads this many pages, and goes on
# only if it sees any.
_PROBE = 20


def extract_pdf(
    data: bytes, extractor: str, limits: Limits, *, probe: bool = False, reader: PageReader | None = None
) -> Document:
    """The document of a PDF; `extractor` is "fast" or "reference", and `reader` reads its scanned pages.

    Raises ExtractionError "encrypted" if an empty password does not open it, "malformed" if the extractor can't read
    it, "too-large" for its text.
    """
    if extractor == "fast":
        about, read, whole, fields = read_fast(data, limits)
    else:
        about, read, whole, fields = *_read_reference(data, limits, probe), beside_text(data)
    pages, scanned = with_scans(data, read, reader) if whole and not probe else (read, "")
    text, begins, left_out = running_text(pages)
    notes = () if text else (f"no text on {counted(len(pages), 'page')}: perhaps scanned",)
    name = _extractor_name(extractor) + scanned
    dates = {"modified": about.get("ModDate"), "published": about.get("CreationDate")}
    declared = {kind: str(day) for kind, value in dates.items() if (day := read_day(value))}
    return Document(
        text, about.get("Title", ""), extractor=name, notes=notes, pages=begins if whole else (),
        declared=declared, left_out=left_out + fields,
    )  # fmt: skip


@cache
def _extractor_name(extractor: str) -> str:
    label = PDF_READERS[extractor != "fast"]
    return f"{label} {version(label.rpartition('/')[2])} rules {EXTRACTOR_VERSION}"


def _read_reference(data: bytes, limits: Limits, probe: bool) -> tuple[dict[str, str], list[list[str]], bool]:
    from pdfminer.high_level import extract_pages
    from pdfminer.layout import LAParams, LTTextContainer
    from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect

    def pages() -> Iterator[list[str]]:
        # Page images and vector figures cost time and give no text.
        for page in extract_pages(io.BytesIO(data), laparams=LAParams(all_texts=True)):
            boxes = [box for box in page if isinstance(box, LTTextContainer)]
            cut = [line for box in boxes for line in _lines_in(box, parted=True)]
            plain = without_line_numbers(cut)
            # Numbers that count no lines stay where they are.
            lines = plain if len(plain) < len(cut) else [line for box in boxes for line in _lines_in(box)]
            yield with_ends(by_columns(lines))

    try:
        texts = pages()
        first = bounded(islice(texts, _PROBE), limits)
        if probe and not any(first):
            return {}, first, True
        return {}, first + bounded(texts, limits), True
    except (PDFPasswordIncorrect, PDFEncryptionError) as error:
        raise ExtractionError("encrypted", f"an empty password does not open it: {error}") from None


def _lines_in(box: LTTextContainer[Any], *, parted: bool = False) -> Iterator[PageLine]:
    from pdfminer.layout import LTChar, LTTextBox, LTTextLine

    below = inf
    for line in box if isinstance(box, LTTextBox) else (box,):
        if (text := line.get_text().removesuffix("\n").replace("\n", " ")).strip():
            placed = PageLine(text.replace(END, " "), line.x0, below, line.y0)
            below = 1.0
            if parted and isinstance(line, LTTextLine) and (number := NUMBERED.match(placed.text)):
                letters = [part for part in line if isinstance(part, LTChar) and not part.get_text().isspace()]
                yield from parted_number(placed, number, letters[min(len(number[1]), len(letters) - 1)].x0)
            else:
                yield placed
