"""`neardup index` and `neardup failures`, with real processes on written and real documents."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import zipfile
from pathlib import Path

from tests.cli.command import Neardup, contents, mixed_folder, write
from tests.cli.written import changed, html, pdf, prose


def test_every_format_then_the_same_again(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    first = neardup("index", "docs", "--json").json
    counts = {name: first[name] for name in ("indexed", "replaced", "unchanged", "empty", "short", "left_out")}
    assert counts == {"indexed": 8, "replaced": 0, "unchanged": 0, "empty": 1, "short": 1, "left_out": 1}
    assert sum(first["failed"].values()) == 1
    before = contents(neardup)
    formats = {identity: record["format"] for identity, record in before[0].items()}
    assert formats["docs/a.html"] == "html"
    assert formats["docs/b.pdf"] == "pdf"
    assert formats["docs/deep/c.xml"] == "xml"
    assert formats["docs/deep/d.txt"] == "text"
    assert before[0]["docs/other.html"]["title"] == "Another"

    again = neardup("index", "docs", "--json").json
    assert (again["indexed"], again["replaced"], again["unchanged"]) == (0, 0, 8)
    assert (again["failed"], again["failed_before"]) == ({}, 1)
    assert contents(neardup) == before


def test_the_summary_in_words(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    done = neardup("index", "docs")
    for words in (
        "indexed               8",
        "empty                 1",
        "too short             1",
        "failed                1",
    ):
        assert words in done.out
    assert done.err == ""
    listed = neardup("failures")
    assert "docs/broken.pdf" in listed.out
    [failure] = neardup("failures", "--json").lines
    assert failure["id"] == "docs/broken.pdf"
    assert failure["source"] == str(neardup.folder / "docs/broken.pdf")
    assert neardup("failures", "--reason", "no-such-reason").out == ""


def test_what_changed_is_replaced_and_what_did_not_is_not(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    old = contents(neardup)[0]
    write(neardup.folder, {"docs/other.html": html(prose(3), "New"), "docs/broken.pdf": pdf(prose(4))})
    done = neardup("index", "docs", "--json").json
    assert (done["indexed"], done["replaced"], done["unchanged"]) == (1, 1, 7)
    records, failures = contents(neardup)
    assert failures == {}
    assert records["docs/other.html"]["title"] == "New"
    assert records["docs/other.html"]["hash"] != old["docs/other.html"]["hash"]


def test_a_document_that_fails_keeps_its_older_record(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    before = contents(neardup)[0]
    good = (neardup.folder / "docs/b.pdf").read_bytes()
    (neardup.folder / "docs/b.pdf").write_bytes((neardup.folder / "docs/broken.pdf").read_bytes())
    assert sum(neardup("index", "docs", "--json").json["failed"].values()) == 1
    records, failures = contents(neardup)
    assert records == before
    assert set(failures) == {"docs/b.pdf", "docs/broken.pdf"}
    # What was right before is right again, and the failure is gone.
    (neardup.folder / "docs/b.pdf").write_bytes(good)
    neardup("index", "docs")
    records, failures = contents(neardup)
    assert records == before
    assert set(failures) == {"docs/broken.pdf"}


def test_failed_documents_are_tried_again_on_demand_and_fail_a_strict_run(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    neardup("index", "docs", "--strict", code=6)
    neardup("index", "docs", "--strict", code=6)
    assert sum(neardup("index", "docs", "--retry-failed", "--json").json["failed"].values()) == 1
    neardup("index", "docs/a.html", "--strict")


def test_equal_documents_are_extracted_once(neardup: Neardup) -> None:
    page = html(prose(1), "Same")
    write(neardup.folder, {f"docs/{number}.html": page for number in range(200)})
    done = neardup("index", "docs", "--json").json
    assert (done["indexed"], done["reused"]) == (200, 199)
    write(neardup.folder, {"more/copy.html": page, "more/copy.txt": page})
    # The name decides about the format where the content does not, so a copy under another suffix is read itself.
    done = neardup("index", "more", "--json").json
    assert (done["indexed"], done["reused"]) == (2, 1)
    hashes = {record["hash"] for record in contents(neardup)[0].values() if record["format"] == "html"}
    assert len(hashes) == 1


def test_ids_do_not_depend_on_where_the_command_runs(neardup: Neardup) -> None:
    write(neardup.folder, {"docs/sub/a.txt": prose(1), "elsewhere/b.txt": ""})
    neardup("index", "docs")
    inside = Neardup(neardup.folder / "docs" / "sub")
    done = inside("index", "a.txt", "--store", "../../collection.neardup", "--json").json
    assert (done["indexed"], done["unchanged"]) == (0, 1)
    assert set(contents(neardup)[0]) == {"docs/sub/a.txt"}


def test_two_files_never_share_an_id(neardup: Neardup) -> None:
    write(
        neardup.folder, {"a/index.html": html(prose(1)), "b/index.html": html(prose(2)), "c/index.html": html(prose(1))}
    )
    for _ in range(2):
        done = neardup("index", "a", "b", "c", "--id-from", "name", "--retry-failed", "--json").json
        assert done["failed"] == {"duplicate-id": 1}
        records, failures = contents(neardup)
        assert records["index.html"]["source"] == str(neardup.folder / "a/index.html")
        assert list(failures) == [str(neardup.folder / "b/index.html")]
    # Under an id of its own the file is no longer a failure.
    neardup("index", "b", "--json")
    assert contents(neardup)[1] == {}
    # A file that has moved is the same document.
    (neardup.folder / "a").rename(neardup.folder / "d")
    done = neardup("index", "d", "--id-from", "name", "--json").json
    assert (done["replaced"], done["failed"]) == (1, {})
    assert contents(neardup)[0]["index.html"]["source"] == str(neardup.folder / "d/index.html")


def test_rows_that_make_way_for_others_of_their_id_are_named(neardup: Neardup) -> None:
    def table(word: str) -> str:
        return "id,text\n" + "".join(f"{number},{word}{number} {prose(number)}\n" for number in range(1, 13))

    write(
        neardup.folder, {"a.csv": table("one"), "b.csv": table("two"), "same.jsonl": '{"id": "x", "text": "y"}\n' * 2}
    )
    a, b = (neardup.folder / name for name in ("a.csv", "b.csv"))
    for _ in range(2):
        done = neardup("index", "a.csv", "b.csv", "same.jsonl", "--json").json
        assert done["same_id"] == 12
        assert done["same_ids"] == [f"{row}: {b}:{row} instead of {a}:{row}" for row in range(1, 11)]
    said = neardup("index", "a.csv").out
    assert f"same id              12  another one took their place: 1: {a}:1 instead of {b}; 2: " in said
    # A file that is another one now, or stands elsewhere, has its own documents.
    a.write_text(table("three"))
    assert "same id" not in neardup("index", "a.csv").out
    a.rename(neardup.folder / "c.csv").write_text(table("four"))
    assert "same id" not in neardup("index", "c.csv").out
    # Of one file, too.
    write(neardup.folder, {"d.csv": table("five") + "1,other\n"})
    done = neardup("index", "d.csv", "--json", "--store", "d.neardup").json
    assert done["same_ids"] == [f"1: {neardup.folder}/d.csv:13 instead of {neardup.folder}/d.csv:1"]


def test_ids_from_content(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "b.txt": prose(1), "c.txt": prose(2)})
    done = neardup("index", "a.txt", "b.txt", "c.txt", "--id-from", "digest", "--json").json
    assert (done["indexed"], done["unchanged"]) == (2, 1)
    assert all(len(identity) == 32 for identity in contents(neardup)[0])


def lines_of(*items: object) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def test_json_lines_from_file_and_standard_input(neardup: Neardup) -> None:
    text = prose(1)
    items = [
        {"id": 1, "text": text, "title": "One", "lang": "en", "tags": ["a", "b"]},
        {"id": "two", "html": html(changed(text), "Two").decode(), "url": "https://example.org/two"},
        {"id": "three"},
    ]
    done = neardup("index", "-", "--json", stdin=lines_of(*items) + "nonsense\n").json
    assert (done["indexed"], done["failed"]) == (2, {"malformed": 2})
    records, failures = contents(neardup)
    assert records["1"]["metadata"] == {"lang": "en", "tags": ["a", "b"]}
    assert (records["1"]["title"], records["two"]["title"]) == ("One", "Two")
    assert (records["1"]["source"], records["two"]["source"]) == ("stdin", "https://example.org/two")
    assert set(failures) == {"stdin:3", "stdin:4"}
    found = neardup("similar", "--id", "1", "--json", "-k", "7").json
    assert [match["id"] for match in found["matches"]] == ["two"]

    # New metadata of the same text, or the file that it stands in, replaces the record without extraction.
    items[0] = {**items[0], "tags": []}
    write(neardup.folder, {"more.jsonl": lines_of(*items[:2])})
    done = neardup("index", "more.jsonl", "--json").json
    assert (done["replaced"], done["reused"], done["unchanged"]) == (2, 2, 0)
    assert contents(neardup)[0]["two"]["container"] == str(neardup.folder / "more.jsonl")
    assert contents(neardup)[0]["1"]["metadata"] == {"lang": "en", "tags": []}


def test_a_page_in_a_line_is_the_page_in_a_file(neardup: Neardup) -> None:
    page = html(prose(1))
    write(neardup.folder, {"page.html": page, "marked.html": b"\xef\xbb\xbf" + page})
    write(neardup.folder, {"lines.jsonl": lines_of({"id": "line", "html": page.decode()})})
    neardup("index", ".")
    found = neardup("similar", "page.html", "--json").json["matches"]
    assert {match["id"]: match["identical"] for match in found} == {"line": True, "marked.html": True}
    # A page without any text has none with a mark either.
    write(neardup.folder, {"empty.html": b"\xef\xbb\xbf<html><body></body></html>"})
    assert neardup("index", "empty.html", "--json").json["empty"] == 1


def test_of_lines_with_one_id_the_last_wins(neardup: Neardup) -> None:
    # The first takes longest, so that it ends last.
    first = {"id": "x", "text": prose(1, 200_000)}
    rest = [{"id": "x", "text": prose(seed)} for seed in range(2, 8)]
    done = neardup("index", "-", "--json", stdin=lines_of(first, *rest)).json
    assert (done["indexed"], done["replaced"]) == (1, 6)
    assert contents(neardup)[0]["x"]["hash"] == json.loads(neardup("hash", "--text", prose(7), "--json").out)["hash"]


def test_a_stored_id_that_is_overtaken_in_one_run_ends_as_the_last_line_says(neardup: Neardup) -> None:
    last = {"id": "x", "text": prose(2)}
    neardup("index", "-", stdin=lines_of(last))
    before = contents(neardup)
    neardup("index", "-", stdin=lines_of({"id": "x", "text": prose(1)}, last))
    assert contents(neardup) == before


def test_lines_with_one_id_are_not_written_again(neardup: Neardup) -> None:
    """Of what is stored the last line is known by its bytes, and those before it wait for it."""
    lines = [{"id": "x", "text": prose(1)}, *({"id": f"y{n}", "text": prose(n)} for n in range(2, 9))]
    last = {"id": "x", "text": prose(9)}
    write(neardup.folder, {"a.jsonl": lines_of(*lines, last)})
    done = neardup("index", "a.jsonl", "--json").json
    assert (done["indexed"], done["replaced"], done["unchanged"]) == (8, 1, 0)
    store = neardup.folder / "collection.neardup"
    written = store.read_bytes()
    done = neardup("index", "a.jsonl", "--json").json
    assert (done["indexed"], done["replaced"], done["unchanged"]) == (0, 0, 9)
    assert store.read_bytes() == written
    # Without the last line the first one counts; and of two that are new the later.
    write(neardup.folder, {"a.jsonl": lines_of(*lines)})
    done = neardup("index", "a.jsonl", "--json").json
    assert (done["replaced"], done["unchanged"]) == (1, 7)
    neardup("index", "-", "--json", stdin=lines_of({"id": "x", "text": prose(10)}, {"id": "x", "text": prose(11)}))
    assert contents(neardup)[0]["x"]["hash"] == json.loads(neardup("hash", "--text", prose(11), "--json").out)["hash"]


def test_paths_from_a_list(neardup: Neardup) -> None:
    write(neardup.folder, {"a b.txt": prose(1), "c.txt": prose(2), "folder/d.txt": prose(3)})
    done = neardup("index", "--paths-from", "-", "--json", stdin=b"a b.txt\0folder\0missing\0").json
    assert (done["indexed"], done["failed"]) == (2, {"unreadable": 1})
    neardup("index", "--paths-from", "-", "-", code=2)
    neardup("index", code=2)


def test_a_dry_run_makes_nothing(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    done = neardup("index", "docs", "--dry-run", "--include", "*.pdf")
    assert done.out.splitlines() == [f"docs/{n}.pdf\t{neardup.folder}/docs/{n}.pdf" for n in ("b", "broken")]
    assert not (neardup.folder / "collection.neardup").exists()


def test_special_files_and_odd_names(neardup: Neardup) -> None:
    write(neardup.folder, {"docs/good.txt": prose(1)})
    os.mkfifo(neardup.folder / "docs/pipe.txt")
    (neardup.folder / "docs/dangling.txt").symlink_to("nowhere")
    with open(os.fsencode(neardup.folder) + b"/docs/caf\xe9.txt", "w") as file:
        file.write(prose(2))
    done = neardup("index", "docs", "--json").json
    assert (done["indexed"], done["failed"]) == (2, {"special-file": 1, "unreadable": 1})
    assert "docs/caf\\xe9.txt" in contents(neardup)[0]


def test_limits_reach_the_workers(neardup: Neardup) -> None:
    write(neardup.folder, {"docs/large.txt": prose(1, 5000), "docs/small.txt": prose(2)})
    done = neardup("index", "docs", "--max-size", "10kB", "--json").json
    assert (done["indexed"], done["failed"]) == (1, {"too-large": 1})
    done = neardup("index", "docs", "--max-size", "10MB", "--json").json
    assert (done["indexed"], done["unchanged"], done["failed"]) == (1, 1, {})
    assert contents(neardup)[1] == {}


def test_content_modes_are_never_mixed(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    neardup("index", "docs/a.html", "--content", "full")
    refused = neardup("index", "docs/other.html", "--content", "landmarks", code=4)
    assert "content" in refused.err
    # Without the option the store's own mode is used, by lookups too.
    neardup("index", "docs/other.html")
    records = contents(neardup)[0]
    assert records["docs/other.html"]["tokens"] == 204
    assert neardup("similar", "docs/other.html", "--json").json["query"]["tokens"] == 204
    neardup("similar", "docs/a.html", "--content", "landmarks", code=4)


def test_min_tokens_decides_what_is_short_even_later(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1, 30), "b.txt": prose(1, 30)})
    assert neardup("index", "a.txt", "b.txt", "--min-tokens", "31", "--json").json["short"] == 2
    assert neardup("similar", "a.txt", "--json").json["total"] == 0
    assert neardup("similar", "a.txt", "--include-short", "--json").json["total"] == 1
    done = neardup("index", "a.txt", "b.txt", "--json").json
    assert (done["replaced"], done["reused"], done["short"]) == (2, 2, 0)
    assert neardup("similar", "a.txt", "--json").json["total"] == 1


def test_short_documents_with_the_text_of_the_question_are_found_without_an_option(neardup: Neardup) -> None:
    texts = ("The ferry leaves at noon.", "The ferry leaves at  noon.", "The ferry leaves at seven.", prose(1, 40))
    write(neardup.folder, {f"{name}.txt": text for name, text in zip("abcd", texts, strict=True)})
    neardup("index", *(f"{name}.txt" for name in "abcd"))
    for flags in ((), ("--at-least", "0"), ("--limit", "1"), ("--match", "simhash-doc@3bits")):
        [found] = neardup("similar", "a.txt", *flags, "--json").json["matches"][:1]
        assert (found["id"], found["label"], found["short"]) == ("b.txt", "identical", True)
    assert neardup("similar", "a.txt", "--json").json["total"] == 1
    assert [each["id"] for each in neardup("similar", "--text", texts[0], "--json").json["matches"]] == [
        "a.txt",
        "b.txt",
    ]


def test_real_documents_pass_and_meet(neardup: Neardup, shared_data: Path) -> None:
    pages = sorted((shared_data / "html/javadoc/commons-csv").rglob("*.html"))
    done = neardup("index", shared_data / "html/javadoc/commons-csv", shared_data / "robust/libxml2", "--json").json
    assert done["indexed"] >= len(pages)
    page = next(path for path in pages if path.name == "CSVParser.html")
    found = neardup("similar", page, "-k", "6", "--json").json
    assert {Path(match["source"]).name for match in found["matches"]} == {"CSVParser.html"}
    assert str(page) not in {match["source"] for match in found["matches"]}


def peak_memory(neardup: Neardup, documents: int) -> int:
    """The most memory that the command itself took while it indexed this many documents, in bytes."""
    with neardup.start("index", "-", "--store", f"{documents}.neardup", stdin=subprocess.PIPE) as process:
        assert process.stdin
        for number in range(documents):
            text = " ".join(f"w{number * place % 9973}" for place in range(1, 21))
            process.stdin.write(json.dumps({"id": f"document-{number}", "text": text}).encode() + b"\n")
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


def test_memory_does_not_grow_with_the_number_of_documents(neardup: Neardup) -> None:
    # Two batches are in memory at most, of 8,000 documents where a machine is fast.
    few, many = (peak_memory(neardup, documents) for documents in (17_000, 34_000))
    # The store's cache of pages still fills; a list of the documents would take far more than this for each.
    assert (many - few) / 17_000 < 2000, (few, many)


def test_named_fields_of_lines_and_rows_are_read_by_every_command(neardup: Neardup) -> None:
    rows = [{"meta": {"key": f"k{number}"}, "body": prose(number)} for number in range(8)]
    rows.append({"meta": {"key": "copy"}, "body": prose(3)})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    table = "body,lang\n" + "".join(f'"{prose(number)}",en\n' for number in range(20, 24))
    write(neardup.folder, {"a.jsonl": lines, "b.csv": table})
    named = ("--text-field", "body")
    done = neardup("index", "a.jsonl", *named, "--id-field", "meta.key", "--json").json
    assert (done["indexed"], done["reused"], done["failed"]) == (9, 1, {})
    done = neardup("index", "b.csv", *named, "--json").json
    assert (done["indexed"], done["failed"]) == (4, {})
    assert {"k3", "copy", "b.csv:1", "b.csv:4"} <= set(contents(neardup)[0])
    failed = neardup("index", "b.csv", "--store", "other.neardup", "--json").json
    assert failed["failed"] == {"malformed": 1}
    assert "name the one with --text-field" in neardup("failures", "--store", "other.neardup").out
    measuring = ("evaluate", *named, "--match", "minhash@0.6", "--json")
    assert neardup(*measuring, "--documents", "a.jsonl", "--documents", "b.csv").json["documents"] == 13
    # The store remembers them, for each file.
    assert neardup(*measuring).json["documents"] == 13
    assert neardup("evaluate", "--match", "minhash@0.6", "--json").json["documents"] == 13
    again = neardup("index", ".", "--include", "*.jsonl", "--include", "*.csv", "--json").json
    assert (again["unchanged"], again["failed"]) == (13, {})
    assert "identical" in neardup("similar", "k3").out
    assert "[-" in neardup("diff", "k3", "k4").out
    [pair] = neardup("pairs", "--verify", "text").out.splitlines()[1:]
    assert pair.startswith(("copy,k3,1.0,", "k3,copy,1.0,"))
    counting = ("corpus", *named, "--scheme", "i-match", "--store", "new.neardup", "--json")
    assert neardup(*counting, "a.jsonl", "b.csv").json["documents"] == 13


def test_failures_are_named_as_ids_are_and_cleared_by_what_mends_them(neardup: Neardup) -> None:
    lines = [json.dumps({"id": "one", "text": prose(1)}), "{broken", json.dumps({"text": prose(3)})]
    write(neardup.folder, {"docs/rows.jsonl": "\n".join(lines), "docs/cut.jsonl.gz": b"\x1f\x8bnothing"})

    def failed() -> dict[str, str]:
        return {one["id"]: one["source"] for one in neardup("failures", "--json").lines}

    # However the file is named, one line is one failure.
    for named in ("docs", "./docs/rows.jsonl", neardup.folder / "docs/rows.jsonl", "docs/../docs"):
        neardup("index", named)
    rows, cut = f"{neardup.folder}/docs/rows.jsonl", f"{neardup.folder}/docs/cut.jsonl.gz"
    assert {name.partition(":")[0]: source for name, source in failed().items()} == {
        "docs/rows.jsonl": rows,
        "docs/cut.jsonl.gz": cut,
    }
    assert "docs/rows.jsonl:2" in failed()
    assert set(contents(neardup)[0]) == {"one", "docs/rows.jsonl:3"}
    # The line is mended, with an id of its own, and so is the file that broke off.
    lines[1] = json.dumps({"id": "two", "text": prose(2)})
    whole = gzip.compress(json.dumps({"id": "four", "text": prose(4)}).encode())
    write(neardup.folder, {"docs/rows.jsonl": "\n".join(lines), "docs/cut.jsonl.gz": whole})
    neardup("index", "docs")
    assert failed() == {}
    assert set(contents(neardup)[0]) == {"one", "two", "four", "docs/rows.jsonl:3"}


def test_the_row_of_a_bad_line_is_its_number(neardup: Neardup) -> None:
    from pyarrow import parquet

    write(neardup.folder, {"rows.jsonl": f"{json.dumps({'id': 'one', 'text': prose(1)})}\n{{broken\n"})
    neardup("batch", "sketch", "rows.jsonl", "--out", "made")
    [file] = (neardup.folder / "made/sketches").glob("*.parquet")
    rows = parquet.read_table(file).to_pylist()
    assert [(each["id"], each["row"], bool(each["failed"])) for each in rows] == [
        ("one", 1, False),
        ("rows.jsonl:2", 2, True),
    ]


def test_failures_of_what_is_there_no_more_are_cleared(neardup: Neardup) -> None:
    good = [json.dumps({"id": f"g{number}", "text": prose(number)}) for number in range(3)]

    def failed() -> set[str]:
        return {one["id"] for one in neardup("failures", "--json").lines}

    with zipfile.ZipFile(neardup.folder / "kept.zip", "w") as archive:
        archive.writestr("bad.pdf", b"%PDF-1.4 nothing")
    kept = (neardup.folder / "kept.zip").read_bytes()
    (neardup.folder / "kept.zip").unlink()
    broken = {
        "docs/rows.jsonl": "\n".join([good[0], "{broken", good[1], "{this too", '{"id": "own", "html": 7}']),
        "docs/rows.csv": "id,text\na,b\nc,d,e,f\n",
        "docs/other.jsonl": "{another\n",
        "docs/gone.pdf": b"%PDF-1.4\nnothing",
        "docs/stays.pdf": b"%PDF-1.4\nno text either",
        "docs/kept.zip": kept,
        "elsewhere/bad.pdf": b"%PDF-1.4\nnot looked at again",
    }
    write(neardup.folder, broken)
    neardup("index", "docs", "elsewhere")
    before = failed()
    assert {"docs/rows.jsonl:2", "docs/rows.jsonl:4", "docs/rows.csv:2", "docs/other.jsonl:1"} < before
    lasting = {"docs/other.jsonl:1", "docs/stays.pdf", "docs/kept.zip/bad.pdf", "elsewhere/bad.pdf"}
    assert lasting < before
    # Bad lines and files are taken away, none of them mended.
    write(neardup.folder, {"docs/rows.jsonl": "\n".join(good[:2]), "docs/rows.csv": "id,text\na,b\n"})
    (neardup.folder / "docs/gone.pdf").unlink()
    # Who reads one file knows nothing of the others, nor who leaves them out.
    neardup("index", "docs/rows.csv", "docs/kept.zip", "--exclude", "*.pdf")
    assert failed() == before - {"docs/rows.csv:2"}
    neardup("index", "docs", "--dry-run")
    assert "docs/gone.pdf" in failed()
    neardup("index", "docs")
    assert failed() == lasting
    assert neardup("index", "docs", "--json").json["failed_before"] > 0
    assert failed() == lasting


def test_what_is_behind_a_break_has_not_been_read(neardup: Neardup) -> None:
    lines = "\n".join([json.dumps({"id": "a", "text": prose(1)}), "{broken", *["x" * 50_000] * 3, "{last"])
    whole = gzip.compress(lines.encode())
    write(neardup.folder, {"rows.jsonl.gz": whole})
    neardup("index", "rows.jsonl.gz")
    before = {one["id"] for one in neardup("failures", "--json").lines}
    assert "rows.jsonl.gz:6" in before
    write(neardup.folder, {"rows.jsonl.gz": whole[:-40]})
    neardup("index", "rows.jsonl.gz")
    assert before <= {one["id"] for one in neardup("failures", "--json").lines}


def test_what_was_left_out_as_a_duplicate_and_is_gone_is_cleared(neardup: Neardup) -> None:
    lines = [json.dumps({"id": name, "text": prose(1)}) for name in "abc"]
    write(neardup.folder, {"rows.jsonl": "\n".join(lines)})
    skip = ("index", "rows.jsonl", "--skip-duplicates")
    neardup(*skip)
    left_out = ("failures", "--reason", "duplicate", "--json")
    assert [one["id"] for one in neardup(*left_out).lines] == ["b", "c"]
    neardup(*skip)
    assert [one["id"] for one in neardup(*left_out).lines] == ["b", "c"]
    write(neardup.folder, {"rows.jsonl": "\n".join(lines[:2])})
    neardup(*skip)
    assert [one["id"] for one in neardup(*left_out).lines] == ["b"]
