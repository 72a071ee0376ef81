"""No command shows a secret, whatever its shape, however it was given, and whatever a server makes of it."""

from __future__ import annotations

import http.server
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.cli import cli
from tests.cli.leaking import COMMANDS, MARK, SECRET_SETTINGS, SHAPES, STORELESS, URLS, Leaks, leaks, talkative, url_of

pytest.importorskip("elasticsearch")
__all__ = ["leaks"]


@pytest.fixture(scope="module")
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    with talkative() as started:
        yield started


@pytest.fixture
def place(server: http.server.ThreadingHTTPServer) -> str:
    server.status, server.as_json = 400, True  # type: ignore[attr-defined]
    return f"127.0.0.1:{server.server_port}"


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == set(cli.commands)


def from_environment(secret: str) -> bool:
    return "\0" not in secret


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("way", list(URLS))
def test_in_the_url(leaks: Leaks, place: str, way: str, shape: str) -> None:
    url = url_of(way, SHAPES[shape], place)
    # Every command meets every shape, by one way or another.
    chosen = list(COMMANDS) if way == "password" or shape == "slash" else ["index", "stats", "similar"]
    for command in chosen:
        if command not in STORELESS:
            code, said = leaks.run("--debug", command, *COMMANDS[command], "--store", url)
            assert code, said
            assert "neardup: " in said


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("way", ["password", "no-scheme"])
def test_in_the_members_of_remarks(leaks: Leaks, place: str, way: str, shape: str) -> None:
    url = url_of(way, SHAPES[shape], place)
    for words in (["stats", "--store", url], ["index", "one.txt", "--store", url], ["stats", url], [url]):
        code, said = leaks.run("--debug", "--log-format", "json", *words)
        assert code, said
        assert all(isinstance(json.loads(line), dict) for line in said.splitlines())


@pytest.mark.parametrize("shape", [name for name, secret in SHAPES.items() if from_environment(secret)])
@pytest.mark.parametrize("way", ["password", "no-scheme", "wrong-scheme"])
def test_in_the_environment_and_in_settings(
    leaks: Leaks, place: str, monkeypatch: pytest.MonkeyPatch, way: str, shape: str
) -> None:
    url = url_of(way, SHAPES[shape], place)
    monkeypatch.setenv("NEARDUP_STORE", url)
    for command, words in COMMANDS.items():
        leaks.run("--debug", command, *words)
    for words in (["stats", "--help"], ["index", "--help"], ["--help"]):
        leaks.run(*words)
    monkeypatch.delenv("NEARDUP_STORE")
    if url.isascii():
        for content in (f"store = {json.dumps(url)}\n", f"store = [{json.dumps(url)}]\n", f"store = {{a = {url!r}\n"):
            leaks.give(Path("neardup.toml").resolve(), content)
            for words in (["--debug", "stats"], ["stats", "--help"]):
                leaks.run(*words)


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("way", [way for way, url in URLS.items() if "@" in url])
def test_in_the_wrong_place(leaks: Leaks, place: str, way: str, shape: str) -> None:
    url = url_of(way, SHAPES[shape], place)
    if "\0" in url:
        return
    for words in (
        ["stats", url],
        ["stats", f"--store{url}"],
        ["stats", "--refresh", url],
        [url],
        ["--config", url, "stats"],
        ["pairs", "--store", "none.neardup", "--against", url],
        ["setup", "--store", f"http://{place}/docs", "--dashboards", url],
        ["annotate", "--store", f"http://{place}/docs", "--field", "x", "--to", url],
        ["index", "--store", f"http://{place}/docs", url],
    ):
        code, said = leaks.run("--debug", *words)
        assert code, said


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("setting", list(SECRET_SETTINGS))
@pytest.mark.parametrize("engine", ["", "opensearch+"])
def test_in_the_settings_of_who_asks(
    leaks: Leaks, place: str, monkeypatch: pytest.MonkeyPatch, engine: str, setting: str, shape: str
) -> None:
    settings = SECRET_SETTINGS[setting](SHAPES[shape])
    if from_environment(SHAPES[shape]):
        for name, value in settings.items():
            monkeypatch.setenv(f"NEARDUP_{name.upper()}", value)
        code, said = leaks.run("--debug", "stats", "--store", f"{engine}http://{place}/docs")
        assert code, said
        for name in settings:
            monkeypatch.delenv(f"NEARDUP_{name.upper()}")
    if shape == "no-text":
        return
    file = Path("credentials.toml").resolve()
    monkeypatch.setenv("NEARDUP_CREDENTIALS", str(file))
    commands = list(COMMANDS) if setting == "password" and not engine else ["stats"]
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in settings.items()]
    for content in ("\n".join(lines), '["127.0.0.1"]\n' + "\n".join(lines)):
        leaks.give(file, content)
        for command in commands:
            store = [] if command in STORELESS else ["--store", f"{engine}http://{place}/docs"]
            code, said = leaks.run("--debug", command, *COMMANDS[command], *store)
            assert code or command in STORELESS, said
    leaks.give(file, f"password = [{json.dumps(SHAPES[shape])}]")
    assert leaks.run("--debug", "stats", "--store", f"http://{place}/docs")[0] == 2
    leaks.give(file, f"password = {SHAPES[shape]}")
    assert leaks.run("--debug", "stats", "--store", f"http://{place}/docs")[0] == 2


@pytest.mark.parametrize("status", [301, 401, 403, 404, 409, 413, 431, 500])
@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("engine", ["elasticsearch+", "opensearch+"])
@pytest.mark.parametrize("setting", ["password", "api_key", "bearer_token"])
def test_a_server_that_sends_back_what_it_was_sent(
    leaks: Leaks,
    server: http.server.ThreadingHTTPServer,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    setting: str,
    as_json: bool,
    status: int,
) -> None:
    server.status, server.as_json = status, as_json  # type: ignore[attr-defined]
    for shape in ("plain", "slash", "percent", "quotes", "not-ascii", "long"):
        with monkeypatch.context() as patched:
            for name, value in SECRET_SETTINGS[setting](SHAPES[shape]).items():
                patched.setenv(f"NEARDUP_{name.upper()}", value)
            code, said = leaks.run("--debug", "stats", "--store", f"{engine}http://{place}/docs")
            assert code, said


@pytest.mark.parametrize("setting", ["password", "username", "api_key", "bearer_token"])
@pytest.mark.parametrize("shape", ["line-break", "carriage-return", "escape", "no-text"])
def test_what_no_header_can_hold_is_refused_by_name(
    leaks: Leaks, place: str, monkeypatch: pytest.MonkeyPatch, setting: str, shape: str
) -> None:
    for name, value in {"username": "elastic", setting: SHAPES[shape]}.items():
        monkeypatch.setenv(f"NEARDUP_{name.upper()}", value)
    code, said = leaks.run("stats", "--store", f"http://{place}/docs")
    assert code == 2
    assert f"NEARDUP_{setting.upper()} " in said
    assert ("control character" in said) or (shape == "no-text" and "UTF-8" in said)


def test_the_search_finds_what_is_shown(leaks: Leaks) -> None:
    for text in (MARK, MARK.lower(), f"elastic%3A{'%51'}ZXJKV", "Basic " + "ZWxhc3RpYzpwYS1RWlhKS1Ytc3M="):
        with pytest.raises(AssertionError):
            Leaks.search(text, "")
