"""The count of scanned pages in an extractor's name."""

from __future__ import annotations

import re

from indexer.text.counts import counted

_NOT_READ = re.compile(r"; [\d,]+ scanned pages? not read")
_READ_BY = re.compile(r"; ([\d,]+) scanned pages? by tesseract \S+ \(([\w+/]+)\)")


def read_by(pages: int, version: str, languages: str) -> str:
    return f"; {counted(pages, 'scanned page')} by tesseract {version} ({languages})" if pages else ""


def not_read(pages: int) -> str:
    return f"; {counted(pages, 'scanned page')} not read" if pages else ""


def is_lacking(extractor: str, languages: str = "") -> bool:
    read_in = languages_of(extractor)
    return bool(_NOT_READ.search(extractor)) or bool(languages and read_in and read_in != languages)


def languages_of(extractor: str) -> str:
    found = _READ_BY.search(extractor)
    return found[2] if found else ""


def pages_read(extractor: str) -> int:
    found = _READ_BY.search(extractor)
    return int(found[1].replace(",", "")) if found else 0
