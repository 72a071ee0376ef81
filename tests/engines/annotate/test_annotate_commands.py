"""On an owner's annotated index and on a sidecar, the commands answer as on the embedded store."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.cli import main
from tests.cli.written import changed, prose
from tests.engines.annotated import fill, owners, sources
from tests.engines.servers import Server

DOCUMENTS = {
    "a": prose(1),
    "b": changed(prose(1)),
    "c": changed(prose(1), 30),
    "d": prose(2),
    "e": prose(2),
    "alone": prose(3),
    "short": "a few words",
    "empty": "",
}


class Both:
    """The command, in this process, on a store in a search engine and on an embedded one with the same documents."""

    def __init__(self, url: str, prefix: str, output: pytest.CaptureFixture[str]) -> None:
        self.url, self.prefix, self._output = url, prefix, output

    def __call__(self, *arguments: str, code: int = 0) -> Iterator[str]:
        """What the two print, with the same ids."""
        for store, prefix in ((self.url, self.prefix), ("plain.neardup", "")):
            named = [prefix + each.removeprefix("ID:") if each.startswith("ID:") else each for each in arguments]
            self._output.readouterr()
            ended = main([*named, "--store", store])
            out, err = self._output.readouterr()
            assert ended == code, err
            yield out.replace(prefix, "") if prefix else out

    def json(self, *arguments: str, code: int = 0) -> tuple[Any, Any]:
        """The same of a command with --json."""
        one, other = map(json.loads, self(*arguments, "--json", code=code))
        return one, other


@pytest.fixture(params=["in place", "aside"])
def both(
    request: pytest.FixtureRequest,
    server: Server,
    index_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Both:
    monkeypatch.chdir(tmp_path)
    fill(server, index_name, {name: {"body": text, "lang": "en"} for name, text in DOCUMENTS.items()})
    lines = [json.dumps({"id": name, "text": text}) for name, text in DOCUMENTS.items()]
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    assert main(["index", "all.jsonl", "--store", "plain.neardup", "--jobs", "1"]) == 0
    url, aside = f"{server.url}/{index_name}", f"{index_name}-aside"
    in_place = request.param == "in place"
    # Read in one part, so that documents come in the order of the file.
    flags = ["--slices", "1"] if in_place else ["--slices", "1", "--to", aside]
    assert main(["annotate", "--store", url, "--field", "body", "--scheme", "minhash", "--jobs", "1", *flags]) == 0
    return Both(url, "", capfd) if in_place else Both(f"{server.url}/{aside}", f"{index_name}/", capfd)


SINGLE = {"is_canonical": True, "similarity": 1}


def taken(answer: dict[str, Any], *names: str) -> dict[str, Any]:
    """Some fields of an answer."""
    return {name: answer[name] for name in names}


def test_commands_answer_as_on_the_embedded_store(server: Server, index_name: str, both: Both) -> None:
    before = owners(sources(server, index_name))
    for flags in ([], ["-k", "6"], ["--include-short"]):
        one, other = both.json("similar", "--id", "ID:a", *flags)
        assert [(each["id"], each["similarity"], each["bits"]) for each in one["matches"]] == [
            (each["id"], each["similarity"], each["bits"]) for each in other["matches"]
        ]
        assert {"b", "c"} <= {each["id"] for each in one["matches"]}
    for flags in ([], ["--collapse"], ["--include-short"]):
        found = []
        for out in both("pairs", *flags):
            rows = csv.DictReader(io.StringIO(out))
            found.append({(frozenset((row["left"], row["right"])), row["similarity"]) for row in rows})
        assert found[0] == found[1] != set()
    one, other = both.json("cluster", "--dry-run")
    assert taken(one, "documents", "compared", "clusters", "clustered", "largest", "split") == taken(
        other, "documents", "compared", "clusters", "clustered", "largest", "split"
    )
    assert one["clusters"] == 2
    both.json("cluster")
    # Done once, there is nothing to write.
    for answer in both.json("cluster"):
        assert answer["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    for name in ("a", "b", "alone", "short", "empty"):
        one, other = both.json("show", f"ID:{name}")
        same: tuple[str, ...] = ("id", "hash", "hex", "tokens", "short", "bytes")
        assert taken(one, *same) == taken(other, *same)
        # The embedded store notes nothing of a document that is alone.
        clusters = [each["cluster"] or SINGLE for each in (one, other)]
        assert taken(clusters[0], "is_canonical", "similarity") == taken(clusters[1], "is_canonical", "similarity")
    one, other = both.json("stats")
    same = ("documents", "fingerprinted", "distinct", "short", "empty", "failures", "formats")
    assert taken(one, *same) == taken(other, *same)
    one, other = (json.loads(out) for out in both("report", "--format", "json", "-o", "-"))
    same = ("documents", "bytes", "repeating", "could_go", "same_work", "differ", "fingerprinted", "short")
    same = (*same, "unclustered", "clusters", "in_clusters", "cluster_sizes", "similarities", "by_format")
    assert taken(one, *same) == taken(other, *same)
    # Of "b" and "c", which have a word more each, none says the same as "a".
    assert (one["clusters"], one["could_go"]["documents"], one["unclustered"]) == (2, 1, 0)
    assert owners(sources(server, index_name)) == before


def test_texts_are_read_again_from_the_fields(
    server: Server, index_name: str, both: Both, capfd: pytest.CaptureFixture[str]
) -> None:
    def ask(*arguments: str, code: int = 0) -> tuple[str, str]:
        capfd.readouterr()
        assert main([*arguments, "--jobs", "1"]) == code
        return capfd.readouterr()

    evaluate, corpus = ("evaluate", "--match", "minhash"), ("corpus", "--scheme", "i-match", "--from-store")
    cluster, plain = ("--store", both.url), ("--store", "plain.neardup")
    figures = ("documents", "bytes", "bands", "wanted", "notes")
    one, other = (json.loads(ask(*evaluate, *asked, "--json")[0]) for asked in (cluster, plain))
    assert taken(one, *figures) == taken(other, *figures)
    assert one["documents"] == 6
    # With others than those that were annotated nothing is measured.
    assert "changed 6" in ask(*evaluate, *cluster, "--field", "lang", code=2)[1]
    assert "changed 6" in ask(*evaluate, *cluster, "--field", "body", "--format", "html", code=2)[1]
    assert "nowhere" in ask(*evaluate, *cluster, "--field", "nowhere", code=2)[1]
    one, other = (json.loads(ask(*corpus, *asked, "--json")[0]) for asked in (cluster, plain))
    assert one == other
    assert one["documents"] == len(DOCUMENTS)
    # An index that remembers none.
    forget(server, both.url.rpartition("/")[2])
    assert "in-fields 6" in ask(*evaluate, *cluster, code=2)[1]
    assert "name them with --field" in ask(*corpus, *cluster, code=3)[1]
    server.request("DELETE", f"/{index_name}/_doc/d?refresh=true")
    server.request("POST", f"/{index_name}/_update/a?refresh=true", {"doc": {"body": prose(9)}})
    found = json.loads(ask(*evaluate, *cluster, "--field", "body", "--json")[0])
    aside = not both.url.endswith(index_name)
    assert found["documents"] == 4
    assert sum("(changed: " in note for note in found["notes"]) == 1
    assert ("left out: 1 document (unreadable)" in found["notes"]) == aside


def forget(server: Server, index: str) -> None:
    """Take out of a mapping which fields were annotated."""
    meta = server.request("GET", f"/{index}/_mapping")[index]["mappings"]["_meta"]
    del meta["neardup"]["texts"]
    server.request("PUT", f"/{index}/_mapping", {"_meta": meta})


def test_commands_that_read_texts_need_no_fields(server: Server, index_name: str, both: Both) -> None:
    """Differences of words, verification by text and the report's differences, as of lines of a file."""
    one, other = both.json("diff", "ID:a", "ID:b")
    assert one == other
    assert one["same"]
    assert (one["removed"], one["added"]) == (0, 1)
    one, other = both.json("similar", "--id", "ID:a", "--match", "minhash@0.5+text@0.5")
    assert [match["similarity"] for match in one["matches"]] == [match["similarity"] for match in other["matches"]]
    assert one["matches"]
    one, other = (
        {(frozenset((row["left"], row["right"])), row["similarity"]) for row in csv.DictReader(io.StringIO(out))}
        for out in both("pairs", "--match", "minhash@0.5+text@0.5", "--format", "csv")
    )
    assert one == other
    assert one
    list(both("cluster"))
    for page in both("report", "-o", "-", "--pairs", "5"):
        assert "<del>" in page or "<ins>" in page
        assert "shown: " not in page
    assert "name them" not in "".join(both("evaluate", "--match", "minhash", "--jobs", "1"))


