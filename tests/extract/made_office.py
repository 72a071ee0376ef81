"""Office documents, written by hand."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            kind = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, data, kind)
    return out.getvalue()


def docx(body: str = "", **more: str | bytes) -> bytes:
    text = f"""<w:document {W}><w:body><w:p><w:r><w:t>One wo</w:t></w:r><w:r><w:t>rd</w:t></w:r></w:p>
        <w:p><w:del><w:r><w:delText>deleted</w:delText><w:t>gone</w:t></w:r></w:del><w:r><w:instrText>PAGE</w:instrText>
        <w:t>in</w:t><w:tab/><w:t>line</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl>{body}</w:body></w:document>"""
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": text,
            "word/footnotes.xml": f"<w:notes {W}><w:p><w:r><w:t>a note</w:t></w:r></w:p></w:notes>",
            "word/header1.xml": f"<w:hdr {W}><w:p><w:r><w:t>the header</w:t></w:r></w:p></w:hdr>",
            "docProps/core.xml": "<cp xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>A letter</dc:title></cp>",
            **more,
        }
    )
