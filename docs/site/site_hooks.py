"""Pages outside docs/, and links written for the repository; mkdocs.yml has no words for either.

A page of the site is a file of the repository, and its links lead from file to file there. Here they are turned into
links from page to page.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
# Where files outside docs/ stand in the site.
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "docker/README.md": "docker.md",
    "mappings/README.md": "mappings.md",
    "mappings/dashboards/kibana.ndjson": "files/kibana.ndjson",
    "mappings/dashboards/opensearch-dashboards.ndjson": "files/opensearch-dashboards.ndjson",
}
_PLACES = {place: file for file, place in OUTSIDE.items()}
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_startup(**_: Any) -> None:
    """Let the modules beside this file be found."""
    sys.path.insert(0, str(Path(__file__).parent))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside docs/, and the pages of notebooks."""
    import notebook_pages

    for file, place in OUTSIDE.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / file)))
    for notebook in sorted(notebook_pages.NOTEBOOKS.glob("*.ipynb")):
        page, pictures = notebook_pages.page_of(notebook)
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=page))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=picture))
    return files


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Call the modules of the reference `neardup`, also if the code says `indexer`."""
    return (
        re.sub(r"\bindexer\.(?=[a-z_]+\.?\w)", "neardup.", html) if page.file.src_uri == "reference/python.md" else html
    )


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links between files of the repository into links between pages of the site; code is left alone."""
    parts = _CODE.split(markdown)
    parts[::2] = [_LINK.sub(lambda link: _in_site(link[1], page.file.src_uri), part) for part in parts[::2]]
    return "".join(parts)


def _in_site(target: str, page: str) -> str:
    origin = posixpath.dirname(_PLACES.get(page, f"docs/{page}"))
    file = posixpath.normpath(posixpath.join(origin, target))
    place = OUTSIDE.get(file, file.removeprefix("docs/"))
    if place.endswith(".ipynb"):
        place = place.removesuffix("ipynb") + "md"
    return posixpath.relpath(place, posixpath.dirname(page) or ".")
