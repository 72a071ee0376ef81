"""What of a store's name, and of texts that hold one, is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from indexer.text.hiding import may_be_credential, shown_name, without_credentials, without_secrets

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("https://elastic:pa/SECRET@host/idx", "https://host/idx"),
        ("htps://u:SECRET@host", "htps://host"),
        ("elastic:SECRET@host", "host"),
        ("//u:SECRET@host/idx", "host/idx"),
        ("https://u:SEC@RET@a:9200,b:9200/idx", "https://a:9200,b:9200/idx"),
        ("https://u:pa?SECRET#x@host/idx", "https://host/idx"),
        ("https://[::1]:9200/idx", "https://[::1]:9200/idx"),
        ("https://host:9200/idx?key=SECRET", "https://host:9200/idx"),
        ("https://elastic:SECRET/idx", "https://elastic"),
        ("https://elastic:SECRET%40host/idx", "https://elastic"),
        ("sqlite:///u:SECRET@x", "x"),
        ("opensearch+https://h:9200/a,b", "opensearch+https://h:9200/a,b"),
        ("collection.neardup", "collection.neardup"),
        ("sqlite:////var/c.neardup", "sqlite:////var/c.neardup"),
    ],
)
def test_the_name_of_a_store(name: str, shown: str) -> None:
    assert shown_name(name) == shown


@given(TEXT, TEXT, st.sampled_from(["https", "http", "elasticsearch+http", "htps", "x"]))
def test_nothing_before_the_last_at_is_left(user: str, secret: str, scheme: str) -> None:
    for text in (f"{scheme}://{user}:{secret}@host:9200/idx", f"{scheme}://{secret}@host:9200/idx"):
        assert shown_name(text) == f"{scheme}://host:9200/idx"
    # What begins as a path is one, if its folder is there.
    assume(not user.startswith(("/", "./", "../")))
    assert shown_name(f"{user}:{secret}@host") == "host"


def test_a_path_that_is_there_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "me@work: all"
    folder.mkdir()
    assert shown_name(str(folder / "new.neardup")) == str(folder / "new.neardup")
    assert not may_be_credential(str(folder / "new.neardup"))
    for rooted in (f"{tmp_path}/me:x@home.neardup", "./me:x@home.neardup"):
        assert shown_name(rooted) == rooted
        assert not may_be_credential(rooted)
    assert may_be_credential("//me:x@home.neardup")
    new = "me:x@home.neardup"
    assert shown_name(new) == "home.neardup"
    assert may_be_credential(new)
    Path(new).touch()
    assert shown_name(new) == new
    assert not may_be_credential(new)


def test_texts() -> None:
    assert without_credentials("no https://u:a/SECRET@h/i, and (http://SECRET@h)") == "no https://h/i, and (http://h)"
    pages = "https://medium.com/@somebody/a-story and mail@example.org of https://host:9200/idx: 12:30"
    assert without_credentials(pages) == pages
    assert without_credentials("got 'u:SEC\\nRET@h'", ["u:SEC\nRET@h"]) == "got 'h'"
    assert without_credentials("id:a@b is not there", ["a@b"]) == "id:a@b is not there"


@given(st.lists(st.text("abc+/=%", min_size=6, max_size=40), max_size=4), st.text("abc+/=% ", max_size=200))
def test_no_secret_is_left_in_a_text(secrets: list[str], around: str) -> None:
    text = around[:50].join(["", *secrets, *(secret[:-1] for secret in secrets if len(secret) > 13), around])
    left = without_secrets(text, secrets)
    # What stands around may begin like a secret too, and goes; what is left holds none.
    assert not any(secret[:12] in part for secret in secrets for part in left.split("***"))
    assert without_secrets(around, []) == around
