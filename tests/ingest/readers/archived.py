"""Archives of the same files, of each kind, and what is in them."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable

from indexer.ingest.readers import BadEntry, FileEntry, ReaderOptions, reader_of


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


ARCHIVES: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "a.zip": zipped,
    "a.tar": tarred,
    "a.tar.gz": lambda files: gzip.compress(tarred(files)),
    "a.tgz": lambda files: gzip.compress(tarred(files)),
}


def entries(name: str, data: bytes, limit: int = 1_000_000) -> list[FileEntry | BadEntry]:
    reader = reader_of(name)
    assert reader is not None
    return list(reader.entries(io.BytesIO(data), name, ReaderOptions(limit)))