def test_delete_takes_the_fingerprint_and_leaves_the_document(server: Server, index_name: str, both: Both) -> None:
    before = owners(sources(server, index_name))
    both.json("cluster")
    rest = {"missing": 0, "contended": 0, "listed": []}
    in_place = both.url.endswith(index_name)
    of_owner, own = {"deleted": 0, "stripped": 1, **rest}, {"deleted": 1, "stripped": 0, **rest}
    assert both.json("delete", "ID:b") == (of_owner if in_place else own, own)
    gone = {"deleted": 0, "stripped": 0, **rest, "missing": 1}
    assert both.json("delete", "ID:b", code=5) == (gone, gone)
    one, other = both.json("similar", "--id", "ID:a")
    assert [each["id"] for each in one["matches"]] == [each["id"] for each in other["matches"]] == ["c"]
    list(both("show", "ID:b", code=5))
    one, other = both.json("cluster")
    assert taken(one, "documents", "clusters", "clustered") == taken(other, "documents", "clusters", "clustered")
    assert owners(sources(server, index_name)) == before
    one, other = both("prune", "--delete", "--yes")
    assert other.split()[:2] == ["deleted", "1"]
    assert one.split()[:4] == (["deleted", "0", "stripped", "1"] if in_place else ["deleted", "1"])
    assert owners(sources(server, index_name)) == before
