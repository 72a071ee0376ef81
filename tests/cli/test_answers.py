"""The commands that answer: similar, compare, hash, show, delete, stats, on written documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer import fingerprint
from indexer.cli.terminal.output import printable
from indexer.schemes.interchange import fingerprints
from tests.cli.command import ALIKE, Neardup, contents, mixed_folder, write
from tests.cli.written import changed, html, prose, xml

# The navigation of the page stands beside its text, and so the page is identical with none of these.
EQUAL = ("docs/b.pdf", "docs/deep/c.xml", "docs/deep/d.txt")
HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202egpj.exe [bold]x[/bold] \r\nline"


@pytest.fixture
def stored(neardup: Neardup) -> Neardup:
    """A store with the mixed folder."""
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    return neardup


def test_similar_finds_the_same_text_in_every_format(stored: Neardup) -> None:
    for name in ("a.html", "b.pdf", "deep/c.xml", "deep/d.txt"):
        found = stored("similar", f"docs/{name}", "-k", "7", "--json").json
        matches = {match["id"]: match for match in found["matches"]}
        others = {"docs/a.html", "docs/b.pdf", "docs/deep/c.xml", "docs/deep/d.txt"} - {f"docs/{name}"}
        assert others | {"docs/near.txt"} == set(matches), name
        assert found["total"] == 4
        equal = set(EQUAL) - {f"docs/{name}"} if f"docs/{name}" in EQUAL else set()
        assert {match["id"] for match in found["matches"] if match["identical"]} == equal, name
        for match in matches.values():
            assert match["similarity"] == 1 - match["bits"] / 64
            assert match["label"] == (
                "identical"
                if match["identical"]
                else "close"
                if match["bits"] <= 1
                else "loose"
                if match["bits"] <= 6
                else ""
            )
        bits = [match["bits"] for match in found["matches"]]
        assert bits == sorted(bits)
        # By the default rule they are the same ones, by what they share.
        usual = stored("similar", f"docs/{name}", "--json").json
        assert usual["rule"] == "simhash-doc@3bits/minhash@0.6+minhash@0.6"
        assert {match["id"] for match in usual["matches"]} == set(matches)
        labels = {match["id"]: match["label"] for match in usual["matches"]}
        assert labels == {other: "identical" if other in equal else "near" for other in matches}, name
        shares = [match["similarity"] for match in usual["matches"]]
        assert shares == sorted(shares, reverse=True)
        assert (shares[0], usual["not_comparable"]) == (1.0, 0)


def test_similar_by_every_way_of_asking(stored: Neardup) -> None:
    text = prose(1)
    value = str(fingerprint(text))
    by_text = stored("similar", "--text", text, "-k", "7", "--json").json
    for arguments in (("--text", "-"), ("--hash", value), ("--hash", value[4:].upper()), ("-",)):
        found = stored("similar", *arguments, "-k", "7", "--json", stdin=text).json
        # A hash says nothing of the text itself.
        unknown = {"identical": False, "relation": ""} if "--hash" in arguments else {}
        labels = [{**match, **unknown, "label": ""} for match in by_text["matches"]]
        assert [{**match, "label": ""} for match in found["matches"]] == labels
    by_id = stored("similar", "--id", "docs/a.html", "-k", "7", "--json").json
    assert {match["id"] for match in by_id["matches"]} == {match["id"] for match in by_text["matches"]} - {
        "docs/a.html"
    }
    # A hash has no sketch: it is asked about by the simhash where no rule says otherwise.
    by_hash = stored("similar", "--hash", value, "--json").json
    assert by_hash["rule"] == "simhash-doc@3bits"
    assert {match["id"] for match in by_hash["matches"]} == {match["id"] for match in by_text["matches"]}
    refused = stored("similar", "--hash", value, "--match", "minhash@0.6", code=2).err
    assert "--match simhash-doc@3bits" in refused


def test_similar_in_words(stored: Neardup) -> None:
    done = stored("similar", "docs/deep/d.txt", "-k", "7", "--limit", "2")
    header, *rows, blank, told = done.out.splitlines()
    assert header.split() == ["id", "bits", "label", "title"]
    assert (blank, told) == ("", "docs/a.html: reflowed")
    assert [row.split()[::2] for row in rows] == [["docs/a.html", "close"], ["docs/b.pdf", "identical"]]
    assert "the nearest 2 of 4" in done.err
    header, first, second, *_ = stored("similar", "docs/deep/d.txt").out.splitlines()
    assert header.split() == ["id", "shares", "bits", "label", "title"]
    assert first.split()[:4] == ["docs/a.html", "100%", "0", "near"]
    assert second.split()[:4] == ["docs/b.pdf", "100%", "0", "identical"]
    # From elsewhere the path is not the id, and is shown.
    elsewhere = Neardup(stored.folder / "docs/deep")
    done = elsewhere("similar", "d.txt", "--store", "../../collection.neardup")
    assert done.out.splitlines()[0].split()[-1] == "path"
    assert str(stored.folder / "docs/a.html") in done.out
    done = stored("similar", "docs/other.html")
    assert done.out == ""
    assert "nothing else is near by the default rule; --at-least 0" in done.err


def test_similar_takes_an_id_where_there_is_no_such_file(stored: Neardup) -> None:
    by_id = stored("similar", "--id", "docs/a.html", "--json").json["matches"]
    assert stored("similar", "id:docs/a.html", "--json").json["matches"] == by_id
    (stored.folder / "docs/a.html").unlink()
    assert stored("similar", "docs/a.html", "--json").json["matches"] == by_id
    assert "no such file, and no store at none.neardup" in stored("similar", "x", "--store", "none.neardup", code=5).err


def test_a_file_of_many_documents_is_no_document(stored: Neardup) -> None:
    write(stored.folder, {"many.jsonl": '{"id": "one", "text": "words"}\n'})
    for command in (["hash", "many.jsonl"], ["diff", "many.jsonl", "docs/a.html"]):
        assert "many.jsonl: this file holds many documents" in stored(*command, code=2).err
    assert stored("hash", "many.jsonl", "--format", "text", "--json").json["tokens"] == 4


def test_the_nearest_candidates_are_not_hinted_at_by_who_asked_for_them(stored: Neardup) -> None:
    asked = ["similar", "docs/other.html", "--match", "minhash@0.6", "--at-least"]
    said = stored(*asked, "0.5").err
    assert "nothing else is so similar by minhash@0.6; --at-least 0 shows the nearest, however distant" in said
    done = stored(*asked, "0")
    assert "--at-least" not in done.err
    # All that can be compared, most of which shares no key with it.
    assert {line.split()[0] for line in done.out.splitlines()[1:]} == set(ALIKE)
    said = stored(*asked, "0", "--limit", "1").err
    assert f"the nearest 1 of {len(ALIKE)}" in said


def test_the_nearest_candidates_whatever_they_are_like(stored: Neardup) -> None:
    asked = ["similar", "docs/deep/d.txt", "--match", "minhash@0.99"]
    strict = stored(*asked, "--json").json
    nearest = stored(*asked, "--at-least", "0", "--json").json
    near = {match["id"]: match for match in nearest["matches"]}
    assert {match["id"] for match in strict["matches"]} == set(ALIKE) - {"docs/deep/d.txt", "docs/near.txt"}
    assert set(near) == set(ALIKE) - {"docs/deep/d.txt"} | {"docs/other.html"}
    assert {name: (match["near"], match["label"]) for name, match in near.items()} == {
        name: (False, "")
        if name in ("docs/near.txt", "docs/other.html")
        else (True, "identical" if name in EQUAL else "near")
        for name in near
    }
    # In the table what is not near has no label.
    _, *rows, blank, told = stored(*asked, "--at-least", "0.3").out.splitlines()
    assert (blank, told) == ("", "docs/a.html: reflowed")
    assert [("near.txt" in row, "  identical" in row) for row in rows] == [
        (False, False), (False, True), (False, True), (True, False)
    ]  # fmt: skip
    assert stored(*asked, "--at-least", "1", "--json").json["total"] == 3
    stored(*asked, "--at-least", "1.5", code=2)


def test_short_and_empty_questions_are_said_to_be_so(stored: Neardup) -> None:
    done = stored("similar", "--text", "only a few more here")
    assert "only 5 words" in done.err
    assert done.out == ""
    # Equal texts are found at any length.
    assert "docs/short.txt" in stored("similar", "--text", "only a few words here").out
    for arguments in (("docs/empty.txt",), ("--text", "?!"), ("--id", "docs/empty.txt")):
        done = stored("similar", *arguments, "--json", code=6)
        assert "no words" in done.err
        assert done.json["matches"] == []
        assert done.json["query"]["hash"] is None


def test_wrong_questions(stored: Neardup) -> None:
    stored("similar", code=2)
    stored("similar", "docs/a.html", "--id", "x", code=2)
    stored("similar", "--hash", "nonsense", code=2)
    assert "0bits to 7bits" in stored("similar", "docs/a.html", "-k", "8", code=2).err
    assert "docs/nowhere.html" in stored("similar", "docs/nowhere.html", code=5).err
    assert "no document" in stored("similar", "--id", "nowhere", code=5).err
    assert "docs/broken.pdf" in stored("similar", "docs/broken.pdf", code=6).err
    assert "no store" in stored("similar", "docs/a.html", "--store", "nowhere.neardup", code=3).err


def test_a_file_is_no_answer_to_itself_whatever_its_id(neardup: Neardup) -> None:
    write(neardup.folder, {"docs/sub/a.html": html(prose(1)), "copy.html": html(prose(1))})
    for rule in ("path", "absolute", "relative", "name", "stem"):
        store = f"{rule}.neardup"
        neardup("index", "docs", "copy.html", "--id-from", rule, "--store", store)
        found = neardup("similar", "docs/sub/a.html", "--store", store, "--json").json
        assert [match["source"] for match in found["matches"]] == [str(neardup.folder / "copy.html")], rule


def test_compare_files_and_ids(stored: Neardup) -> None:
    done = stored("compare", "docs/a.html", "docs/near.txt", "--json").json
    assert done["a"]["hash"] == str(fingerprint(prose(1)))
    assert done["b"]["hash"] == str(fingerprint(changed(prose(1))))
    # A word between others is in five shingles, and parts four of the 196.
    assert done["shares"] == pytest.approx(192 / 201)
    assert (done["near"], done["estimated"]) == (True, False)
    by_id = stored("compare", "id:docs/a.html", "docs/near.txt", "--json").json
    assert (by_id["bits"], by_id["estimated"]) == (done["bits"], True)
    assert by_id["shares"] == by_id["similarity"] == pytest.approx(done["shares"], abs=0.1)
    outside = Neardup(stored.folder / "docs")
    plain = outside("compare", "docs/a.html", "near.txt", "--store", "../collection.neardup")
    for words in (f"{done['bits']} of 64 bits differ", "yes, by the default rule", "(estimated from sketches)"):
        assert words in plain.out
    assert (
        "96% of all 5-word shingles are in both (counted in the texts)"
        in stored("compare", "docs/a.html", "docs/near.txt").out
    )
    stored("compare", "docs/a.html", "docs/empty.txt", code=6)
    stored("compare", "docs/a.html", "nowhere", code=5)


def test_compare_by_a_rule_of_one_s_own(stored: Neardup) -> None:
    for arguments, rule, near in (
        (["-k", "0"], "simhash-doc@0bits", False),
        (["-k", "10"], "simhash-doc@10bits", True),
        (["--match", "minhash@0.99"], "minhash@0.99", False),
        (["-k", "10", "--verify", "text", "--min-jaccard", "0.95"], "simhash-doc@10bits+text@0.95", True),
        (["-k", "10", "--min-jaccard", "0.99"], "simhash-doc@10bits+minhash@0.99", False),
    ):
        for a in ("docs/a.html", "id:docs/a.html"):
            found = stored("compare", a, "docs/near.txt", *arguments, "--json").json
            assert (found["rule"], found["near"]) == (rule, near)
    # By reading, stored documents are read again, and what they share is counted.
    found = stored("compare", "id:docs/a.html", "id:docs/near.txt", "-k", "10", "--verify", "text", "--json").json
    assert (found["shares"], found["estimated"]) == (pytest.approx(192 / 201), False)
    (stored.folder / "docs/near.txt").unlink()
    refused = stored("compare", "id:docs/a.html", "id:docs/near.txt", "-k", "10", "--verify", "text", code=6)
    assert "docs/near.txt: No such file" in refused.err


def test_compare_and_hash_need_no_store(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "b.xml": xml(prose(1)), "empty.txt": ""})
    assert neardup("compare", "a.txt", "b.xml", "--json").json["bits"] == 0
    assert "no store" in neardup("compare", "a.txt", "nowhere", code=5).err
    done = neardup("hash", "a.txt", "b.xml", "empty.txt", "-", stdin=prose(2), code=6)
    rows = [line.split() for line in done.out.splitlines()]
    assert [row[0] for row in rows] == [str(fingerprint(prose(1)))] * 2 + ["-", str(fingerprint(prose(2)))]
    assert [row[1] for row in rows] == ["200", "200", "0", "200"]
    assert list(neardup.folder.glob("*.neardup")) == []
    neardup("hash", code=2)


def test_show_names_what_is_not_in_the_text_and_why(neardup: Neardup) -> None:
    page = (
        f"<h1>Ferries</h1><p>{prose(5, 60)}</p><nav>Home, Map</nav><div class=cookie-banner>We use cookies "
        "<button>Fine</button></div><p>It is <del>not</del> open.</p><form><input name=q value=Ann></form>"
    )
    write(neardup.folder, {"a.html": page, "b.xml": "<rows><row price='12'>tea</row></rows>", "c.txt": "Tea."})
    neardup("index", "a.html", "b.xml", "c.txt")
    shown = neardup("show", "a.html", "--json").json
    assert {(part["kind"], part["text"]) for part in shown["left_out"]} == {
        *(("navigation", "Home, Map"), ("cookie banner", "We use cookies Fine"), ("deleted", "not"), ("field", "Ann")),
    }
    assert all(part["why"] for part in shown["left_out"])
    lines = dict(line.split("  ", 1) for line in neardup("show", "a.html").out.splitlines())
    assert lines["left out: deleted"].strip() == "not (it was deleted; […] stands in its place)"
    assert neardup("show", "b.xml", "--json").json["left_out"] == [
        {"kind": "row/@price", "why": "it is an attribute", "text": "12"}
    ]
    assert neardup("show", "c.txt", "--json").json["left_out"] == []
    (neardup.folder / "c.txt").unlink()
    assert neardup("show", "c.txt", "--json").json["unread"]
    assert "left out    unknown: " in neardup("show", "c.txt").out


def test_hash_goes_on_after_a_failure(stored: Neardup) -> None:
    done = stored("hash", "docs/broken.pdf", "nowhere", "docs/a.html", "--json", code=5)
    assert [line["name"] for line in done.lines] == ["docs/a.html"]
    assert len(done.err.splitlines()) == 2


def test_show(stored: Neardup) -> None:
    shown = stored("show", "docs/other.html", "--json").json
    assert shown["title"] == "Another"
    assert shown["source"] == str(stored.folder / "docs/other.html")
    assert shown["hash"] == contents(stored)[0]["docs/other.html"]["hash"]
    plain = stored("show", "docs/other.html").out
    assert "Another" in plain
    assert shown["hash"] in plain
    assert "no document" in stored("show", "nowhere", code=5).err
    assert "'': no document" in stored("show", "", code=5).err
    stored("cluster")
    lines = dict(line.split("  ", 1) for line in stored("show", "docs/near.txt").out.splitlines())
    assert {"cluster id", "cluster is canonical", "cluster similarity"} <= set(lines)
    assert lines["cluster is canonical"].strip() in ("yes", "no")
    assert "{" not in "".join(lines.values())


def test_delete(stored: Neardup) -> None:
    done = stored("delete", "docs/a.html", "--json")
    assert done.json == {"deleted": 1, "stripped": 0, "missing": 0, "contended": 0, "listed": []}
    assert (stored.folder / "docs/a.html").exists()
    stored("show", "docs/a.html", code=5)
    done = stored("delete", "docs/near.txt", "nowhere", code=5)
    assert "nowhere" in done.err
    assert "docs/near.txt" not in contents(stored)[0]
    # A failure alone can be deleted too, and ids can come from a list.
    stored("delete", "--from", "-", stdin="docs/broken.pdf\n")
    assert contents(stored)[1] == {}
    stored("delete", code=2)


def test_stats(stored: Neardup) -> None:
    counts = stored("stats", "--json").json
    assert counts["documents"] == 8
    assert counts["fingerprinted"] == 7
    assert (counts["short"], counts["empty"]) == (1, 1)
    assert sum(counts["formats"].values()) == 8
    assert sum(counts["failures"].values()) == 1
    assert counts["made_with"]["content"] == "landmarks"
    told = stored("stats").out
    assert "documents      8" in told
    assert "made with      simhash-doc and minhash, for documents" in told


def test_nothing_that_a_terminal_obeys_is_printed(neardup: Neardup) -> None:
    text = prose(1)
    items = [
        {"id": f"{HOSTILE}{number}", "text": text, "title": HOSTILE, "url": HOSTILE, HOSTILE: HOSTILE}
        for number in (1, 2)
    ]
    bad = f'{{"id": 3, "{HOSTILE}'.replace("\n", " ")
    neardup("index", "-", stdin="".join(json.dumps(item) + "\n" for item in items) + bad + "\n")
    name = "file\x1b[31m\n.txt"
    write(neardup.folder, {name: text, "other\x1b.pdf": b"%PDF-1.4 \x1b[31m"})
    outputs = [
        neardup("index", "."),
        neardup("index", ".", "--dry-run"),
        neardup("failures"),
        neardup("similar", "--text", text),
        neardup("similar", name),
        neardup("similar", name, "--json"),
        neardup("show", f"{HOSTILE}1"),
        neardup("show", HOSTILE, code=5),
        neardup("delete", HOSTILE, code=5),
        neardup("compare", name, name),
        neardup("hash", name),
        neardup("hash", "other\x1b.pdf", code=6),
        neardup("stats", "--store", HOSTILE, code=3),
        neardup("index", HOSTILE, code=5),
        neardup("stats", f"--no{HOSTILE}", code=2),
        neardup("--config", HOSTILE, "stats", code=2),
    ]
    for done in outputs:
        for line in (done.out + done.err).split("\n"):
            assert line.replace("\t", " ").isprintable(), repr(line)
    assert "\\x1b[31mred" in outputs[3].out
    assert "[bold]x[/bold]" in outputs[3].out


@given(st.text())
def test_printable_text_is_one_harmless_line(text: str) -> None:
    shown = printable(text)
    assert all(character.isprintable() or character in "\u200c\u200d" for character in shown)
    if text.isprintable():
        assert shown == text


def test_real_papers_meet_over_formats(neardup: Neardup, shared_data: Path) -> None:
    [folder] = (shared_data / "jose").glob("jose.00300")
    neardup("index", folder, "--jobs", "2")
    pdf = next(folder.rglob("*.pdf"))
    found = neardup("similar", pdf, "-k", "7", "--json").json
    assert any(match["format"] == "xml" for match in found["matches"])


def test_hash_by_another_scheme(neardup: Neardup) -> None:
    text = "one two three four five six seven"
    found = neardup("hash", "--text", text, "--scheme", "minhash", "--json").json
    assert found["scheme"].startswith("minhash:")
    assert found["sketch"] == fingerprints(text)["mh3"]
    assert found["features"] == 3
    assert neardup("hash", "--text", text, "--scheme", "minhash").out.split()[:2] == [found["sketch"], "3"]
    assert len(neardup("hash", "--text", text, "--scheme", "supershingles").out.split()[0]) == 168
    assert neardup("hash", "--text", "...", "--scheme", "minhash", code=6).out.split()[:2] == ["-", "0"]
    assert "corpus" in neardup("hash", "--text", text, "--scheme", "i-match", code=2).err
