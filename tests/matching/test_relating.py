"""Relations of stored pages by their digests: what the texts would tell, without a look at them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest

import indexer
from indexer.errors import ExtractionError
from indexer.ingest.rereading import StoredTexts
from indexer.library.options import RemovalRequest
from indexer.matching.relating import stored_texts
from indexer.model import Document, Record
from indexer.stores import Store
from tests.cli.written import prose

TITLES = ("Orders of spring", "Orders of autumn", "")
FORMS = ('<form><input name="quantity" value="12"></form>', '<form><input name="quantity" value="21"></form>', "")
MENUS = ("<nav><a href='/a'>Home</a> <a href='/b'>Basket</a></nav>", "<nav><a href='/c'>Sign in</a></nav>")
BODY = "".join(f"<p>{prose(number, 30)}</p>" for number in range(5))
BODIES = (BODY, BODY.upper().replace("<P>", "<p>\n").replace("</P>", "</p>"), BODY.replace("</p>", " Thanks.</p>", 1))
PAGES = {f"{number:03}.html": each for number, each in enumerate(product((0, 1, 2), TITLES, FORMS, MENUS))}


def is_told_by_digests(one: str, other: str) -> bool:
    """True for one text and one form, and titles that do not contradict each other."""
    (body, title, form, _), (other_body, other_title, other_form, _) = PAGES[one], PAGES[other]
    return (
        (body == 2) == (other_body == 2) and form == other_form and (title == other_title or "" in (title, other_title))
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of pages with each combination of body, title, form and menu, in `pages`."""
    folder = tmp_path_factory.mktemp("relating")
    (folder / "pages").mkdir()
    for name, (body, title, form, menu) in PAGES.items():
        page = f"<html><head><title>{title}</title></head><body>{menu}<main>{BODIES[body]}{form}</main></body></html>"
        (folder / "pages" / name).write_text(page)
    with indexer.open(folder / "s.neardup") as collection:
        collection.index(folder / "pages", id_from="relative")
    return folder


def opened(folder: Path) -> Store:
    return indexer.open(folder / "s.neardup").store


def without(record: Record) -> Record:
    return replace(record, beside_digest="")


def test_with_and_without_the_digest_the_relations_are_equal(pages: Path) -> None:
    with opened(pages) as store:
        records = list(store.scan(sketches=False))
        texts = stored_texts(store)
        texts.prepare([records])
        for one, other in combinations(records, 2):
            told = texts.between(without(one), without(other))
            assert texts.between(one, other) == told
            known = texts.known(one, other)
            assert (known is not None) == is_told_by_digests(one.ref.id, other.ref.id), (one.ref.id, other.ref.id)
            assert known in (None, told)


def test_each_document_is_read_once_for_all_that_is_read_of_it(pages: Path) -> None:
    read: list[str] = []

    class Counting(StoredTexts):
        def documents(self, records: Iterable[Record]) -> Iterator[tuple[Record, Document | ExtractionError]]:
            for record, document in super().documents(records):
                read.append(record.ref.id)
                yield record, document

    with opened(pages) as store:
        records = [without(record) for record in store.scan(sketches=False)]
        texts = stored_texts(store, Counting(store))
        texts.prepare([records])
        for one, other in combinations(records, 2):
            texts.between(one, other)
    assert sorted(read) == sorted(record.ref.id for record in records)


def test_pages_in_other_menus_go_without_their_texts(pages: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    shutil.copytree(pages / "pages", gone)
    with indexer.open(tmp_path / "s.neardup") as collection:
        collection.index(gone, id_from="relative")
        shutil.rmtree(gone)
        collection.cluster(relation=True)
        surplus = collection.prune(RemovalRequest(), dry_run=True).surplus
    named = {row.id: row.repeats for row in surplus if not row.kept}
    assert all(is_told_by_digests(*pair) for pair in named.items())
    # Of each text and form one page with each title stays.
    assert len(PAGES) - len(named) == 2 * 3 * 2
