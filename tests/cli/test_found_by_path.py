"""A document is found by the path that was just indexed, however it is written and wherever one stands."""

from __future__ import annotations

import pytest

from tests.cli.command import Neardup, write
from tests.cli.written import prose


@pytest.mark.parametrize("written", ["sub/a.txt", "./sub/a.txt", "sub/../sub/a.txt", "{}/sub/a.txt"])
def test_by_any_path_to_it(neardup: Neardup, written: str) -> None:
    write(neardup.folder, {"sub/a.txt": prose(1), "sub/b.txt": prose(2)})
    neardup("index", "./sub")
    path = written.format(neardup.folder)
    assert neardup("show", path, "--json").json["id"] == "sub/a.txt"
    assert neardup("history", path, "--json").json["id"] == "sub/a.txt"
    assert neardup("diff", path, "sub/b.txt", "--json").json["removed"]
    assert neardup("delete", path, "--json").json["deleted"] == 1
    assert neardup("show", path, code=5).out == ""


def test_a_path_means_no_other_document_of_a_like_name(neardup: Neardup) -> None:
    write(neardup.folder, {"sub/a.txt": prose(1), "other/sub/a.txt": prose(2)})
    neardup("index", "sub")
    assert neardup("show", "other/sub/a.txt", code=5).out == ""
    assert neardup("show", "./other/sub/a.txt", code=5).out == ""
