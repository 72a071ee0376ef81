"""The site is built from the pages without a complaint, and has what is generated: all commands and public names."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import indexer
from indexer.cli import cli
from tests.pages import DOCS, PAGES, README, ROOT

ARTICLE = re.compile(r"<article.*?</article>", re.DOTALL)
# What a browser fetches by itself.
LOADED = re.compile(r"<(?:link\b[^>]*?\bhref|(?:script|img|iframe|source)\b[^>]*?\bsrc)=\"?([^\"\s>]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with every warning an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_links_lead_from_the_readme_to_every_page() -> None:
    reached, waiting = {README}, [README]
    while waiting:
        page = waiting.pop()
        targets = re.findall(r"\]\(([^):#]+\.md)[#)]", page.read_text("utf-8"))
        new = {(page.parent / target).resolve() for target in targets} - reached
        reached |= new
        waiting += new
    assert set(DOCS.rglob("*.md")) <= reached


def shown(page: Path) -> str:
    """What a page says, without marks."""
    [article] = ARTICLE.findall(page.read_text("utf-8"))
    return html.unescape(re.sub(r"<[^>]+>", "", article))


def test_every_page_is_in_it(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) >= len(PAGES)
    assert README.read_text("utf-8").splitlines()[0].strip("# ") in shown(site / "index.html")


@pytest.mark.parametrize("name", cli.commands)
def test_every_option_is_in_the_reference(site: Path, name: str) -> None:
    text = shown(site / "reference" / "commands.html")
    found = re.search(rf"^neardup {name}¶$(.*?)(?=^neardup \w+¶$|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"the reference has no section for {name}"
    options = {option for each in cli.commands[name].params if isinstance(each, click.Option) for option in each.opts}
    assert options <= set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", found[1]))
    examples = re.findall(r"^ +(.*neardup .*)", cli.commands[name].epilog or "", re.MULTILINE)
    assert examples
    assert all(example in found[1] for example in examples)


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "python.html").read_text("utf-8")
    for name in set(indexer.__all__) - {"__version__"}:
        assert re.search(rf'id="neardup\.(?:{name}\.)?{name}"', page), name
    assert "indexer." not in page


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """What a page's own text links to in the site, with the anchor."""
    [article] = ARTICLE.findall(page.read_text("utf-8"))
    for target in re.findall(r"(?:href|src)=\"([^\"]*)\"", article):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = html.unescape(target).partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def test_links_lead_somewhere(site: Path) -> None:
    followed = 0
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        for target, anchor in links(page):
            assert target.is_file(), f"{page.name}: {target}"
            if anchor:
                assert f'id="{anchor}"' in target.read_text("utf-8"), f"{page.name}: {target.name}#{anchor}"
            followed += 1
    assert followed > 200


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for target in LOADED.findall(page.read_text("utf-8")):
            assert not re.match(r"[a-z]+:|//", target), f"{page.name}: {target}"


def test_the_search_works_in_a_folder(site: Path, tmp_path: Path) -> None:
    """A browser that opened a file may load no index by itself, so the index is a script of the page's."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("NEEDS CHROMIUM: no browser on the path; the site was not searched in one")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
    command += [
        "--disable-background-networking",
        "--disable-component-update",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    command += ["--virtual-time-budget=10000", "--dump-dom", (site / "index.html").as_uri() + "?q=spotsigs"]
    page = subprocess.run(command, capture_output=True, timeout=120).stdout.decode()
    assert "reference/schemes.html" in "".join(re.findall(r'<a href="([^"]*)" class="md-search-result__link"', page))
