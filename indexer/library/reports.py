"""A report on a collection, as a page or figures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from indexer.errors import UsageError
from indexer.library.options import ReportFormat
from indexer.library.rows import html_table
from indexer.model import own_files
from indexer.model.declared import as_json
from indexer.model.paths import printable_path
from indexer.model.release import VERSION
from indexer.report import contents
from indexer.report.figures import ReportFigures
from indexer.report.html import report_html


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """A report on the number, places and forms of duplicates in a collection."""

    contents: contents.ReportContents

    @property
    def figures(self) -> ReportFigures:
        """All figures as plain values."""
        return self.contents.figures

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.figures.documents

    @property
    def repeating(self) -> int:
        """The number of documents that repeat another one: all that are near a kept one."""
        return self.figures.repeating.documents

    @property
    def could_go(self) -> int:
        """The number of documents that could go without loss."""
        return self.figures.could_go.documents

    def to_dict(self) -> dict[str, Any]:
        """All figures, as `neardup report --format json` has them."""
        figures: dict[str, Any] = as_json(self.figures)
        return figures

    def to_html(self) -> str:
        """The report as a single page without outside content."""
        return self.text("html")

    def to_markdown(self) -> str:
        """The figures and the largest clusters as Markdown tables."""
        return self.text("md")

    def text(self, form: ReportFormat) -> str:
        """The report in a format: the page, or figures."""
        if form == "html":
            return report_html(self.contents, VERSION)
        ways = {"json": contents.report_json, "csv": contents.report_csv, "md": contents.report_markdown}
        return ways[form](self.contents)

    def save(self, path: str | os.PathLike[str], form: ReportFormat | None = None) -> int:
        """Write the report to a file; return its size in bytes.

        Without a format: figures if its name ends in .json, .csv or .md, otherwise the page. Raises UsageError.
        """
        ending = Path(path).suffix[1:].lower()
        data = self.text(form or cast(ReportFormat, ending if ending in ("json", "csv", "md") else "html")).encode()
        try:
            with open(path, "wb", opener=own_files.writer) as file:
                return file.write(data)
        except OSError as error:
            shown = printable_path(os.fspath(path))
            raise UsageError(f"{shown}: the report can't be written: {error.strerror}") from None

    def __repr__(self) -> str:
        return "\n".join(f"{name:<12}  {value}" for name, value in self._cells())

    def _repr_html_(self) -> str:
        return html_table((), self._cells())

    def _cells(self) -> list[tuple[str, str]]:
        numbers = self.figures
        return [
            ("collection", numbers.store),
            ("rule", self.contents.rule.name),
            ("not compared", f"{numbers.not_compared:,}"),
            ("documents", f"{numbers.documents:,}"),
            ("repeating", f"{numbers.repeating.documents:,} ({numbers.repeating.share:.1%})"),
            ("could go", f"{numbers.could_go.documents:,}"),
            ("same work", f"{numbers.same_work.documents:,}"),
            ("differ", f"{numbers.differ.documents:,}"),
            ("clusters", f"{numbers.clusters:,}"),
            ("bytes", f"{numbers.bytes:,}, of what could go {numbers.could_go.bytes:,}"),
        ]
