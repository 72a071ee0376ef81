"""Mails with one disclaimer, written to a folder, and which of them a store finds near."""

from __future__ import annotations

import textwrap
from email.message import EmailMessage
from pathlib import Path

from indexer.library.collection import Collection
from tests.cli.written import prose

DISCLAIMER = textwrap.fill(f"This letter is for the named reader alone. {prose(999, 150)}", 72)


def mail(number: int, words: int = 40, *, below: str = DISCLAIMER, kind: str = "plain", attached: int = 0) -> bytes:
    made = EmailMessage()
    made["From"], made["To"] = f"ann{number % 7}@example.org", "ben@example.org"
    made["Subject"], made["Message-ID"] = f"Topic {number}", f"<{number}.{words}@example.org>"
    body, end = textwrap.fill(prose(number, words), 72), below
    if kind == "html":
        body, end = f"<p>{body}</p>", f"<div>{below}</div>"
    made.set_content(f"{body}\n\n{end}\n", subtype=kind)
    if attached:
        made.add_attachment(str(number).encode(), "application", "x-none", filename="a.bin")
    return bytes(made)


def written(folder: Path, mails: list[bytes], first: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    for number, data in enumerate(mails, first):
        (folder / f"{number:03}.eml").write_bytes(data)
    return folder


def near(store: Collection) -> set[frozenset[str]]:
    return {frozenset((one.left, one.right)) for one in store.pairs()}
