"""PDF: the lines of each page, put together into running text."""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cache
from importlib.metadata import version
from itertools import islice, pairwise
from math import inf
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from indexer.core.markup import BLOCK_END
from indexer.errors import ExtractionError
from indexer.extract.base import EXTRACTOR_VERSION, Limits, PartsLeftOut, too_large
from indexer.extract.formats import PDF_READERS
from indexer.extract.layout import LEAST_NUMBERS, by_columns, without_line_numbers
from indexer.extract.margins import without_running_lines
from indexer.extract.ocr.pages import PageReader
from indexer.extract.ocr.pictures import with_scans
from indexer.extract.paragraphs import END, PageLine, with_ends
from indexer.extract.text import as_title, cleaned, in_blocks
from indexer.model import Document
from indexer.text.counts import counted
from indexer.text.dates import read_day

if TYPE_CHECKING:
    import pypdfium2
    from pdfminer.layout import LTTextContainer

# PDFium writes a hyphen that it takes for a line's end as U+0002 or U+FFFE, and leaves the line break out.
_BREAK = re.compile(r"[-\u2010\u00ad\x02\ufffe]\n?(?=\w)")
_BREAK_MARKS = "\n\x02\ufffe"
_HYPHENS = "-\u2010\u00ad\x02\ufffe"
_WORD_BEFORE = re.compile(r"[^\W\d_]+$")
_WORD_AFTER = re.compile(r"\w+")
_LONGEST_WORD = 100
# Typesetters break an address after one of these characters, and no reader takes the break for a part of it.
_ADDRESS_BREAKS = "/-_=&?%#"
_ADDRESS = re.compile(r"(?:https?://|www\.|doi:|\b10\.\d{4,9}/)\S*$")
_WORD = re.compile(r"\w+(?:-\w+)*")
# The reference extractor is slow: on a PDF in which the fast one saw no text it reads this many pages, and goes on
# only if it sees any.
_PROBE = 20
_PASSWORD_ERROR = 4
_SPACES = re.compile(r"(?<=\S) +(?=\S)")
# A number before the words of a line.
_NUMBERED = re.compile(r"\s*([0-9]{1,4}) +(?=\S)")
# Lines that may go over two columns, how many of them are looked at for a gap, and how straight it is, in points.
_LONG_ROW, _SAMPLED, _SAME_COLUMN, _MOST_ROWS, _LEAST_GAPS = 30, 6, 6.0, 0.6, 4
# So many pages at the beginning, and each one after as many, are looked at.
_FIRST_PAGES = 4
_LONGEST_VALUE = 1 << 20
_ABOUT = ("Title", "ModDate", "CreationDate")
Origins = Callable[[int], tuple[float, float]]
# The characters of the first page that are looked at for a title, the lines that it may have, and by how much its
# type is larger than that of all after it.
_HEAD = 2000
_TITLE_LINES = 4
_LARGER = 1.15
_SAME = 0.95


def extract_pdf(
    data: bytes, extractor: str, limits: Limits, *, probe: bool = False, reader: PageReader | None = None
) -> Document:
    """The document of a PDF; `extractor` is "fast" or "reference", and `reader` reads its scanned pages.

    Raises ExtractionError "encrypted" if an empty password does not open it, "malformed" if the extractor can't read
    it, "too-large" for its text.
    """
    if extractor == "fast":
        about, read, whole, fields = _read_fast(data, limits)
    else:
        about, read, whole, fields = *_read_reference(data, limits, probe), _beside_text(data)
    pages, scanned = with_scans(data, read, reader) if whole and not probe else (read, "")
    text, begins, left_out = _read(pages)
    notes = () if text else (f"no text on {counted(len(pages), 'page')}: perhaps scanned",)
    name = _extractor_name(extractor) + scanned
    dates = {"modified": about.get("ModDate"), "published": about.get("CreationDate")}
    declared = {kind: str(day) for kind, value in dates.items() if (day := read_day(value))}
    return Document(
        text, cleaned(about.get("Title", "")), extractor=name, notes=notes, pages=begins if whole else (),
        declared=declared, left_out=left_out + fields,
    )  # fmt: skip


