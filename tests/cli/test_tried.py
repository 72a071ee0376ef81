"""The page on kinds of documents that were tried says what `compare` answers about them."""

from __future__ import annotations

import re
from email.message import EmailMessage
from pathlib import Path

import pytest

from indexer.library.comparing import compare
from tests.cli.written import prose
from tests.extract.made_office import W, docx
from tests.extract.made_pdf import make_pdf

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "tried.md"
TEXT = f"The ferry leaves the north pier at seven. It takes forty minutes. {prose(6, 60).capitalize()}."
LINES = [TEXT[start : start + 60] for start in range(0, len(TEXT), 60)]
ARABIC = "كتب الطالب الدرس في المدرسة ثم عاد الى البيت مع اخيه ونام في الليل الطويل بعد يوم طويل جدا"


def mail(subject: str, day: int) -> bytes:
    made = EmailMessage()
    made["From"], made["Subject"], made["Date"] = (
        "Ann <a@example.org>",
        subject,
        f"Mon, {day:02} Jan 2026 10:00:00 +0100",
    )
    made.set_content(TEXT)
    return bytes(made)


def letter(number: int) -> bytes:
    head = f"<w:hdr {W}><w:p><w:r><w:t>Bill {number}</w:t></w:r></w:p></w:hdr>"
    return docx(f"<w:p><w:r><w:t>{TEXT}</w:t></w:r></w:p>", **{"word/header1.xml": head})


def subtitles(minute: int) -> str:
    said = enumerate(TEXT.split(". "), 1)
    return "".join(f"{n}\n00:{minute:02}:{n:02},000 --> 00:{minute:02}:{n:02},900\n{line}\n\n" for n, line in said)


def page(body: str, title: str = "") -> str:
    return f"<title>{title}</title><main><p>{body}</p></main>"


def ticked(column: int) -> str:
    cells = "".join(f"<td>{'x' * (place == column)}</td>" for place in (1, 2))
    return f"<table><tr><th>part<th>good<th>bad</tr><tr><td>horn</td>{cells}</tr></table>"


KINDS: dict[str, tuple[str, str | bytes, str | bytes]] = {
    "PDF pages with another bill number in their margin": (
        "pdf", make_pdf([LINES, LINES[::-1]], header="Bill 4711"), make_pdf([LINES, LINES[::-1]], header="Bill 5822"),
    ),
    "letters with another bill number in the page header (DOCX)": ("docx", letter(4711), letter(5822)),
    "mails with another subject and date": ("eml", mail("Rent for May", 5), mail("Rent for June", 6)),
    "web pages with another title": ("html", page(TEXT, "Flat at the quay"), page(TEXT, "Flat at the mill")),
    "web pages, one with deleted words": (
        "html", page(f"{TEXT} It is <del>not</del> open."), page(f"{TEXT} It is open."),
    ),
    "web pages, one with a cookie banner": (
        "html", page(TEXT), f"<div class=cookie-banner>We use cookies <button>Fine</button></div>{page(TEXT)}",
    ),
    "a Markdown file and its HTML": ("md/html", f"# Ferry\n\n{TEXT}", f"<h1>Ferry</h1><p>{TEXT}</p>"),
    "subtitles with other times": ("srt", subtitles(1), subtitles(7)),
    "a log with terminal colours and without": ("txt", TEXT, TEXT.replace("ferry", "\x1b[31mferry\x1b[0m")),
    "links with other tracking parameters": (
        "txt", f"{TEXT} https://a.example/x?id=5&utm_source=mail", f"{TEXT} https://a.example/x?id=5&utm_source=feed",
    ),
    "an Arabic text with and without vowel signs": ("txt", ARABIC, ARABIC.replace("كتب", "كَتَبَ")),
    "tables of numbers, equal to the byte": ("txt", "1 2\n3 4\n", "1 2\n3 4\n"),
    "a superscript and a plain digit (10⁶, 106)": ("txt", f"{TEXT} It has 10⁶ cells.", f"{TEXT} It has 106 cells."),
    "a checked and an unchecked box": ("txt", f"{TEXT} Brakes ☑ horn ☐", f"{TEXT} Brakes ☐ horn ☑"),
    "a tick in another column of a table": ("html", page(f"{TEXT}{ticked(1)}"), page(f"{TEXT}{ticked(2)}")),
    "a negative and a positive amount": ("txt", f"{TEXT} It made –$5.", f"{TEXT} It made $5."),
    "a list with bullets and without": ("txt", f"{TEXT}\n\ntea\nrye\n", f"{TEXT}\n\n• tea\n• rye\n"),
    "a clause more (\"except on Sundays\")": ("txt", TEXT, TEXT.replace("seven.", "seven, except on Sundays.")),
    "a sentence more (\"This rule was repealed.\")": ("txt", TEXT, f"{TEXT} This rule was repealed."),
}  # fmt: skip


def listed() -> dict[str, str]:
    return dict(re.findall(r"^\| ([^|]+) \| ([a-z]+) \|$", PAGE.read_text(), re.MULTILINE))


def test_each_kind_is_on_the_page() -> None:
    assert listed().keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_what_is_answered(kind: str, tmp_path: Path) -> None:
    endings, *both = KINDS[kind]
    names = []
    for name, ending, data in zip("ab", (endings.split("/") * 2)[:2], both, strict=True):
        names.append(tmp_path / f"{name}.{ending}")
        names[-1].write_bytes(data.encode() if isinstance(data, str) else data)
    assert compare(names[0], names[1]).relation == listed()[kind]
