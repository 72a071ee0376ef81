"""Notebooks as pages of the site, and run again: `python docs/site/notebook_pages.py` puts fresh outputs into each.

A page loads nothing from elsewhere: it is Markdown, made of the cells as they are stored, with its pictures as files
beside it.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def executed(path: Path) -> Any:
    """A notebook with new outputs. Raises nbclient's CellExecutionError if a cell fails."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", coalesce_streams=True).execute()
    for cell in notebook.cells:
        # When it was run, and how the kernel counts, are nobody's concern.
        cell.metadata.clear()
    return notebook


def page_of(path: Path) -> tuple[str, Mapping[str, bytes]]:
    """A notebook as Markdown, and its pictures by their names."""
    pictures: dict[str, bytes] = {}
    parts: list[str] = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            parts += [f"```python\n{cell.source}\n```", *_outputs(path.stem, cell.outputs, pictures)]
    return "\n\n".join(parts) + "\n", pictures


def _outputs(name: str, outputs: Any, pictures: dict[str, bytes]) -> Iterator[str]:
    for output in outputs:
        data = output.get("data", {})
        if "image/png" in data:
            picture = f"{name}-{len(pictures) + 1}.png"
            pictures[picture] = base64.b64decode(data["image/png"])
            yield f"![A picture of the figures]({picture})"
        elif "text/html" in data:
            # Markdown would take blank lines and what follows for its own.
            yield " ".join(data["text/html"].split())
        else:
            text = output.get("text") or data.get("text/plain", "")
            yield f"```text\n{text.rstrip()}\n```"


def main() -> None:
    """Run every notebook, and store it with its outputs."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(executed(path), path)
        print(path)


if __name__ == "__main__":
    sys.exit(main())
