"""From what a user names to a stream of inputs: walking, patterns, ids, lists of paths."""

from __future__ import annotations

import os
import random
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import NotFoundError
from indexer.ingest import naming
from indexer.ingest.from_store import stored_inputs
from indexer.ingest.indexing import Settings as Indexing
from indexer.ingest.indexing import index, store_info
from indexer.ingest.naming import walk_order
from indexer.ingest.regular_files import UnreadableError, read_file
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.library.opening import open_store
from indexer.library.options import list_of_paths
from indexer.model import own_files
from indexer.model.paths import path_of_printable, printable_path


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def ids(found: Sources) -> list[str]:
    return [item.id for item in found]


def walked(folder: Path, **chosen: object) -> list[str]:
    return ids(Sources([str(folder)], Selection(id_from="relative", **chosen)))  # type: ignore[arg-type]


def test_a_folder_is_walked_in_order_without_hidden_files_and_non_documents(tmp_path: Path) -> None:
    touch(
        tmp_path,
        "b.html",
        "a/z.txt",
        "a/b/c.xml",
        "a/.git/x.txt",
        ".hidden.html",
        "style.css",
        "PICTURE.PNG",
        "none",
        "dump.jsonl.gz.part",
    )
    found = Sources([str(tmp_path)], Selection(id_from="relative"))
    assert ids(found) == ["a/b/c.xml", "a/z.txt", "b.html", "none"]
    assert found.passed_over.total == 5


def test_what_stands_beside_a_database_is_no_document(tmp_path: Path) -> None:
    touch(
        tmp_path, *(f"{name}{suffix}" for name in ("a.neardup", "b.DB", "c.html") for suffix in ("", "-wal", "-lock"))
    )
    touch(tmp_path, "d.sqlite-journal", "e.db-shm", "f.db-notes")
    assert walked(tmp_path) == ["c.html", "c.html-lock", "c.html-wal", "f.db-notes"]


def test_include_takes_what_is_no_document_and_hidden_what_is_hidden(tmp_path: Path) -> None:
    touch(tmp_path, "a.css", "sub/b.css", "c.html", ".d.css")
    assert walked(tmp_path, include=("*.css",)) == ["a.css", "sub/b.css"]
    assert walked(tmp_path, include=("*.css",), hidden=True) == [".d.css", "a.css", "sub/b.css"]
    assert walked(tmp_path, include=("sub/*",)) == ["sub/b.css"]


def test_exclude_wins_and_keeps_out_of_folders(tmp_path: Path) -> None:
    touch(tmp_path, "a.html", "drafts/b.html", "deep/drafts/c.html", "deep/d.html")
    assert walked(tmp_path, exclude=("drafts",)) == ["a.html", "deep/d.html"]
    assert walked(tmp_path, exclude=("deep/*",)) == ["a.html", "drafts/b.html"]
    assert walked(tmp_path, include=("*.html",), exclude=("a.*",)) == [
        "deep/d.html",
        "deep/drafts/c.html",
        "drafts/b.html",
    ]


