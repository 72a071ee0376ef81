"""Bulk requests that pass through neardup on their way to an index: what is added, left out and left alone."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indexer
from indexer.errors import UsageError
from tests.cli.written import changed, html, prose
from tests.engines.annotated import annotate, fill, lines_of, made, neardup, send, sources
from tests.engines.servers import Server
from tests.service.process import serving


def said(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that hold something, without times."""
    inner = {name: said(value) if isinstance(value, dict) else value for name, value in fields.items()}
    return {name: value for name, value in inner.items() if value is not None and not name.endswith("indexed_at")}


@pytest.mark.parametrize("is_html", [False, True])
def test_what_arrives_is_as_if_it_had_been_annotated(server: Server, index_name: str, is_html: bool) -> None:
    url = f"{server.url}/{index_name}"
    bodies = [html(prose(seed), f"Page {seed}").decode() if is_html else prose(seed) for seed in range(8)]
    fill(server, index_name, {"old": {"body": bodies[0]}})
    annotate(url, "--field", "body", "--title-field", "heading", *(["--format", "html"] if is_html else []))
    through = made(
        url,
        *(
            line
            for seed, body in enumerate(bodies)
            for line in ({"index": {"_id": f"d{seed}"}}, {"heading": f"Number {seed}", "body": body, "lang": "en"})
        ),
    )
    assert (through.fingerprinted, through.passed, list(through.skipped), list(through.unread)) == (8, 0, [], [])
    send(server, index_name, through.lines)
    assert annotate(url, "--all")["unchanged"] == 9
    by_neardup = {name: each["neardup"] for name, each in sources(server, index_name).items()}
    again = annotate(url, "--again")
    assert again["annotated"] == 9
    for name, each in sources(server, index_name).items():
        assert said(each["neardup"]) == said(by_neardup[name])
    neardup("cluster", "--store", url)
    found = {each["neardup"]["cluster"]["id"] for each in sources(server, index_name).values()}
    assert len(found) == 8


def test_what_is_no_document_of_the_index_goes_through_to_the_byte(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, {"old": {"body": prose(0)}})
    annotate(url, "--field", "body")
    odd = b'{ "body" : "' + prose(1).encode() + b'", "n": 12345678901234567890123, "f": 1.50, "n": 1 }  \r\n'
    untouched = lines_of(
        {"delete": {"_id": "old"}},
        {"update": {"_id": "old"}}, {"doc": {"body": prose(2)}},
        {"index": {"_index": "another", "_id": "1"}}, {"body": prose(3)},
        {"index": {"_id": "no-text"}}, {"lang": "en"},
        {"create": {"_id": "has"}}, {"body": prose(4), "neardup": {"tokens": 1}},
        {"index": {"_id": "broken"}}, b'{"body": "never ended\n',
        {"index": {"_id": "list"}}, [1],
    )  # fmt: skip
    through = made(url, untouched, {"index": {}}, odd)
    assert through.lines.encode().startswith(untouched)
    rest = through.lines.encode()[len(untouched) :]
    assert rest.startswith(b'{"index": {}}\n' + odd.rstrip()[:-1] + b',"neardup":{')
    assert (through.fingerprinted, through.passed) == (1, 7)
    [unread] = through.unread
    assert (unread.line, unread.id) == (10, "broken")
    assert "is no JSON" in unread.error


def test_html_read_as_text_is_counted_by_its_field(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, {"old": {"body": prose(0)}})
    annotate(url, "--field", "body")
    lines = [{"index": {"_id": "page"}}, {"body": f"<p>{prose(1)}</p>"}, {"index": {"_id": "text"}}, {"body": prose(2)}]
    through = made(url, *lines)
    assert through.html_as_text == {"body": 1}
    send(server, index_name, through.lines)
    stored = {name: each["neardup"] for name, each in sources(server, index_name).items()}
    annotate(url, "--again")
    for name, each in sources(server, index_name).items():
        assert said(each["neardup"]) == said(stored[name])


def test_passages_of_a_long_document_are_left_to_annotating(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, {"old": {"body": prose(0)}})
    annotate(url, "--field", "body", "--scheme", "passages")
    long = "\n".join(map(prose, range(1, 60)))
    through = made(url, {"index": {"_id": "note"}}, {"body": prose(9)}, {"index": {"_id": "book"}}, {"body": long})
    assert through.fingerprinted == 2
    send(server, index_name, through.lines)
    done = annotate(url, "--all")
    assert (done["unchanged"], done["annotated"], done["beside"]) == (2, 1, 1)
    assert annotate(url, "--all")["unchanged"] == 3


