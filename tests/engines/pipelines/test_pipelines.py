"""Documents that go through the pipelines into an index: found, clustered, kept up to date, and never refused."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from indexer.engine.index.bodies import OWNERS_ROOM
from indexer.engine.setup.pipelines import rules, script_forms
from indexer.extract import Options
from indexer.ingest.digests import source_digest
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.model import Fingerprint
from indexer.schemes import registry, simhash
from tests.cli.written import changed, prose
from tests.engines.pipelines.pipelined import (
    MINHASH,
    answered,
    keys_of,
    neardup,
    put_by_hand,
    sketched,
    source,
    through,
    write,
)
from tests.engines.servers import Server

ROOT = Path(__file__).resolve().parents[3]


def test_an_owners_field_of_that_name_is_left_alone(painless: Server) -> None:
    for name in ("neardup-simhash", "neardup-keys"):
        put_by_hand(painless, name)
        theirs = [{"body": prose(1), "neardup": each} for each in ("a text", 7, {}, {"theirs": 1}, [{"tokens": 1}])]
        assert list(through(painless, name, theirs)) == theirs
        painless.request("DELETE", f"/_ingest/pipeline/{name}")


def test_what_is_sent_through_is_found_and_clustered(painless: Server, index: str) -> None:
    neardup(
        "setup", painless, index, "--pipelines", "--field", "title", "--field", "body", "--default-pipeline", "simhash"
    )
    write(painless, index, "a", {"title": "One", "body": prose(1)})
    write(painless, index, "b", {"title": "One", "body": changed(prose(1))})
    write(painless, index, "c", {"title": "Two", "body": prose(2)})
    # Without an id of the sender's.
    words = prose(1).split()
    parts = {"title": "One", "body": [" ".join(words[:90]), " ".join(words[90:])]}
    made = painless.request("POST", f"/{index}/_doc?refresh=true", parts)
    clusters = {source(painless, index, name)["neardup"]["cluster"]["id"] for name in ("a", "b", "c", made["_id"])}
    assert len(clusters) == 4
    matches = answered("similar", painless, index, "--id", "a")["matches"]
    assert {each["id"] for each in matches} == {"b", made["_id"]}
    assert answered("cluster", painless, index)["clusters"] == 1
    records = {name: source(painless, index, name)["neardup"] for name in ("a", "b", "c", made["_id"])}
    assert len({records[name]["cluster"]["id"] for name in ("a", "b", made["_id"])}) == 1
    assert records["c"]["cluster"]["id"] != records["a"]["cluster"]["id"]
    # Written again with the same text, a document stays in its cluster; with another, it leaves.
    again = write(painless, index, "b", source(painless, index, "b"))
    assert again["neardup"]["cluster"] == records["b"]["cluster"]
    other = write(painless, index, "b", {**source(painless, index, "b"), "body": prose(3)})
    assert other["neardup"]["cluster"]["single"] is True
    hits = painless.request(
        "POST", f"/{index}/_search", {"collapse": {"field": "neardup.cluster.id"}, "query": {"match_all": {}}}
    )["hits"]["hits"]
    assert len(hits) == 3


def form_of(server: Server, index: str) -> Any:
    """What the pipeline of an index makes sketches with."""
    name = f"neardup-simhash-{index}"
    return server.request("GET", f"/_ingest/pipeline/{name}")[name]["processors"][0]["script"]["params"]["sketch"]


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    """A record but for what differs each time it is written, and for what is null."""
    found = {name: value for name, value in record.items() if value is not None and name != "indexed_at"}
    for name, each in found.items():
        if isinstance(each, dict):
            found[name] = {key: value for key, value in each.items() if value is not None and (name, key) not in DRAWN}
    return found


DRAWN = {("cluster", "id"), ("cluster", "copies_id"), ("cluster", "work_id")}


def test_what_is_sent_through_is_near_by_the_default_rule(painless: Server, index: str) -> None:
    neardup("setup", painless, index, "--pipelines", "--default-pipeline", "simhash")
    # All words of the first are in the last too, so that their simhashes are equal, but not side by side.
    words = prose(1, 400).split()
    texts = {
        "a": " ".join(words),
        "moved": " ".join(words[200:] + words[:200]),
        "cut": " ".join(words[:330]),
        "other": prose(2, 400),
        "scrambled": " ".join(sorted(words)),
    }
    for name, text in texts.items():
        record = write(painless, index, name, {"body": text})["neardup"]
        assert record["minhash"] == sketched(MINHASH, text)
    answer = answered("similar", painless, index, "--id", "a")
    assert answer["rule"] == "simhash-doc@3bits/minhash@0.6+minhash@0.6"
    assert {each["id"] for each in answer["matches"]} == {"moved", "cut"}
    assert answered("cluster", painless, index)["clusters"] == 1
    records = {name: source(painless, index, name) for name in texts}
    assert len({each["neardup"]["cluster"]["id"] for each in records.values()}) == 3
    counts = answered("annotate", painless, index, "--field", "body", "--jobs", "1")
    assert (counts["unchanged"], counts["annotated"]) == (len(texts), 0)
    assert {name: source(painless, index, name) for name in texts} == records


def test_a_text_with_other_numbers_leaves_its_cluster(painless: Server, index: str) -> None:
    neardup("setup", painless, index, "--pipelines", "--default-pipeline", "simhash")
    bill = {number: {"body": " ".join(f"{word} {number}" for word in prose(1).split())} for number in (1, 2)}
    for name in "abc":
        write(painless, index, name, bill[1])
    answered("cluster", painless, index)
    before = source(painless, index, "a")["neardup"]
    # The simhash does not count numbers, so it is the same.
    same = write(painless, index, "a", source(painless, index, "a"))["neardup"]
    other = write(painless, index, "b", {**source(painless, index, "b"), **bill[2]})["neardup"]
    assert same["simhash-doc"] == other["simhash-doc"] == before["simhash-doc"]
    assert same["cluster"] == before["cluster"]
    assert other["cluster"]["single"] is True


@pytest.mark.parametrize("specification", ["weighted-minhash", "supershingles"])
def test_other_sketches_are_left_to_annotate(painless: Server, index: str, specification: str) -> None:
    scheme = registry.scheme(specification)
    neardup("setup", painless, index, "--schemes", "simhash-doc")
    with open_store(f"{painless.url}/{index}") as store:
        store.add_scheme(scheme.info)
    neardup("setup", painless, index, "--pipelines", "--default-pipeline", "simhash")
    assert form_of(painless, index) is None
    record = write(painless, index, "a", {"body": prose(1)})["neardup"]
    assert record["simhash-doc"]["hash"]
    assert not {"minhash", scheme.family} & set(record)
    counts = answered("annotate", painless, index, "--field", "body", "--jobs", "1")
    assert (counts["annotated"], counts["unchanged"]) == (1, 0)
    done = source(painless, index, "a")["neardup"]
    assert done["simhash-doc"] == record["simhash-doc"]
    assert done[scheme.family]["features"] > 0


def test_passages_are_made_where_an_owners_document_has_room(painless: Server, index: str) -> None:
    painless.request("PUT", f"/{index}", {"mappings": {"properties": {"body": {"type": "text"}}}})
    neardup("setup", painless, index, "--schemes", "simhash-doc,minhash,passages")
    neardup("setup", painless, index, "--pipelines", "--default-pipeline", "simhash")
    sizes, made = [], []
    for number in range(12):
        text = " ".join(prose(step) for step in range(number + 1))
        record = write(painless, index, str(number), {"title": "ü" * 200, "body": text})["neardup"]
        sizes.append(len(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()))
        made.append("passages" in record)
    assert max(sizes) <= OWNERS_ROOM
    assert made[0]
    assert not made[-1]
    assert made == sorted(made, reverse=True)
    counts = answered("annotate", painless, index, "--field", "body", "--jobs", "1")
    assert counts["annotated"] == made.count(False)
    found = answered("similar", painless, index, "--text", prose(0), "--match", "passages@0.5", "--limit", "12")
    assert len(found["matches"]) == 12


def test_passages_of_letters_and_beside_sketches_without_numbers_are_left_to_annotate() -> None:
    def form(*specifications: str) -> dict[str, Any] | None:
        made = [registry.scheme(each) for each in specifications]
        return script_forms([store_info("landmarks", made)])["passages"]

    assert form("passages") == form("minhash", "passages") == {"shingle": 5, "window": 32, "room": None}
    assert form("minhash") is form("minhash:numbers=drop", "passages") is form("passages:features=letters") is None


def test_the_pipeline_follows_the_schemes_of_its_index(painless: Server, index: str) -> None:
    neardup("setup", painless, index, "--pipelines", "--schemes", "simhash-doc")
    assert form_of(painless, index) is None
    for scheme in (MINHASH, registry.scheme("minhash:shingle=3,bits=2")):
        with open_store(f"{painless.url}/{index}") as store:
            store.remove_scheme("minhash")
            store.add_scheme(scheme.info)
        assert "put the pipeline" in neardup("setup", painless, index, "--pipelines").stderr
        assert "nothing to do" in neardup("setup", painless, index, "--pipelines").stderr
        found = write(painless, index, "a", {"body": prose(1)}, f"neardup-simhash-{index}")
        assert found["neardup"]["minhash"] == sketched(scheme, prose(1))
    assert (form_of(painless, index)["shingle"], form_of(painless, index)["bits"]) == (3, 2)


def test_only_sketches_that_fit_every_index_are_made() -> None:
    usual, other = (store_info("landmarks", [registry.scheme(each)]) for each in ("minhash", "minhash:shingle=3"))
    assert script_forms([usual])["sketch"] == {
        "shingle": 5, "numbers": True, "values": 1024, "bits": 1, "bands": 16, "rows": 4,
    }  # fmt: skip
    assert script_forms([usual, usual, store_info("landmarks")]) == script_forms([usual])
    assert script_forms([usual, other])["sketch"] is None


DOCUMENTS: dict[str, dict[str, Any]] = {
    "plain": {"body": prose(1)},
    "quotes": {"title": 'a "quoted" \\ title\t', "body": "Ünïcode ☃ 𝐀\u2028\x07 \x7f words " + prose(2)},
    "parts": {"title": ["x y", None, True, 12, ["nested"]], "body": {"ignored": "object"}, "more": {"text": "deep"}},
    "dotted": {"more.text": "one two", "more": {"text": ["three", "four"]}, "title": "  \n\n  Second line\nthird"},
    "short": {"body": "just three words"},
    "empty": {"body": ""},
    "wordless": {"body": "12 + 34"},
    "none": {"lang": "en"},
    "fraction": {"title": "pi", "body": 3.14159},
    "new": {"body": "\U00020000 " + prose(4)},
}
FIELDS = ("title", "body", "more.text")


def test_the_records_are_those_of_annotate(painless: Server, index: str) -> None:
    mappings = {
        "properties": {
            "title": {"type": "text"},
            "body": {"enabled": False, "type": "object"},
            "more": {"dynamic": False, "properties": {"text": {"type": "text"}}},
        }
    }
    painless.request("PUT", f"/{index}", {"mappings": mappings})
    painless.request("PUT", f"/{index}-annotated", {"mappings": mappings})
    flags = [flag for name in FIELDS for flag in ("--field", name)]
    neardup("setup", painless, index, "--pipelines", *flags)
    for name, document in DOCUMENTS.items():
        write(painless, index, name, document, f"neardup-simhash-{index}")
        write(painless, f"{index}-annotated", name, document)
    assert source(painless, index, "fraction")["neardup"] == {"pending": "number"}
    assert source(painless, index, "new")["neardup"] == {"pending": "unicode"}
    assert source(painless, index, "none") == DOCUMENTS["none"]
    # Nothing is stale, and what is marked is found.
    counts = answered("annotate", painless, index, *flags, "--jobs", "1")
    assert (counts["annotated"], counts["missing"], counts["stale"], counts["unchanged"]) == (2, 2, 0, 7)
    answered("annotate", painless, f"{index}-annotated", *flags, "--jobs", "1")
    for name, document in DOCUMENTS.items():
        ours, theirs = source(painless, index, name), source(painless, f"{index}-annotated", name)
        assert {field: value for field, value in ours.items() if field != "neardup"} == document
        records = [without_times(each.get("neardup", {})) for each in (ours, theirs)]
        assert records[0] == records[1], name
        assert all(
            len({each["neardup"]["cluster"][id_] for _, id_ in DRAWN}) == 1 for each in (ours, theirs) if records[0]
        )
        assert ("minhash" in records[0]) == (name != "none")
    pending = {"query": {"exists": {"field": "neardup.pending"}}}
    assert painless.request("POST", f"/{index}/_count", pending)["count"] == 0


def test_a_text_that_changes_behind_the_pipeline_is_stale(painless: Server, index: str) -> None:
    neardup("setup", painless, index, "--pipelines")
    name = f"neardup-simhash-{index}"
    write(painless, index, "a", {"body": prose(1)}, name)
    lines = [{"update": {"_id": "a"}}, {"doc": {"body": prose(2)}}]
    for field in ("annotate", "annotate"):
        counts = answered(field, painless, index, "--field", "body", "--jobs", "1")
        assert (counts["unchanged"], counts["stale"]) == (1, 0)
    painless.request("POST", f"/{index}/_update/a?refresh=true", lines[1])
    counts = answered("annotate", painless, index, "--field", "body", "--jobs", "1")
    assert (counts["annotated"], counts["stale"]) == (1, 1)
    # Other fields, another fingerprint.
    assert (
        answered("annotate", painless, index, "--field", "body", "--field", "body.keyword", "--dry-run")["stale"] == 0
    )
    # Marked where a fingerprint of an older text was.
    marked = write(painless, index, "a", {**source(painless, index, "a"), "body": "\U00020000 words"}, name)
    assert marked["neardup"] == {"pending": "unicode"}


def test_the_digest_is_that_of_annotate() -> None:
    info = store_info("full")
    rest = b'[["body",["x"]]]'
    options = Options(content="full", format="text")
    assert hashlib.sha256(rules(info).encode() + rest).hexdigest()[:32] == source_digest(rest, info, options)


@pytest.mark.parametrize(
    "given",
    [
        {"hash": "{base32}"},
        {"hash": "sd1-{base32}"},
        {"hash": " SD1-{BASE32} "},
        {"hash": "{hex}"},
        {"hash": "{HEX}"},
        {"bits": "signed"},
        {"bits": "{unsigned}"},
        {"bits": "{signed}"},
        {"hash": "{base32}", "bits": "signed"},
        {"hash": "signed"},
    ],
    ids=str,
)
@pytest.mark.parametrize("value", [0, 1, 0xFFFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, 0x0123_4567_89AB_CDEF])
def test_every_form_of_a_hash(painless: Server, given: dict[str, str], value: int) -> None:
    put_by_hand(painless, "neardup-keys")
    fingerprint = Fingerprint(value, 5)
    forms = {"base32": fingerprint.base32, "hex": f"{value:016x}"}
    forms |= {name.upper(): form.upper() for name, form in forms.items()}
    forms |= {"signed": str(fingerprint.bits), "unsigned": str(value)}
    sent = {name: fingerprint.bits if form == "signed" else form.format(**forms) for name, form in given.items()}
    document = {"neardup": {"simhash-doc": sent, "tokens": 5, "source": "x/y", "short": True}}
    [found] = through(painless, "neardup-keys", [document])
    record = found["neardup"]
    wanted = {"hash": fingerprint.base32, "bits": fingerprint.bits, **keys_of(fingerprint)}
    assert record["simhash-doc"] == wanted
    assert (record["tokens"], record["source"], record["short"]) == (5, "x/y", True)
    assert record["cluster"]["single"] is True


@pytest.mark.parametrize(
    "given",
    [
        {"hash": "o45z6ig5gps3f"},
        {"hash": "o45z6ig5gps31"},
        {"hash": "x"},
        {"hash": "sd2-o45z6ig5gps3e"},
        {"hash": "0123456789abcdeg"},
        {"hash": "\u0660123456789abcdef"},
        {"bits": str(1 << 64)},
        {"bits": str(-(1 << 63) - 1)},
        {"bits": 1.5},
        {"bits": "17.0"},
        {"bits": "9" * 20},
        {"bits": "9" * 100},
        {"hash": ["o45z6ig5gps3e"]},
        {"hash": "o45z6ig5gps3e", "bits": 7},
    ],
    ids=str,
)
def test_a_bad_hash_is_marked(painless: Server, given: dict[str, Any]) -> None:
    put_by_hand(painless, "neardup-keys")
    [found] = through(painless, "neardup-keys", [{"title": "x", "neardup": {"simhash-doc": given, "source": "x/y"}}])
    assert found["title"] == "x"
    assert found["neardup"]["pending"] == "bad-hash"
    assert "simhash-doc" not in found["neardup"]
    assert str(next(iter(given.values()))).strip("[]'")[:10] in found["neardup"]["pending_detail"]


def test_what_comes_with_a_hash_is_found(painless: Server, index: str) -> None:
    lean = ("--schemes", "simhash-doc")
    neardup("setup", painless, index, *lean, "--pipelines", "--final-pipeline", "keys")
    fingerprint = simhash.fingerprint(prose(1))
    assert fingerprint
    write(painless, index, "a", {"neardup": {"simhash-doc": {"hash": str(fingerprint)}}})
    write(painless, index, "b", {"neardup": {"simhash-doc": {"bits": fingerprint.bits}, "tokens": 200}})
    write(painless, index, "other", {"title": "no hash"})
    assert [each["id"] for each in answered("similar", painless, index, "--id", "a")["matches"]] == ["b"]
    assert answered("cluster", painless, index)["clusters"] == 1
    # A bad one is stored as well, without.
    write(painless, index, "bad", {"neardup": {"simhash-doc": {"bits": 1 << 70}}})
    assert answered("stats", painless, index)["documents"] == 2


def test_a_script_that_fails_refuses_nothing(painless: Server, index: str) -> None:
    neardup("setup", painless, index)
    put_by_hand(painless, "neardup-simhash", max_characters=10_000_000)
    document = {"body": "words " * 200_000, "neardup": {"simhash-doc": {"hash": "o45z6ig5gps3e"}, "tokens": 3}}
    stored = write(painless, index, "a", document, "neardup-simhash")
    assert stored["body"] == document["body"]
    assert set(stored["neardup"]) == {"pending", "pending_detail"}
    assert stored["neardup"]["pending"] == "failed"
    counts = answered("annotate", painless, index, "--field", "body", "--jobs", "1")
    assert counts["missing"] == counts["annotated"] == 1
    assert source(painless, index, "a")["neardup"]["pending"] is None
    # What is no record of neardup's is left alone.
    [kept] = through(painless, "neardup-simhash", [{"body": "x", "neardup": "the owner's"}])
    assert kept["neardup"] == "the owner's"


def test_the_manuals_commands_for_curl(painless: Server) -> None:
    if not shutil.which("curl"):
        pytest.skip("NEEDS curl: the commands of docs/how-to/pipelines.md did not run")
    blocks = re.findall(
        r"^```sh\n(.*?)^```$", (ROOT / "docs" / "how-to" / "pipelines.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    script = "\n".join(block for block in blocks if "$CLUSTER" in block)
    try:
        environment = {**os.environ, "CLUSTER": painless.url}
        done = subprocess.run(
            ["bash", "-ec", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        assert '"errors":true' not in done.stdout
        assert '"updated":2' in done.stdout
        for name, words in (("1", 17), ("2", 9)):
            record = source(painless, "articles", name)["neardup"]
            assert (record["tokens"], record["short"]) == (words, True)
        fields = painless.request("GET", "/articles/_mapping")["articles"]["mappings"]["properties"]["neardup"]
        assert fields["properties"]["pending"] == {"type": "keyword"}
    finally:
        for path in ("/articles", "/_index_template/articles", "/_component_template/neardup"):
            painless.request("DELETE", path)


def test_the_manuals_hashes(painless: Server) -> None:
    put_by_hand(painless, "neardup-keys")
    manual = (ROOT / "docs" / "how-to" / "pipelines.md").read_text("utf-8")
    documents = [json.loads(line) for line in manual.splitlines() if line.startswith('{"neardup"')]
    hashes = {found["neardup"]["simhash-doc"]["hash"] for found in through(painless, "neardup-keys", documents)}
    assert len(documents) == 5
    assert hashes == {"o45z6ig5gps3e"}


def test_what_annotate_makes_of_hashes_and_marks(painless: Server, index: str) -> None:
    neardup("setup", painless, index, "--pipelines", "--field", "body")
    keys, whole = (f"neardup-{kind}-{index}" for kind in ("keys", "simhash"))
    fingerprint = simhash.fingerprint(prose(1))
    write(painless, index, "whole", {"body": prose(1)}, whole)
    write(painless, index, "hashed", {"body": prose(1), "neardup": {"simhash-doc": {"hash": str(fingerprint)}}}, keys)
    bad = {"neardup": {"simhash-doc": {"hash": "no hash"}}}
    write(painless, index, "bad", {"body": prose(2), **bad}, keys)
    write(painless, index, "textless", {"title": "without a text", **bad}, keys)
    marked = write(painless, index, "long", {"body": "word " * 70_000, "neardup": {"tokens": 1}}, whole)
    assert marked["neardup"].keys() == {"pending", "pending_detail"}
    assert marked["neardup"]["pending"] == "too-long"
    # The default rule goes by the sketch, which a hash does not bring.
    assert answered("similar", painless, index, "--id", "whole")["matches"] == []
    by_hash = answered("similar", painless, index, "--id", "whole", "--match", "simhash-doc@3bits")
    assert [each["id"] for each in by_hash["matches"]] == ["hashed"]
    answered("annotate", painless, index, "--jobs", "1")
    assert [each["id"] for each in answered("similar", painless, index, "--id", "whole")["matches"]] == ["hashed"]
    records = {name: source(painless, index, name)["neardup"] for name in ("bad", "textless", "long")}
    assert {name: record.get("pending") for name, record in records.items()} == {
        "bad": None, "textless": "bad-hash", "long": None,
    }  # fmt: skip
    assert records["long"]["tokens"] == 70_000
    assert records["bad"]["minhash"] == sketched(MINHASH, prose(2))
