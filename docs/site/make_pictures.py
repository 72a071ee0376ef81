"""Makes docs/report.png: the report on a collection of this project's own pages in several editions.

Run as `python docs/site/make_pictures.py`; it needs Chromium. The collection is the sections of README.md and of pages
below this folder: three yearly editions under two page designs and as plain text, the later ones with words changed.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    *(f"docs/how-to/{name}.md" for name in ("indexing", "rules", "clusters", "engines", "annotating", "report")),
    "docs/coming-from.md",
    "docs/simhash-doc.md",
)
SHORTEST = 60
WIDTH, HEIGHT = 1180, 1500


def sections() -> Iterator[tuple[str, str]]:
    """Heading and text of each section long enough for a useful fingerprint."""
    for page in PAGES:
        text = re.sub(r"```.*?```", "", (DOCS.parent / page).read_text("utf-8"), flags=re.DOTALL)
        for part in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
            heading, _, body = part.partition("\n")
            if len(body.split()) >= SHORTEST and "|" not in body:
                yield heading.strip(" `"), body.replace("`", "").replace("**", "")


def plain_page(heading: str, body: str) -> str:
    """The page as plain text."""
    return f"{heading}\n\n{body}"


def first_design(heading: str, body: str) -> str:
    """The page with a menu on top."""
    title, text = html.escape(heading), html.escape(body)
    return f"<!doctype html><title>{title}</title><nav>Home Search News</nav><main><h1>{title}</h1><p>{text}</p></main>"


def second_design(heading: str, body: str) -> str:
    """The page with a frame of tables and a footer."""
    title, text = html.escape(heading), html.escape(body)
    frame = f"<table><tr><td><h2>{title}</h2><div>{text}</div></td></tr></table>"
    return f"<!doctype html><title>{title} | Manual</title>{frame}<footer>All editions, imprint, contact</footer>"


def edited(body: str, every: int) -> str:
    """The text with each so-many-th word left out."""
    return " ".join(word for place, word in enumerate(body.split(), 1) if place % every)


def write_collection(folder: Path) -> None:
    """Three editions: some lack pages, later ones have changes, and some files can't be compared."""
    for name in ("2023", "2024", "2025"):
        (folder / name).mkdir(parents=True)
    for number, (heading, body) in enumerate(sections()):
        stem = f"{number:03d}"
        if number % 3 != 2:
            (folder / "2023" / f"{stem}.html").write_text(first_design(heading, body), "utf-8")
        if number % 4 != 3:
            (folder / "2024" / f"{stem}.html").write_text(second_design(heading, edited(body, 90)), "utf-8")
        if number % 2 == 0:
            (folder / "2025" / f"{stem}.txt").write_text(plain_page(heading, edited(body, 45)), "utf-8")
        if number % 5 == 0:
            (folder / "2025" / f"{stem}-copy.html").write_text(second_design(heading, body), "utf-8")
    for number in range(3):
        (folder / "2023" / f"torn-{number}.pdf").write_text("%PDF-1.4 and no more", "utf-8")
        (folder / "2024" / f"menu-{number}.html").write_text("<title>Menu</title><nav>Home</nav>", "utf-8")
    (folder / "2025" / "notice.txt").write_text("Closed on Mondays", "utf-8")


def main() -> None:
    """Make the collection, cluster it, write the report and take its picture."""
    browser = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("needs Chromium")
    folder = Path(tempfile.gettempdir()) / "example"
    folder.mkdir()
    try:
        write_collection(folder / "manual")
        environment = {**os.environ, "NEARDUP_STORE": "manual.neardup"}
        for arguments in (["index", "manual"], ["cluster"], ["report", "-o", "report.html"]):
            subprocess.run([sys.executable, "-m", "neardup", *arguments], cwd=folder, env=environment, check=True)  # noqa: S603
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        command += [f"--user-data-dir={folder / 'profile'}", f"--window-size={WIDTH},{HEIGHT}"]
        command += [f"--screenshot={DOCS / 'report.png'}", (folder / "report.html").as_uri()]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