def test_only_what_says_what_a_stored_document_says_is_left_out(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    bill = f"{prose(1)} The sum to be paid by the thirtieth of March is 120.00 EUR in all. {prose(2)}"
    stored = {"article": {"body": prose(3)}, "bill": {"body": bill}}
    fill(server, index_name, stored)
    annotate(url, "--field", "body")
    sent = {
        "copy": prose(3).upper(), "edited": changed(prose(3)), "other-bill": bill.replace("120.00", "95.50"),
        "new": prose(4), "twin": prose(4), "bill": bill, "short": "Too short",
    }  # fmt: skip
    pairs = [line for name, body in sent.items() for line in ({"index": {"_id": name}}, {"body": body})]
    through = made(url, *pairs, skip=True)
    assert [(one.line, one.id, one.repeats, one.relation) for one in through.skipped] == [
        (1, "copy", "article", "identical"),
    ]
    kept = [json.loads(line)["index"]["_id"] for line in through.lines.splitlines()[::2]]
    assert kept == ["edited", "other-bill", "new", "twin", "bill", "short"]
    assert made(url, *pairs).passed == 0
    # Without the document that stands for it in the request.
    few = [line for name in ("copy", "other-bill") for line in ({"index": {"_id": name}}, {"body": sent[name]})]
    chosen = made(url, *few, skip=True, on=["identical=store", "form=skip"])
    assert [(one.id, one.relation) for one in chosen.skipped] == [("other-bill", "form")]
    with pytest.raises(UsageError, match="stored or skipped"):
        made(url, *pairs, on=["form=mark"])


def test_what_is_no_bulk_request_is_refused_by_its_line(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, {"old": {"body": prose(0)}})
    annotate(url, "--field", "body")
    good = [{"index": {"_id": "1"}}, {"body": "a"}]
    for lines, says in (
        ([*good, {"body": "no action"}], "line 3: is no action"),
        ([*good, b"no JSON\n"], "line 3: is no action"),
        ([b"[" * 100_000 + b"\n"], "line 1: is no action"),
        ([{"index": None}, {}], "line 1: is no action"),
        ([*good, {"create": {}}], "line 3: no document follows"),
    ):
        with pytest.raises(UsageError, match=says):
            made(url, *lines)
    with pytest.raises(UsageError, match="were made with --field body"):
        made(url, *good, fields=["heading"])


def test_an_index_without_the_fields_is_refused(server: Server, index_name: str, tmp_path: Path) -> None:
    indexer.open(tmp_path / "texts.neardup").close()
    with pytest.raises(UsageError, match="name an index"):
        made(str(tmp_path / "texts.neardup"), {"index": {}}, {"body": "a"})
    url = f"{server.url}/{index_name}"
    neardup("setup", "--store", url)
    with pytest.raises(UsageError, match="name the fields"):
        made(url, {"index": {}}, {"body": "a"})


def test_the_service_takes_what_is_piped_to_the_engine(server: Server, index_name: str, tmp_path: Path) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, {"old": {"body": prose(0)}})
    annotate(url, "--field", "body")
    body = lines_of({"index": {"_id": "copy"}}, {"body": prose(0)}, {"index": {"_id": "new"}}, {"body": prose(1)})
    with serving(tmp_path, store=url) as service:

        def ask(query: str, **headers: str) -> tuple[dict[str, str], bytes]:
            asked = urllib.request.Request(f"{service}/_fingerprint{query}", body, headers)
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return dict(answer.headers), answer.read()

        headers, lines = ask("?skip=true", **{"Content-Type": "application/x-ndjson"})
        assert headers["neardup-counts"] == "fingerprinted=1, passed=0, skipped=1, outdated=0, unread=0"
        _, answer = ask("?skip=true", Accept="application/json")
        assert json.loads(answer)["skipped"][0]["repeats"] == "old"
        assert len(json.loads(answer)["lines"].splitlines()) == len(lines.splitlines()) == 2
        for query in ("?skip=perhaps", "?path=/etc/passwd", "?match=passages@0.5&skip=true"):
            with pytest.raises(urllib.error.HTTPError, match="400"):
                ask(query)
    send(server, index_name, lines.decode())
    assert annotate(url, "--all")["unchanged"] == 2


@given(st.lists(st.sampled_from([b"{}", b'{"index":{}}', b'{"delete":{"_id":"a"}}', b"", b"\xff", b'{"body":"a b"}'])))
def test_any_lines_are_a_bulk_request_or_refused(lines: list[bytes]) -> None:
    from indexer.library import bulk_requests

    read = []
    try:
        read = list(bulk_requests._lines(b"\n".join(lines)))
    except UsageError as error:
        refused = str(error)
    if not read:
        assert not b"".join(lines).strip() or refused.startswith("line ")
    else:
        assert sum(1 + bool(line.body) for line in read) == sum(bool(line.strip()) for line in lines)


def test_equal_texts_without_words_are_clusters_and_skipped(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, {name: {"body": body} for name, body in {"a": "12 5", "b": "12 5", "c": "12 6"}.items()})
    annotate(url, "--field", "body")
    neardup("cluster", "--store", url)
    named = {name[-1]: each["neardup"]["cluster"]["id"] for name, each in sources(server, index_name).items()}
    assert (named["a"] == named["b"], named["a"] == named["c"]) == (True, False)
    with indexer.open(url) as collection:
        assert [(each.relation, each.kept) for each in collection.prune(dry_run=True).surplus] == [("identical", "")]
        coming = ({"index": {"_id": "d"}}, {"body": "12 6"}, {"index": {"_id": "e"}}, {"body": "12 7"})
        made_of = collection.fingerprint_lines(lines_of(*coming), skip=True)
    assert [each.id for each in made_of.skipped] == ["d"]


def test_what_stands_beside_equal_texts_keeps_a_document(server: Server, index_name: str) -> None:
    url, box = f"{server.url}/{index_name}", "<form><input name='{}' value='{}'></form>"
    page = html(prose(3), "Flat at the harbour").decode()
    fill(server, index_name, {"box": {"body": box.format("colour", "green")}, "page": {"body": page}})
    annotate(url, "--field", "body", "--format", "html")
    sent = {
        "same-box": {"body": box.format("colour", "green")}, "other-box": {"body": box.format("colour", "blue")},
        "same-page": {"body": page}, "other-title": {"body": page.replace("harbour", "mill")},
    }  # fmt: skip
    pairs = [line for name, body in sent.items() for line in ({"index": {"_id": name}}, body)]
    through = made(url, *pairs, skip=True)
    assert [(one.id, one.repeats) for one in through.skipped] == [("same-box", "box"), ("same-page", "page")]