@cache
def _extractor_name(extractor: str) -> str:
    label = PDF_READERS[extractor != "fast"]
    return f"{label} {version(label.rpartition('/')[2])} rules {EXTRACTOR_VERSION}"


def running_text(pages: Sequence[list[str]]) -> tuple[str, tuple[int, ...]]:
    """The text of pages of lines without running lines, broken words joined, and the first character of each page."""
    text, begins, _ = _read(pages)
    return text, begins


def _read(pages: Sequence[list[str]]) -> tuple[str, tuple[int, ...], PartsLeftOut]:
    kept, running = without_running_lines(pages)
    parts: list[str] = []
    begins: list[int] = []
    size, spaced = 0, False
    for text in _joined(["".join(map(_ended, page)) for page in kept]):
        clean = in_blocks(text)
        # A word may begin on one page and end on the next.
        spaced = spaced or (clean != "" and not text.startswith(clean[0]))
        if clean and spaced and size:
            parts.append("\f")
            size += 1
        begins.append(size)
        parts.append(clean)
        size += len(clean)
        spaced = not text.endswith(clean[-1]) if clean else spaced or text != ""
    return "".join(parts), tuple(begins), tuple(("page margin", line) for line in running)


def _ended(line: str) -> str:
    text = line.rstrip(END)
    if text[-1] in _ADDRESS_BREAKS and _ADDRESS.search(text):
        return text
    return text + (BLOCK_END if text != line and text[-1] not in _HYPHENS else "\n")


def _joined(texts: list[str]) -> list[str]:
    """The texts of pages, with words hyphenated over two lines joined.

    The document is its own dictionary: a hyphen stays if the word is found with it elsewhere, or if both halves are
    words and the joined word is not found; before capitals and digits it stays anyway.
    """
    text = "".join(texts)
    breaks = list(_breaks(text))
    if not breaks:
        return texts
    # The halves of broken words say nothing of which words there are.
    known: set[str] = set()
    end = 0
    for broken in breaks:
        known.update(_WORD.findall(text[end : broken.start - len(broken.left)].lower()))
        end = broken.end + len(broken.right)
    known.update(_WORD.findall(text[end:].lower()))
    joined = []
    begin = end = 0
    waiting = deque(breaks)
    for size in map(len, texts):
        end += size
        parts: list[str] = []
        # A break ends at the end of a page at the latest.
        while waiting and waiting[0].end <= end:
            broken = waiting.popleft()
            parts += (text[begin : broken.start], "-" if _keeps_hyphen(broken, known) else "")
            begin = broken.end
        parts.append(text[begin:end])
        begin = end
        joined.append("".join(parts))
    return joined


class _Broken(NamedTuple):
    left: str
    right: str
    soft: bool
    start: int
    end: int


def _breaks(text: str) -> Iterator[_Broken]:
    end = 0
    for matched in _BREAK.finditer(text):
        mark = matched[0]
        soft = mark[0] == "\u00ad"
        if not soft and mark[-1] not in _BREAK_MARKS:
            continue
        left = _WORD_BEFORE.search(text[max(end, matched.start() - _LONGEST_WORD) : matched.start()])
        right = _WORD_AFTER.match(text, matched.end())
        if left and right:
            end = matched.end()
            yield _Broken(left[0], right[0], soft, matched.start(), end)


def _keeps_hyphen(broken: _Broken, known: set[str]) -> bool:
    if broken.soft:
        return False
    if not broken.right[0].islower():
        return True
    left, right = broken.left.lower(), broken.right.lower()
    if left + right in known:
        return False
    return f"{left}-{right}" in known or (left in known and right in known)


def _bounded(pages: Iterable[list[str]], limits: Limits) -> list[list[str]]:
    kept: list[list[str]] = []
    size = 0
    for page in pages:
        size += sum(map(len, page))
        if size > limits.input_bytes:
            raise too_large("the text", size, limits)
        kept.append(page)
    return kept


