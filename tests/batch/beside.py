"""Documents with equal texts, one of them with something else beside its text."""

from __future__ import annotations

import json
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pyarrow.parquet as pq

from indexer.batch.clusters.clustering import ClusteringOptions
from indexer.batch.form import Form
from indexer.batch.reading import rule_of
from indexer.clustering.canonical import CanonicalRule
from tests.batch.batched import MINHASH
from tests.cli.written import prose
from tests.extract.made_office import W, docx
from tests.extract.made_pdf import make_pdf

BESIDE = "1 fact differs: what was read beside the text"
WORDS = prose(4).split()
LINES = [" ".join(WORDS[start : start + 10]) for start in range(0, len(WORDS), 10)]


def page(head: str) -> bytes:
    return make_pdf([LINES, LINES[::-1]], header=head)


def letter(head: str) -> bytes:
    body = f"<w:p><w:r><w:t>{prose(4)}</w:t></w:r></w:p>"
    return docx(body, **{"word/header1.xml": f"<w:hdr {W}><w:p><w:r><w:t>{head}</w:t></w:r></w:p></w:hdr>"})


def mail(subject: str) -> bytes:
    made = EmailMessage()
    made["From"], made["Subject"], made["Date"] = "Ann <a@example.org>", subject, "Mon, 05 Jan 2026 10:00:00 +0100"
    made.set_content(prose(4))
    return bytes(made)


def row(title: str) -> bytes:
    return json.dumps({"title": title, "text": prose(4)}).encode()


def written(folder: Path, ending: str, made: Callable[[str], bytes]) -> Path:
    """Two copies, and one that differs from them beside its text."""
    folder.mkdir()
    for name, place in (("a", "quay"), ("b", "quay"), ("c", "mill")):
        (folder / f"{name}.{ending}").write_bytes(made(f"Invoice for the {place}"))
    return folder


def decided(out: Path) -> dict[str, tuple[bool, str | None, str | None]]:
    rows = [row for path in out.glob("clusters/*") for row in pq.read_table(path).to_pylist()]
    return {row["id"].partition(".")[0]: (row["keep"], row["relation"], row["evidence"]) for row in rows}


def options() -> ClusteringOptions:
    return ClusteringOptions(rule_of(Form((MINHASH,)), None), CanonicalRule(), threads=1)
