"""PNG, JPEG and TIFF images, read by OCR."""

from __future__ import annotations

import io
from functools import partial

from indexer.errors import ExtractionError
from indexer.extract.base import EXTRACTOR_VERSION, NEEDS_OCR
from indexer.extract.ocr.pages import PageReader
from indexer.extract.ocr.pictures import of_image
from indexer.extract.ocr.tesseract import INSTALL
from indexer.extract.paragraphs import of_text
from indexer.extract.running import running_text
from indexer.model import Document

# Those whose decoders are in use everywhere; Pillow has many others.
_FORMATS = ("PNG", "TIFF", "JPEG")


def extract_image(data: bytes, reader: PageReader | None) -> Document:
    if reader is None:
        raise ExtractionError(NEEDS_OCR, f"an image; --ocr reads its words, by {INSTALL}")
    from PIL import Image, UnidentifiedImageError

    # The limit is checked below, before any pixel is decoded.
    Image.MAX_IMAGE_PIXELS = None
    try:
        image = Image.open(io.BytesIO(data), formats=_FORMATS)
        # A PNG may claim to be an animation of two thousand million.
        many = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        pages = {number: partial(of_image, image, number) for number in range(many)}
    except UnidentifiedImageError:
        raise ExtractionError("malformed", "not an image, says Pillow") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise ExtractionError("malformed", f"not an image, says Pillow: {error}") from None
    found = reader.read(pages)
    if not found:
        raise reader.failure(len(pages))
    text, begins, left_out = running_text([of_text(found.get(number, "")) for number in pages])
    name = f"images rules {EXTRACTOR_VERSION}{reader.said(pages, found)}"
    return Document(text, extractor=name, pages=begins if len(pages) > 1 else (), left_out=left_out)