def test_links_to_folders_are_followed_on_demand_and_never_in_circles(tmp_path: Path) -> None:
    touch(tmp_path, "root/a.txt", "elsewhere/b.txt")
    (tmp_path / "root/out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "root/up").symlink_to(tmp_path / "root")
    (tmp_path / "elsewhere/back").symlink_to(tmp_path / "root")
    (tmp_path / "root/file.txt").symlink_to(tmp_path / "elsewhere/b.txt")
    found = Sources([str(tmp_path / "root")], Selection(id_from="relative"))
    assert ids(found) == ["a.txt", "file.txt"]
    assert found.passed_over.total == 2
    assert walked(tmp_path / "root", follow_links=True) == ["a.txt", "file.txt", "out/b.txt"]


def test_a_link_to_a_file_of_the_same_folder_is_no_second_document(tmp_path: Path) -> None:
    touch(tmp_path, "root/a.txt", "root/.kept/b.txt", "root/drafts/c.txt", "elsewhere/d.txt")
    for name, target in [("a", "a"), ("b", ".kept/b"), ("c", "drafts/c"), ("d", "../elsewhere/d"), ("gone", "nowhere")]:
        (tmp_path / f"root/link-{name}.txt").symlink_to(f"{target}.txt")
    found = Sources([str(tmp_path / "root")], Selection(id_from="relative", exclude=("drafts",)))
    assert ids(found) == ["a.txt", "link-b.txt", "link-c.txt", "link-d.txt", "link-gone.txt"]
    assert walked(tmp_path / "root") == ["a.txt", "drafts/c.txt", "link-b.txt", "link-d.txt", "link-gone.txt"]
    assert found.passed_over.total == 2


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.txt", "link-a.txt", "sub/link-up.txt"], ["a.txt"]),
        (["link-a.txt", "a.txt", "link-c.txt"], ["a.txt", "link-c.txt"]),
        (["link-a.txt", "sub/link-up.txt"], ["link-a.txt", "sub/link-up.txt"]),
        (["link-c.txt", "sub"], ["sub/c.txt", "sub/link-up.txt"]),
        (["a.txt", "sub"], ["a.txt", "sub/c.txt"]),
        (["*.txt"], ["a.txt", "link-c.txt"]),
        (["link-*.txt"], ["link-a.txt", "link-c.txt"]),
        (["**/*.txt"], ["a.txt", "sub/c.txt"]),
        (["*"], ["a.txt", "sub/c.txt"]),
        (["**"], ["a.txt", "sub/c.txt"]),
        (["sub/*.txt", "a.*"], ["a.txt", "sub/c.txt"]),
    ],
)
def test_a_link_to_a_file_that_is_named_is_no_second_document(
    names: list[str], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path, "a.txt", "sub/c.txt")
    for link, target in [("link-a.txt", "a.txt"), ("link-c.txt", "sub/c.txt"), ("sub/link-up.txt", "../a.txt")]:
        (tmp_path / link).symlink_to(target)
    monkeypatch.chdir(tmp_path)
    found = Sources(names, Selection(base=str(tmp_path)))
    assert sorted(ids(found)) == expected