def _read_fast(data: bytes, limits: Limits) -> tuple[dict[str, str], list[list[str]], bool, PartsLeftOut]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD_ERROR:
            raise ExtractionError("encrypted", "an empty password does not open it") from None
        raise ExtractionError("malformed", f"not a PDF, says pdfium: {error}") from None
    failed: list[int] = []
    comments = dict[tuple[str, str], None]()

    def pages() -> Iterator[list[str]]:
        columned = False
        for number in range(len(document)):
            try:
                page = document[number]
                text_page = page.get_textpage()
                if number == 0 and not about["Title"].strip():
                    about["Title"] = title_on_page(document, text_page)
                # What draws columns in turn does it on all pages, and looking for it takes time.
                looked_at = columned or number < _FIRST_PAGES or number % _FIRST_PAGES == 0
                lines, found = _lines(text_page, by_gaps=looked_at)
                comments.update(dict.fromkeys(_comments(page)))
                columned = columned or found
                text_page.close()
                page.close()
            except pypdfium2.PdfiumError:
                failed.append(number)
                continue
            yield lines

    try:
        about = {name: document.get_metadata_value(name) for name in _ABOUT}
        read = _bounded(pages(), limits)
        if failed and not any(read):
            raise ExtractionError("malformed", f"pdfium can't load any of {len(document)} pages")
        return about, read, not failed, (*_field_values(document), *comments)
    finally:
        document.close()


def _lines(text_page: pypdfium2.PdfTextPage, *, by_gaps: bool) -> tuple[list[str], bool]:
    text = text_page.get_text_range()
    # Characters that pdfium counts and doesn't write would shift the others.
    if len(text) != text_page.count_chars():
        return with_ends([PageLine(line.removesuffix("\r")) for line in text.split("\n") if line.strip()]), False
    origin = _origins(text_page)
    lines, places, place, last = list[PageLine](), list[int](), 0, 0.0
    for line in text.split("\n"):
        if plain := line.strip():
            places.append(place)
            left, base = origin(place + line.index(plain[0]))
            lines.append(PageLine(line.removesuffix("\r"), left, last - base, base))
            last = base
        place += len(line) + 1
    lines, columned = _ordered(origin, lines, places, by_gaps=by_gaps)
    return with_ends(lines), columned


@cache
def _by_address(name: str, *kinds: Any) -> Any:
    """A function of pdfium that takes addresses as numbers: a call takes a third of the time."""
    from ctypes import CFUNCTYPE, c_void_p, cast

    from pypdfium2 import raw

    return CFUNCTYPE(*kinds)(cast(getattr(raw, name), c_void_p).value or 0)


def _origins(text_page: pypdfium2.PdfTextPage) -> Origins:
    from ctypes import addressof, c_double, c_int, c_void_p, cast

    left, base = c_double(), c_double()
    ask = _by_address("FPDFText_GetCharOrigin", c_int, c_void_p, c_int, c_void_p, c_void_p)
    handle, into = cast(text_page.raw, c_void_p).value, (addressof(left), addressof(base))

    def origin(place: int) -> tuple[float, float]:
        ask(handle, place, *into)
        return left.value, base.value

    return origin


def _ordered(
    origin: Origins, lines: list[PageLine], places: list[int], *, by_gaps: bool
) -> tuple[list[PageLine], bool]:
    # Most pages have few lines that begin with a digit.
    begun = [row for row, line in enumerate(lines) if line.text.lstrip()[:1].isdigit()]
    if len(begun) >= LEAST_NUMBERS:
        numbered = {row: found for row in begun if (found := _NUMBERED.match(lines[row].text))}
        alone = sum(lines[row].text.strip().isdecimal() for row in begun)
        numbers = [int(numbered[row][1]) for row in sorted(numbered, key=lambda row: -lines[row].base)]
        # Where they are few or don't rise they count no lines, and looking for their places takes time.
        if len(numbers) + alone >= LEAST_NUMBERS and all(before < after for before, after in pairwise(numbers)):
            cut = list[PageLine]()
            for row, line in enumerate(lines):
                found = numbered.get(row)
                cut += _numbered(line, found, origin(places[row] + found.end())[0]) if found else [line]
            if len(plain := without_line_numbers(cut)) < len(cut):
                return plain, False
    gutter = _gutter(origin, lines, places) if by_gaps else None
    if gutter is None:
        return lines, False
    parted = list[PageLine]()
    for line, place in zip(lines, places, strict=True):
        gaps = _gaps(origin, line, place)
        at = next((end for end, left, _ in gaps if abs(left - gutter) < _SAME_COLUMN), None)
        if at is None:
            parted.append(line)
        else:
            parted.append(line._replace(text=line.text[:at]))
            parted.append(line._replace(text=line.text[at:], left=origin(place + at)[0]))
    columns = by_columns(parted)
    return (lines, False) if columns is parted else (columns, True)


