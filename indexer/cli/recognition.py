"""`neardup ocr`."""

from __future__ import annotations

import click

from indexer.cli.options.answers import Answering
from indexer.cli.options.shared import json_option
from indexer.cli.terminal.output import answer_json, fields, size
from indexer.text.counts import counted


@click.command(
    cls=Answering,
    answers="recognition:OcrState",
    short_help="Show what OCR needs, and the results kept.",
    epilog="""
\b
Examples:
  neardup ocr
  neardup ocr --clear
  neardup index scans/ --ocr eng+deu --kind scans
""",
)
@click.option("--clear", is_flag=True, allow_from_autoenv=False, help="Remove the kept results.")
@json_option
def ocr(clear: bool, json: bool) -> None:
    """Show which tesseract reads scanned pages, in which languages, and how much of what it read is kept."""
    from indexer.library.recognition import ocr_state

    state = ocr_state(clear=clear)
    if json:
        answer_json(state)
        return
    fields(
        [
            ("tesseract", state.version or f"not installed; OCR needs {state.needs}"),
            ("Pillow", "" if state.pillow else f"not installed; OCR needs {state.needs}"),
            ("languages", ", ".join(state.languages)),
            ("removed", counted(state.removed, "document") if clear else ""),
            (
                "kept",
                f"{counted(state.documents, 'document')}, {size(state.bytes)} of at most {size(state.most_bytes)}",
            ),
            ("folder", state.folder),
        ]
    )


COMMANDS = (ocr,)
