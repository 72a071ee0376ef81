"""PDFs made of lines of text."""

from __future__ import annotations

import zlib
from collections.abc import Sequence


def make_pdf(
    pages: Sequence[Sequence[str]],
    *,
    header: str = "",
    numbered: bool = True,
    large: Sequence[str] = (),
    outline: str = "",
    placed: Sequence[tuple[str, float, float]] = (),
) -> bytes:
    """A PDF (ISO 32000-1) of pages of lines in ASCII.

    With a running header, page numbers, lines in large type before those of the first page, and an outline of one
    entry, if wanted; `placed` are texts of the first page with their places.
    """
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for number, lines in enumerate(pages, 1):
        drawn = [_drawn(header, 800)] if header else []
        if number == 1:
            drawn += [_drawn(text, base, left=left) for text, left, base in placed]
            drawn += [_drawn(line, 830 - 22 * row, 20) for row, line in enumerate(large)]
        drawn += [_drawn(line, 780 - 12 * row) for row, line in enumerate(lines)]
        drawn += [_drawn(str(number), 20)] if numbered else []
        stream = zlib.compress(b"\n".join(drawn))
        objects.append(b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(stream), stream))
        kids.append(len(objects) + 1)
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>"
            % len(objects)
        )
    if outline:
        entries = len(objects) + 1
        objects[0] = b"<</Type/Catalog/Pages 2 0 R/Outlines %d 0 R>>" % entries
        objects.append(b"<</Type/Outlines/First %d 0 R/Last %d 0 R/Count 1>>" % (entries + 1, entries + 1))
        objects.append(b"<</Title(%s)/Parent %d 0 R>>" % (outline.encode("ascii"), entries))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        table,
        size,
        len(out),
    )
    return bytes(out)


def _drawn(line: str, height: float, size: int = 10, left: float = 50) -> bytes:
    text = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return b"BT /F %d Tf %d %d Td (%s) Tj ET" % (size, left, height, text.encode("ascii"))