def test_what_is_excluded_is_no_reason_to_pass_over_a_link(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt")
    (tmp_path / "link.txt").symlink_to("a.txt")
    assert ids(Sources([f"{tmp_path}/*.txt"], Selection(id_from="name", exclude=("a.*",)))) == ["link.txt"]


@pytest.mark.parametrize("part", [1, 10, 31, 50_000])
def test_folders_are_walked_in_one_order_however_large(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "FOLDER_PART", part)
    names = [f"{number:03}.txt" for number in range(30)]
    names += ["sub/x.txt", "sub.txt", "sub!/a", "sub-1/a", "sub/a/b", "sub/a.b", "é", "Z"]
    touch(tmp_path, *random.Random(5).sample(names, len(names)))
    assert walked(tmp_path) == sorted(names, key=walk_order)


def test_a_deep_tree_takes_no_file_descriptor_a_level(tmp_path: Path) -> None:
    os.makedirs(tmp_path.joinpath(*["d"] * 400))
    touch(tmp_path, "/".join(["d"] * 400) + "/bottom.txt")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        assert len(walked(tmp_path)) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def unprivileged() -> Iterator[None]:
    """The permissions of files hold for root only while it is somebody else."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_can_not_be_read_is_rejected_with_a_reason(tmp_path: Path) -> None:
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(0o755)
    touch(tmp_path, "closed/a.txt", "open/b.txt", "open/c.txt")
    (tmp_path / "open/c.txt").chmod(0)
    (tmp_path / "open/gone.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "closed").chmod(0)
    try:
        with unprivileged():
            found = list(Sources([str(tmp_path)], Selection(id_from="name")))
            assert [item.id for item in found if isinstance(item, Input)] == ["b.txt", "c.txt", "gone.txt"]
            [closed] = [item for item in found if isinstance(item, Rejected)]
            assert (closed.reason, closed.source) == ("unreadable", str(tmp_path / "closed"))
            for name in ("c.txt", "gone.txt"):
                with pytest.raises(UnreadableError) as caught:
                    read_file(str(tmp_path / "open" / name), 100)
                assert caught.value.reason == "unreadable"
    finally:
        (tmp_path / "closed").chmod(0o755)


def test_special_files_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("socket.txt")
        for name in ("pipe.txt", "socket.txt", "/dev/zero", "."):
            with pytest.raises(UnreadableError) as caught:
                read_file(name, 100)
            assert caught.value.reason == "special-file", name


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 101)
    assert len(read_file(str(tmp_path / "a"), 101)) == 101
    with pytest.raises(UnreadableError) as caught:
        read_file(str(tmp_path / "a"), 100)
    assert caught.value.reason == "too-large"


def test_patterns_are_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "a/x.html", "a/b/y.html", "a/b/z.txt", "a/style.css", "lit[1].html")
    monkeypatch.chdir(tmp_path)
    assert sorted(ids(Sources(["a/**/*.html"], Selection(id_from="relative")))) == ["b/y.html", "x.html"]
    assert sorted(ids(Sources(["a/**"], Selection(id_from="relative")))) == ["b/y.html", "b/z.txt", "x.html"]
    assert ids(Sources(["*/b"], Selection(id_from="name"))) == ["y.html", "z.txt"]
    # A file whose name looks like a pattern is that file.
    assert ids(Sources(["lit[1].html"], Selection(id_from="name"))) == ["lit[1].html"]


def test_a_wrong_path_is_an_error_before_anything_is_done(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt")
    with pytest.raises(NotFoundError, match="missing"):
        Sources([str(tmp_path), str(tmp_path / "missing")])
    with pytest.raises(NotFoundError, match="no file matches"):
        list(Sources([str(tmp_path / "*.pdf")]))


def test_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "data/docs/sub/page.v2.html.gz")
    (tmp_path / "elsewhere").mkdir()

    def under(rule: str, name: str, base: Path = tmp_path / "data") -> list[str]:
        return ids(Sources([name], Selection(id_from=rule, base=str(base))))  # type: ignore[arg-type]

    file = "docs/sub/page.v2.html.gz"
    for folder, name in ((tmp_path / "data", "docs"), (tmp_path / "elsewhere", "../data/docs")):
        monkeypatch.chdir(folder)
        assert under("path", name) == [file]
        assert under("path", name, tmp_path / "elsewhere") == [str(tmp_path / "data" / file)]
        assert under("absolute", name) == [str(tmp_path / "data" / file)]
        assert under("relative", name) == ["sub/page.v2.html.gz"]
        assert under("name", name) == ["page.v2.html.gz"]
        assert under("stem", name) == ["page.v2"]
        assert under("digest", name) == [""]
    possible = naming.possible_ids(str(tmp_path / "data" / file), str(tmp_path / "data"))
    assert {file, "page.v2.html.gz", "page.v2", "sub/page.v2.html.gz", str(tmp_path / "data" / file)} <= set(possible)


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(odd, "wb") as file:
        file.write(b"text")
    [item] = Sources([str(tmp_path)], Selection(id_from="name"))
    assert isinstance(item, Input)
    assert item.id == "caf\\xe9.txt"
    assert item.source.encode("utf-8").endswith(b"caf\\xe9.txt")
    assert read_file(item.path, 100) == b"text"


@given(
    st.lists(st.sampled_from([b"\\", b"x", b"f", b"5c", b"\xff", b"\xc3\xa9", b"\\xff", b"\\x5c", b"/"]), max_size=8)
)
@settings(max_examples=300)
def test_no_two_paths_are_printed_alike(parts: list[bytes]) -> None:
    path = os.fsdecode(b"".join(parts))
    assert path_of_printable(printable_path(path)) == path
    printable_path(path).encode("utf-8")


def test_a_name_and_what_another_is_written_as_are_two_documents(tmp_path: Path) -> None:
    names = [b"caf\xe9.txt", b"caf\\xe9.txt", b"caf\\x5cxe9.txt", "caf\u00e9.txt".encode()]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(b"text of " + name.hex().encode())
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        for _ in range(2):
            summary = index(Sources([str(tmp_path)], Selection(id_from="name")), store, Indexing(jobs=1))
        assert (summary.unchanged, summary.failures) == (4, 0)
        records = list(store.scan())
        again = {
            item.id: read_file(item.path, 100)
            for item in stored_inputs(store, records, Selection(line_limit=100))
            if isinstance(item, Input)
        }
    assert len(records) == 4
    assert set(again.values()) == {b"text of " + name.hex().encode() for name in names}


def test_files_in_use_are_left_out_under_every_name(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "own", "own-wal")
    (tmp_path / "link.txt").symlink_to("own")
    (tmp_path / "hard.txt").hardlink_to(tmp_path / "own-wal")
    assert walked(tmp_path) == ["a.txt", "hard.txt", "own", "own-wal"]
    named = [str(path) for path in tmp_path.iterdir()]
    with own_files.in_use(tmp_path / "own", store=True), own_files.in_use(tmp_path / "own", store=True):
        assert walked(tmp_path) == ["a.txt"]
        for names in (named, [str(tmp_path / "*")]):
            found = Sources(names, Selection(id_from="name"))
            assert found.count() == 1
            assert ids(found) == ["a.txt"]
            assert found.passed_over.total == 0
        assert ids(Sources([], Selection(id_from="name"), paths_from=named)) == ["a.txt"]
        for name in ("link.txt", "hard.txt", "own"):
            for any_kind in (False, True):
                with pytest.raises(UnreadableError, match="belongs to a store") as caught:
                    read_file(str(tmp_path / name), 100, any_kind=any_kind)
                assert caught.value.reason == "special-file"
            with pytest.raises(NotFoundError, match="belongs to a store"):
                list(list_of_paths(str(tmp_path / name)))
    assert len(walked(tmp_path)) == 4


@pytest.mark.parametrize("end", [b"\n", b"\0"])
def test_lists_of_paths(tmp_path: Path, end: bytes) -> None:
    names = [b"plain", b"with space", b"not-utf8-\xff", b"x" * 3000] * 50
    (tmp_path / "list").write_bytes(end.join(names) + end * 2)
    assert [os.fsencode(name) for name in list_of_paths(str(tmp_path / "list"))] == names


def test_listed_paths_are_files_folders_or_rejected(tmp_path: Path) -> None:
    touch(tmp_path, "folder/a.txt", "b.css")
    listed = [str(tmp_path / name) for name in ("folder", "b.css", "missing")]
    found = list(Sources([], Selection(id_from="name"), paths_from=listed))
    assert [item.id for item in found] == ["a.txt", "b.css", str(tmp_path / "missing")]
    assert isinstance(found[2], Rejected)


def test_a_listed_link_is_passed_over_where_what_it_leads_to_is_read(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "folder/b.txt", "elsewhere/c.txt")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "behind").symlink_to("../elsewhere")
    for link, target in (("1", "a.txt"), ("2", "folder/b.txt"), ("3", "elsewhere/c.txt"), ("4", "gone"), ("5", "1")):
        (tmp_path / link).symlink_to(target)
    named = ["1", "2", "a.txt", "folder", "4", "5"]
    for names, read, left_out in (
        (named, ["a.txt", "b.txt", "4"], 3),
        ([*named, "3"], ["a.txt", "b.txt", "4", "3"], 3),
        ([*named, "3", "deep/behind/c.txt"], ["a.txt", "b.txt", "c.txt", "4"], 4),
        (["1"], ["1"], 0),
    ):
        found = Sources([], Selection(id_from="name"), paths_from=[str(tmp_path / name) for name in names])
        assert (ids(found), found.passed_over.total) == (read, left_out)
    # What is named beside the list counts too.
    found = Sources([str(tmp_path / "a.txt")], Selection(id_from="name"), paths_from=[str(tmp_path / "1")])
    assert (ids(found), found.passed_over.total) == (["a.txt"], 1)


def test_counting_ahead(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "b/c.txt", "d.css")
    assert Sources([str(tmp_path), str(tmp_path / "a.txt")]).count() == 3
    (tmp_path / "lines.jsonl").write_text('{"text": "words"}\n')
    assert Sources([str(tmp_path)]).count() is None
    assert Sources(["-"]).count() is None
