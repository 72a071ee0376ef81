"""A report on a collection, as a page, as figures, and in a notebook."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexer import own_files
from indexer.errors import UsageError
from indexer.library.rows import html_table
from indexer.report import contents
from indexer.report.html import report_html


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """A report of how much of a collection is duplicated, where and how."""

    contents: contents.Report

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.contents.figures.total.documents

    @property
    def redundant(self) -> int:
        """The number of redundant documents: those that repeat one that is kept."""
        return self.contents.figures.total.redundant

    def to_dict(self) -> dict[str, Any]:
        """All figures, as `neardup report --format json` has them."""
        figures: dict[str, Any] = json.loads(contents.report_json(self.contents))
        return figures

    def to_html(self) -> str:
        """The report as a single page that loads nothing from elsewhere."""
        from indexer import __version__

        return report_html(self.contents, __version__)

    def to_markdown(self) -> str:
        """The figures and the largest clusters as Markdown tables."""
        return contents.report_markdown(self.contents)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file: figures if its name ends in .json, .csv or .md, otherwise the page.

        Raises UsageError.
        """
        ways = {
            ".json": contents.report_json, ".csv": contents.report_csv, ".md": contents.report_markdown,
        }  # fmt: skip
        way = ways.get(Path(path).suffix.lower())
        text = way(self.contents) if way else self.to_html()
        try:
            with open(path, "wb", opener=own_files.writer) as file:
                file.write(text.encode("utf-8"))
        except OSError as error:
            raise UsageError(f"{os.fspath(path)}: the report can't be written: {error.strerror}") from None

    def __repr__(self) -> str:
        return "\n".join(f"{name:<12}  {value}" for name, value in self._cells())

    def _repr_html_(self) -> str:
        return html_table((), self._cells())

    def _cells(self) -> list[tuple[str, str]]:
        numbers = self.contents.figures
        return [
            ("collection", self.contents.store),
            ("rule", numbers.rule.name),
            ("not compared", f"{numbers.not_compared:,}"),
            ("documents", f"{numbers.total.documents:,}"),
            ("redundant", f"{numbers.total.redundant:,} ({numbers.total.part:.1%})"),
            ("clusters", f"{numbers.clusters:,}"),
            ("bytes", f"{numbers.total.total_bytes:,}, of them redundant {numbers.total.redundant_bytes:,}"),
        ]
