"""Files of an object store, by a server that speaks its protocol."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.fs
import pyarrow.parquet
import pytest
from moto.server import ThreadedMotoServer

from indexer.batch.form import Form, Making
from indexer.batch.sketches.parts import parts_of
from indexer.batch.sketches.sketching import sketch
from indexer.errors import NeardupError, NotFoundError, UsageError
from indexer.extract.base import Limits, Options
from indexer.ingest.from_store import stored_inputs
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Rejected, Selection, Sources
from indexer.library.opening import open_store
from indexer.matching.evaluation.documents import read_texts
from tests.ingest.in_bucket import TEXTS, fill, ids


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        system, _ = pyarrow.fs.FileSystem.from_uri("s3://data/?allow_bucket_creation=true")
        system.create_dir("data")
        fill(system, "set/deep/c.html")
        yield "s3://data"
    server.stop()


def test_a_folder_a_pattern_and_a_file(bucket: str) -> None:
    parquet = [f"{bucket}/set/a.parquet:{number}" for number in range(1, 5)]
    lines = [f"{bucket}/set/deep/b.jsonl:{number}" for number in range(1, 5)]
    assert ids(f"{bucket}/set") == [*parquet, *lines, f"{bucket}/set/deep/c.html"]
    assert ids(f"{bucket}/set/*.parquet") == parquet
    assert ids(f"{bucket}/**/c.*", id_from="name") == ["c.html"]
    assert ids(f"{bucket}/other.txt") == [f"{bucket}/other.txt"]
    assert ids(f"{bucket}/set", id_from="relative", exclude=("*.parquet", "*.jsonl")) == ["deep/c.html"]
    found = Sources([f"{bucket}/set"])
    assert (len(list(found)), found.passed_over.total, found.count()) == (9, 1, None)


def test_what_is_not_there(bucket: str) -> None:
    for name in ("none.txt", "set/*.pdf"):
        with pytest.raises(NotFoundError, match=r"no (such|file)"):
            ids(f"{bucket}/{name}")
    with pytest.raises(UsageError, match="password") as caught:
        ids("s3://someone:secret@data/set")
    assert "secret" not in str(caught.value)


def test_a_server_that_does_not_answer_ends_the_run(monkeypatch: pytest.MonkeyPatch, bucket: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(NeardupError, match="s3://data/set: can't be read"):
        ids(f"{bucket}/set")


def test_a_file_over_the_limit_is_an_outcome(bucket: str) -> None:
    [item] = Sources([f"{bucket}/other.txt"], Selection(line_limit=50))
    assert isinstance(item, Rejected)
    assert item.reason == "too-large"


def test_texts_are_read_again(bucket: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        summary = index(Sources([bucket], Selection(base=str(tmp_path))), store, Settings(jobs=1))
        assert (summary.indexed, summary.failures) == (10, 0)
        inputs = stored_inputs(store, store.scan(), Selection())
        found = read_texts(inputs, Options(), Limits(), 1)
    assert (dict(found.failed), sorted(found.texts)) == ({}, sorted(TEXTS[:10]))


def test_what_could_not_be_read_to_its_end_is_sketched_again(bucket: str, tmp_path: Path) -> None:
    system, _ = pyarrow.fs.FileSystem.from_uri("s3://data")
    lines = "".join(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(TEXTS)).encode()
    for name, data in (("half.jsonl.gz", gzip.compress(lines)[:-30]), ("whole.jsonl", lines)):
        with system.open_output_stream(f"data/broken/{name}", compression=None) as out:
            out.write(data)
    sources, out = Sources([f"{bucket}/broken"]), str(tmp_path / "out")
    for done_before in (0, 1):
        summary = sketch(sources, parts_of(sources, print), out, Making(Form(()), Limits(), jobs=1))
        assert (summary.done_before, dict(summary.failed)) == (done_before, {"unreadable": 1})
    system.delete_dir("data/broken")


def test_google_is_asked_by_its_own_name() -> None:
    with pytest.raises(NeardupError, match=r"^gs://"):
        ids("gs://someone@data/set")
    assert Sources(["gs://data/set"]).count() is None
