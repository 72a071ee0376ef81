"""Pages drawn as images, as a scanner gives them."""

from __future__ import annotations

import io
import textwrap
from typing import Any

import pypdfium2
import pytest
from PIL import Image, ImageDraw, ImageFont

from indexer.extract.ocr.tesseract import version

needs_tesseract = pytest.mark.skipif(
    not version(),
    reason="NOT RUN: no page is read by OCR, since tesseract is not installed (apt install tesseract-ocr)",
)

BRIDGE = (
    "The committee met on the fourth of March and discussed the repair of the old bridge, for which three firms had "
    "made an offer. Two members asked whether the work could begin before the summer."
)
HARVEST = "Another page speaks of the harvest, of apples and of pears, and of the price that merchants paid for them."
DOTS = 150


def drawn(text: str) -> Image.Image:
    """A page with a text, in gray."""
    page = Image.new("L", (8 * DOTS, 4 * DOTS), 255)
    lines = "\n".join(textwrap.wrap(text, 60))
    ImageDraw.Draw(page).multiline_text((DOTS // 2, DOTS // 2), lines, 0, ImageFont.load_default(DOTS // 6), spacing=9)
    return page


def image(kind: str, *texts: str, **more: Any) -> bytes:
    """An image of pages: "PNG", "JPEG", "TIFF", or a "PDF" that holds nothing else."""
    first, *rest = map(drawn, texts)
    out = io.BytesIO()
    dots: dict[str, Any] = {"resolution": DOTS} if kind == "PDF" else {"dpi": (DOTS, DOTS)}
    pages: dict[str, Any] = {"save_all": True, "append_images": rest} if rest else {}
    first.save(out, kind, **dots, **pages, **more)
    return out.getvalue()


def joined(*parts: bytes) -> bytes:
    """One PDF of the pages of several."""
    whole, out = pypdfium2.PdfDocument.new(), io.BytesIO()
    for part in parts:
        whole.import_pages(pypdfium2.PdfDocument(part))
    whole.save(out)
    return out.getvalue()
