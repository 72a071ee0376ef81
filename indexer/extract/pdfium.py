"""The fast reader of PDFs: PDFium, and what it says beside the text."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from _cffi_backend import FFI

from indexer.errors import ExtractionError
from indexer.extract.base import Limits, PartsLeftOut, too_large
from indexer.extract.layout import ordered
from indexer.extract.paragraphs import PageLine, with_ends
from indexer.extract.running import running_text
from indexer.extract.text import as_title, cleaned

if TYPE_CHECKING:
    import pypdfium2

_PASSWORD_ERROR = 4
# So many pages at the beginning, and each one after as many, are looked at.
_FIRST_PAGES = 4
_LONGEST_VALUE = 1 << 20
# Bytes of object streams that are looked through for comments, and characters behind a key up to its value.
_LOOKED_THROUGH, _BEFORE_VALUE = 1 << 24, 20
_ABOUT = ("Title", "ModDate", "CreationDate")
# The functions of pdfium that are called by address, by their names without FPDF.
_KINDS = {
    "_GetMetaText": "unsigned long (*)(void *, char *, void *, unsigned long)",
    "_LoadPage": "void *(*)(void *, int)",
    "_ClosePage": "void (*)(void *)",
    "Text_LoadPage": "void *(*)(void *)",
    "Text_ClosePage": "void (*)(void *)",
    "Text_CountChars": "int (*)(void *)",
    "Text_GetText": "int (*)(void *, int, int, unsigned short *)",
    "Text_GetCharOrigin": "int (*)(void *, int, double *, double *)",
    "Text_GetLooseCharBox": "int (*)(void *, int, float *)",
    "Page_GetAnnotCount": "int (*)(void *)",
    "Page_GetAnnot": "void *(*)(void *, int)",
    "Page_CloseAnnot": "void (*)(void *)",
    "Annot_GetSubtype": "int (*)(void *)",
    "Annot_GetStringValue": "unsigned long (*)(void *, char *, void *, unsigned long)",
    "Annot_GetFormFieldName": "unsigned long (*)(void *, void *, void *, unsigned long)",
    "Annot_GetFormFieldValue": "unsigned long (*)(void *, void *, void *, unsigned long)",
}
# Kinds of annotations, by the header of pdfium.
_LINK, _POPUP, _FIELD = 2, 16, 20
# The characters of the first page that are looked at for a title, the lines that it may have, and by how much its
# type is larger than that of all after it.
_HEAD = 2000
_TITLE_LINES = 4
_LARGER = 1.15
_SAME = 0.95


def bounded(pages: Iterable[list[str]], limits: Limits) -> list[list[str]]:
    kept: list[list[str]] = []
    size = 0
    for page in pages:
        size += sum(map(len, page))
        if size > limits.input_bytes:
            raise too_large("the text", size, limits)
        kept.append(page)
    return kept


def read_fast(data: bytes, limits: Limits) -> tuple[dict[str, str], list[list[str]], bool, PartsLeftOut]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD_ERROR:
            raise ExtractionError("encrypted", "an empty password does not open it") from None
        raise ExtractionError("malformed", f"not a PDF, says pdfium: {error}") from None
    _, pdfium = _pdfium()
    handle = handle_of(document)
    failed: list[int] = []
    comments = dict[tuple[str, str], None]()
    parts, whole = _dictionaries(data)
    commented = not whole or _may_have_comments(parts, len(document))

    def pages() -> Iterator[list[str]]:
        columned = False
        for number in range(len(document)):
            with _page(handle, number) as (page, text_page):
                if not text_page:
                    failed.append(number)
                    continue
                if number == 0 and not about["Title"]:
                    about["Title"] = title_on_page(document, text_page)
                # What draws columns in turn does it on all pages, and looking for it takes time.
                looked_at = columned or number < _FIRST_PAGES or number % _FIRST_PAGES == 0
                lines, found = _lines(text_page, by_gaps=looked_at)
                if commented:
                    comments.update(dict.fromkeys(_comments(page)))
            columned = columned or found
            yield lines

    try:
        about = {name: _string(pdfium._GetMetaText, handle, name.encode()) for name in _ABOUT}
        read = bounded(pages(), limits)
        if failed and not any(read):
            raise ExtractionError("malformed", f"pdfium can't load any of {len(document)} pages")
        return about, read, not failed, (*_field_values(document), *comments, *_drawn_signs(parts))
    finally:
        document.close()


@cache
def _pdfium() -> tuple[FFI, Any]:
    """Functions of pdfium by their names. A call of them takes a third of the time of one by ctypes."""
    from ctypes import c_void_p, cast
    from types import SimpleNamespace

    from pypdfium2 import raw

    ffi = FFI()
    functions = {
        name: ffi.cast(kind, cast(getattr(raw, f"FPDF{name}"), c_void_p).value or 0) for name, kind in _KINDS.items()
    }
    return ffi, SimpleNamespace(**functions)


def handle_of(made: Any) -> Any:
    """The handle of a document, page or text of a page of pypdfium2."""
    from ctypes import c_void_p, cast

    return _pdfium()[0].cast("void *", cast(made.raw, c_void_p).value or 0)


@contextmanager
def _page(document: Any, number: int) -> Iterator[tuple[Any, Any]]:
    _, pdfium = _pdfium()
    page = pdfium._LoadPage(document, number)
    text_page = page and pdfium.Text_LoadPage(page)
    try:
        yield page, text_page
    finally:
        if text_page:
            pdfium.Text_ClosePage(text_page)
        if page:
            pdfium._ClosePage(page)


def _text_of(text_page: Any, count: int) -> str:
    ffi, pdfium = _pdfium()
    buffer = ffi.new("unsigned short[]", count + 1)
    size = pdfium.Text_GetText(text_page, 0, count, buffer) - 1
    return ffi.buffer(buffer)[: 2 * size].decode("utf-16-le", "ignore") if size > 0 else ""


def _lines(text_page: Any, *, by_gaps: bool) -> tuple[list[str], bool]:
    ffi, pdfium = _pdfium()
    count = max(pdfium.Text_CountChars(text_page), 0)
    text = _text_of(text_page, count)
    # Characters that pdfium counts and doesn't write would shift the others.
    if len(text) != count:
        return with_ends([PageLine(line.removesuffix("\r")) for line in text.split("\n") if line.strip()]), False
    ask, left, base = pdfium.Text_GetCharOrigin, ffi.new("double *"), ffi.new("double *")

    def left_of(place: int) -> Any:
        ask(text_page, place, left, base)
        return left[0]

    lines, places, place, last = list[PageLine](), list[int](), 0, 0.0
    for line in text.split("\n"):
        if plain := line.strip():
            places.append(place)
            ask(text_page, place + line.index(plain[0]), left, base)
            lines.append(PageLine(line.removesuffix("\r"), left[0], last - base[0], base[0]))
            last = base[0]
        place += len(line) + 1
    lines, columned = ordered(left_of, lines, places, by_gaps=by_gaps)
    return with_ends(lines), columned


def _annotations(page: Any) -> Iterator[tuple[Any, int]]:
    _, pdfium = _pdfium()
    for at in range(pdfium.Page_GetAnnotCount(page)):
        if annotation := pdfium.Page_GetAnnot(page, at):
            yield annotation, pdfium.Annot_GetSubtype(annotation)
            pdfium.Page_CloseAnnot(annotation)


def _field_values(document: pypdfium2.PdfDocument) -> PartsLeftOut:
    from pypdfium2 import PdfiumError, raw

    found: dict[tuple[str, str], None] = {}
    if document.get_formtype() == raw.FORMTYPE_NONE:
        return ()
    document.init_forms()
    if document.formenv is None:
        return ()
    _, pdfium = _pdfium()
    form = handle_of(document.formenv)
    for number in range(len(document)):
        with suppress(PdfiumError), closing(document[number]) as page:
            for annotation, kind in _annotations(handle_of(page)):
                if kind == _FIELD:
                    named = _string(pdfium.Annot_GetFormFieldName, form, annotation)
                    if value := _string(pdfium.Annot_GetFormFieldValue, form, annotation):
                        found[f"field {named}".strip(), value] = None
    return tuple(found)


def _dictionaries(data: bytes) -> tuple[list[bytes], bool]:
    """The bytes in which the dictionaries of a PDF stand, and whether these are all."""
    parts, view, end, left = [data], memoryview(data), 0, _LOOKED_THROUGH
    while (at := data.find(b"/ObjStm", end)) >= 0:
        begin, end = data.find(b"stream", at) + len(b"stream\n"), data.find(b"endstream", at)
        inflating = zlib.decompressobj()
        try:
            parts.append(inflating.decompress(view[begin + data.startswith(b"\n", begin) : end], left))
        except zlib.error:
            return parts, False
        left -= len(parts[-1])
        # Such a stream begins with a number, unless its bytes were changed in another way too.
        if end < begin or left <= 0 or not inflating.eof or not parts[-1][:1].isdigit():
            return parts, False
    return parts, True


def _may_have_comments(parts: list[bytes], pages: int) -> bool:
    """False if no annotation has a text. Asking pdfium for the links of a paper takes a 25th of all its time."""
    values = [rest[:_BEFORE_VALUE].lstrip()[:1] for part in parts for rest in part.split(b"/Contents")[1:]]
    # A page has its drawing under the same key, which is no string.
    return len(values) > pages or any(value in b"(<" for value in values)


def _drawn_signs(parts: list[bytes]) -> PartsLeftOut:
    """The minus signs of plots that matplotlib draws, in a picture of this name."""
    return (("drawn sign", "minus"),) if any(b"-minus " in part for part in parts) else ()


def _comments(page: Any) -> Iterator[tuple[str, str]]:
    value_of = _pdfium()[1].Annot_GetStringValue
    for annotation, kind in _annotations(page):
        # A pop-up shows what another one says.
        if kind not in (_LINK, _POPUP, _FIELD) and (text := _string(value_of, annotation, b"Contents")):
            yield "comment", text


def beside_text(data: bytes) -> PartsLeftOut:
    import pypdfium2

    comments = dict[tuple[str, str], None]()
    with suppress(pypdfium2.PdfiumError), closing(pypdfium2.PdfDocument(data)) as document:
        for number in range(len(document)):
            with suppress(pypdfium2.PdfiumError), closing(document[number]) as page:
                comments.update(dict.fromkeys(_comments(handle_of(page))))
        return (*_field_values(document), *comments, *_drawn_signs(_dictionaries(data)[0]))
    return ()


def _string(function: Any, *given: Any) -> str:
    ffi, _ = _pdfium()
    size = min(function(*given, ffi.NULL, 0), _LONGEST_VALUE)
    buffer = ffi.new("char[]", size)
    function(*given, buffer, size)
    return cleaned(ffi.buffer(buffer)[:].decode("utf-16-le", "replace").rstrip("\0"))


def title_on_page(document: pypdfium2.PdfDocument, text_page: Any) -> str:
    count = min(_pdfium()[1].Text_CountChars(text_page), _HEAD)
    text = _text_of(text_page, count) if count > 0 else ""
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


def _type_size(text_page: Any, begin: int, line: str) -> float:
    ffi, pdfium = _pdfium()
    inked = [place for place, letter in enumerate(line, begin) if not letter.isspace()]
    box = ffi.new("float[4]")
    sizes = []
    for place in (inked[0], inked[len(inked) // 2], inked[-1]):
        known = pdfium.Text_GetLooseCharBox(text_page, place, box)
        # left, top, right, bottom
        sizes.append(box[1] - box[3] if known else 0.0)
    return sorted(sizes)[1]


def _first_bookmark(document: pypdfium2.PdfDocument) -> str:
    try:
        first = next(document.get_toc(max_depth=1), None)
        return str(first.get_title()) if first else ""
    except ValueError:
        # Its letters are no UTF-16.
        return ""
