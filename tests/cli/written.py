"""Documents that the tests write themselves: prose that is the same on every run, in every format."""

from __future__ import annotations

import random
import re
from html import escape

_SYLLABLES = [consonant + vowel for consonant in "bdklmn" for vowel in "aeiou"]


def prose(seed: int, words: int = 200) -> str:
    """Words that depend on the seed alone; two seeds give unrelated texts."""
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices(_SYLLABLES, k=3)) for _ in range(80)]
    return " ".join(chance.choices(vocabulary, k=words))


def changed(text: str, place: int = 7) -> str:
    """The text with one word added: a near-duplicate that is reworded, so neither can replace the other."""
    words = text.split()
    words.insert(place, "also")
    return " ".join(words)


def html(text: str, title: str = "") -> bytes:
    """A page with navigation around the text."""
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{escape(title)}</title></head><body>"
        f"<nav>Home About Contact</nav><main><h1>{escape(title)}</h1><p>{escape(text)}</p></main></body></html>"
    ).encode()


def xml(text: str) -> bytes:
    """An XML document of no known vocabulary."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<note><body><p>{escape(text)}</p></body></note>'.encode()


def pdf(text: str) -> bytes:
    """A PDF of as many pages as it takes, one font, ten words a line."""
    words = re.findall(r"[ -~]+", text)[0].split()
    lines = [" ".join(words[start : start + 10]) for start in range(0, len(words), 10)]
    pages = [lines[start : start + 50] for start in range(0, len(lines), 50)]
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, page in enumerate(pages):
        content = "BT /F1 11 Tf 14 TL 50 780 Td " + " ".join(f"({_literal(line)}) '" for line in page) + " ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream".encode())
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def _literal(line: str) -> str:
    return re.sub(r"([\\()])", r"\\\1", line)
