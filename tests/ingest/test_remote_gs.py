"""Files of Google's object store, by a server that speaks its protocol."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.fs
import pyarrow.parquet
import pytest

from indexer.errors import NeardupError, NotFoundError, UsageError
from indexer.ingest import remote
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Rejected, Selection, Sources
from indexer.library.opening import open_store
from tests.ingest import gs_server
from tests.ingest.in_bucket import fill, ids

BUCKET = "gs://anonymous@data"


@pytest.fixture(scope="module")
def query() -> Iterator[str]:
    """What a URL says of the server; folders have no entries of their own there, as most tools leave them."""
    with subprocess.Popen([sys.executable, str(Path(gs_server.__file__))], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        asked = f"?endpoint_override=127.0.0.1:{int(server.stdout.readline())}&scheme=http&retry_limit_seconds=5"
        system, _ = pyarrow.fs.FileSystem.from_uri(f"{BUCKET}{asked}")
        fill(system, "set/deep/deeper/c.html")
        system.create_dir("data/set/empty")
        yield asked
        server.kill()


def test_a_folder_a_pattern_and_a_file(query: str) -> None:
    parquet = [f"{BUCKET}/set/a.parquet:{number}" for number in range(1, 5)]
    lines = [f"{BUCKET}/set/deep/b.jsonl:{number}" for number in range(1, 5)]
    page, other = f"{BUCKET}/set/deep/deeper/c.html", f"{BUCKET}/other.txt"
    assert ids(f"{BUCKET}/set{query}") == [*parquet, *lines, page]
    assert ids(f"{BUCKET}{query}") == [other, *parquet, *lines, page]
    assert ids(f"{BUCKET}/set/*.parquet{query}") == parquet
    assert ids(f"{BUCKET}/set/*/*.jsonl{query}") == lines
    assert ids(f"{BUCKET}/**/c.*{query}", id_from="name") == ["c.html"]
    assert ids(f"{other}{query}") == [other]
    found = Sources([f"{BUCKET}/set{query}"])
    assert (len(list(found)), found.passed_over.total, found.count()) == (9, 1, None)


def test_documents_are_read(query: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        summary = index(Sources([f"{BUCKET}{query}"], Selection(base=str(tmp_path))), store, Settings(jobs=1))
        assert (summary.indexed, summary.failures) == (10, 0)
        assert {record.tokens for record in store.scan()} == {30}
    [item] = Sources([f"{BUCKET}/other.txt{query}"], Selection(line_limit=50))
    assert isinstance(item, Rejected)
    assert item.reason == "too-large"


def test_what_is_not_there(query: str) -> None:
    for name in ("none.txt", "set/*.pdf"):
        with pytest.raises(NotFoundError, match=r"no (such|file)"):
            ids(f"{BUCKET}/{name}{query}")
    for user in ("someone:secret", "anonymous:secret", "someone"):
        with pytest.raises(UsageError, match="password") as caught:
            ids(f"gs://{user}@data/set{query}")
        assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match="password"):
        ids("s3://anonymous@data/set")


def test_who_does_not_answer_is_asked_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    # Google's client would by itself ask for a quarter of an hour.
    monkeypatch.setattr(remote, "_GOOGLE_SECONDS", 1)
    for tries in ("", "&retry_limit_seconds=1"):
        with pytest.raises(NeardupError, match="can't be read"):
            ids(f"{BUCKET}/set?endpoint_override=127.0.0.1:9&scheme=http{tries}")


def test_what_breaks_off_in_the_middle(query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_BUFFER", 1 << 20)
    asked = query.replace("seconds=5", "seconds=1")
    system, _ = pyarrow.fs.FileSystem.from_uri(f"{BUCKET}{query}")
    texts = [" ".join(f"w{number}x{place}" for place in range(40)) for number in range(300)]
    lines = "".join(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts)).encode()
    table = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), table, row_group_size=50, compression="none")
    # Google's client reads some megabytes at once.
    large = "".join(json.dumps({"id": f"large{place}", "text": "words " * 100_000}) + "\n" for place in range(20))
    files = {
        "cut-at-9000000/a.jsonl": large.encode(),
        "cut-at-50000/b.parquet": table.getvalue(),
        "cut-at-50/c.html": b"<p>some words" * 9,
        "cut-at-50/d.jsonl": lines,
        "cut-once/e.jsonl": lines,
        "cut-once/f.jsonl.gz": gzip.compress(lines),
    }
    for name, data in files.items():
        with system.open_output_stream(f"data/{name}", compression=None) as out:
            out.write(data)
    # What is sent on being asked again is whole.
    for name in ("e.jsonl", "f.jsonl.gz"):
        assert ids(f"{BUCKET}/cut-once/{name}{query}") == [str(number) for number in range(300)]
    found = {name: list(Sources([f"{BUCKET}/{name}{asked}"])) for name in list(files)[:4]}
    for name, items in found.items():
        *good, bad = items
        assert isinstance(bad, Rejected), name
        assert bad.reason == "unreadable"
        assert not any(isinstance(item, Rejected) for item in good)
    a_few = len(found["cut-at-9000000/a.jsonl"]) - 1
    assert 0 < a_few <= 15
    # A run tells it of each, and goes on.
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        names = [f"{BUCKET}/cut-at-50{asked}", f"{BUCKET}/cut-once{query}", f"{BUCKET}/cut-at-9000000{asked}"]
        summary = index(Sources(names), store, Settings(jobs=1))
        assert dict(summary.failed) == {"unreadable": 3}
        assert summary.indexed == 300 + a_few