def _numbered(line: PageLine, number: re.Match[str], left: float) -> list[PageLine]:
    return [line._replace(text=number[1]), line._replace(text=line.text[number.end() :], left=left, below=1.0)]


def _gutter(origin: Origins, lines: list[PageLine], places: list[int]) -> float | None:
    rows = [row for row, line in enumerate(lines) if len(line.text) >= _LONG_ROW]
    if len(rows) < _SAMPLED or _widest(origin, lines, places, max(rows, key=lambda row: len(lines[row].text))) is None:
        return None
    some, begins = rows[:: len(rows) // _SAMPLED][:_SAMPLED], list[float]()
    for looked_at, row in enumerate(some, 1):
        if (left := _widest(origin, lines, places, row)) is not None:
            begins.append(left)
        if len(begins) + len(some) - looked_at < _MOST_ROWS * len(some):
            return None
    middle = median(begins)
    return middle if sum(abs(left - middle) < _SAME_COLUMN for left in begins) >= _MOST_ROWS * len(some) else None


def _widest(origin: Origins, lines: list[PageLine], places: list[int], row: int) -> float | None:
    # A gutter is in the middle of a page.
    side = len(lines[row].text) // 5
    gaps = sorted(_gaps(origin, lines[row], places[row], side), key=lambda gap: gap[2])
    if len(gaps) < _LEAST_GAPS or gaps[-1][2] <= 1.5 * gaps[len(gaps) // 2][2]:
        return None
    return gaps[-1][1]


def _gaps(origin: Origins, line: PageLine, place: int, side: int = 0) -> list[tuple[int, float, float]]:
    found = []
    for space in _SPACES.finditer(line.text, side, len(line.text) - side):
        left = origin(place + space.end())[0]
        found.append((space.end(), left, left - origin(place + space.start() - 1)[0]))
    return found


def _field_values(document: pypdfium2.PdfDocument) -> PartsLeftOut:
    import pypdfium2
    from pypdfium2 import raw

    found: dict[tuple[str, str], None] = {}
    if document.get_formtype() == raw.FORMTYPE_NONE:
        return ()
    document.init_forms()
    if document.formenv is None:
        return ()
    for number in range(len(document)):
        with suppress(pypdfium2.PdfiumError), closing(document[number]) as page:
            for at in range(raw.FPDFPage_GetAnnotCount(page)):
                annotation = raw.FPDFPage_GetAnnot(page, at)
                if not annotation:
                    continue
                if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
                    named = _string(raw.FPDFAnnot_GetFormFieldName, document.formenv, annotation)
                    if value := _string(raw.FPDFAnnot_GetFormFieldValue, document.formenv, annotation):
                        found[f"field {named}".strip(), value] = None
                raw.FPDFPage_CloseAnnot(annotation)
    return tuple(found)


def _comments(page: pypdfium2.PdfPage) -> Iterator[tuple[str, str]]:
    from ctypes import c_char_p, c_int, c_ulong, c_void_p, cast

    from pypdfium2 import raw

    # Of the hundreds of links on some pages none is a comment.
    annotation_at = _by_address("FPDFPage_GetAnnot", c_void_p, c_void_p, c_int)
    kind_of = _by_address("FPDFAnnot_GetSubtype", c_int, c_void_p)
    value_of = _by_address("FPDFAnnot_GetStringValue", c_ulong, c_void_p, c_char_p, c_void_p, c_ulong)
    close = _by_address("FPDFPage_CloseAnnot", None, c_void_p)
    # A pop-up shows what another one says.
    others = raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP
    handle = cast(page.raw, c_void_p).value
    for at in range(raw.FPDFPage_GetAnnotCount(page)):
        if annotation := annotation_at(handle, at):
            if kind_of(annotation) not in others and (text := _string(value_of, annotation, b"Contents")):
                yield "comment", text
            close(annotation)


def _beside_text(data: bytes) -> PartsLeftOut:
    import pypdfium2

    comments = dict[tuple[str, str], None]()
    with suppress(pypdfium2.PdfiumError), closing(pypdfium2.PdfDocument(data)) as document:
        for number in range(len(document)):
            with suppress(pypdfium2.PdfiumError), closing(document[number]) as page:
                comments.update(dict.fromkeys(_comments(page)))
        return (*_field_values(document), *comments)
    return ()


def _string(function: Any, *given: Any) -> str:
    from ctypes import POINTER, c_ushort, cast, create_string_buffer

    size = min(function(*given, None, 0), _LONGEST_VALUE)
    buffer = create_string_buffer(size)
    function(*given, cast(buffer, POINTER(c_ushort)), size)
    return cleaned(buffer.raw.decode("utf-16-le", "replace").rstrip("\0"))


def title_on_page(document: pypdfium2.PdfDocument, text_page: pypdfium2.PdfTextPage) -> str:
    count = min(text_page.count_chars(), _HEAD)
    text = text_page.get_text_range(0, count) if count else ""
    # Characters that pdfium counts and doesn't write would shift the others.
    found = list(re.finditer(r"[^\r\n]*[^\s][^\r\n]*", text)) if len(text) == count else []
    lines = [match[0] for match in found]
    sizes = [_type_size(text_page, match.start(), match[0]) for match in found]
    large = next((row for row, size in enumerate(sizes) if size < _SAME * sizes[0]), len(sizes))
    if 0 < large < len(sizes) and large <= _TITLE_LINES and min(sizes[:large]) >= _LARGER * max(sizes[large:]):
        return as_title(running_text([lines[:large]])[0])
    outlined = as_title(_first_bookmark(document))
    begins = ["".join("".join(lines[: row + 1]).split()) for row in range(min(_TITLE_LINES, len(lines)))]
    return outlined if outlined and "".join(outlined.split()) in begins else ""


def _type_size(text_page: pypdfium2.PdfTextPage, begin: int, line: str) -> float:
    from pypdfium2 import raw

    inked = [place for place, letter in enumerate(line, begin) if not letter.isspace()]
    box = raw.FS_RECTF()
    sizes = []
    for place in (inked[0], inked[len(inked) // 2], inked[-1]):
        known = raw.FPDFText_GetLooseCharBox(text_page, place, box)
        sizes.append(box.top - box.bottom if known else 0.0)
    return sorted(sizes)[1]


def _first_bookmark(document: pypdfium2.PdfDocument) -> str:
    try:
        first = next(document.get_toc(max_depth=1), None)
        return str(first.get_title()) if first else ""
    except ValueError:
        # Its letters are no UTF-16.
        return ""


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
        first = _bounded(islice(texts, _PROBE), limits)
        if probe and not any(first):
            return {}, first, True
        return {}, first + _bounded(texts, limits), True
    except (PDFPasswordIncorrect, PDFEncryptionError) as error:
        raise ExtractionError("encrypted", f"an empty password does not open it: {error}") from None


def _lines_in(box: LTTextContainer[Any], *, parted: bool = False) -> Iterator[PageLine]:
    from pdfminer.layout import LTChar, LTTextBox, LTTextLine

    below = inf
    for line in box if isinstance(box, LTTextBox) else (box,):
        if (text := line.get_text().removesuffix("\n").replace("\n", " ")).strip():
            placed = PageLine(text.replace(END, " "), line.x0, below, line.y0)
            below = 1.0
            if parted and isinstance(line, LTTextLine) and (number := _NUMBERED.match(placed.text)):
                letters = [part for part in line if isinstance(part, LTChar) and not part.get_text().isspace()]
                yield from _numbered(placed, number, letters[min(len(number[1]), len(letters) - 1)].x0)
            else:
                yield placed
