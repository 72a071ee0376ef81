"""Real files of many formats: those that the tests of Apache Tika read, from Maven Central by way of pip's `jgo`."""

from __future__ import annotations

import os
import zipfile
from functools import cache
from pathlib import Path

import pytest

JAR = ("org.apache.tika", "tika-parser-microsoft-module", "2.9.2")
MAIL_JAR = ("org.apache.tika", "tika-parser-mail-module", "2.9.2")


@cache
def _archive(group: str, name: str, version: str) -> zipfile.ZipFile:
    from jgo.maven import MavenContext

    found = MavenContext().project(group, name).at_version(version)
    return zipfile.ZipFile(Path(found.artifact(classifier="tests", packaging="jar").resolve()))


def archive(jar: tuple[str, str, str] = JAR) -> zipfile.ZipFile:
    """The archive of the files; skips where it can't be had, and fails there if NEARDUP_REQUIRE_ENGINES is set."""
    try:
        return _archive(*jar)
    except Exception as error:
        reason = f"real files of many formats are not there: {':'.join(jar)} can't be downloaded: {error}"
        if os.environ.get("NEARDUP_REQUIRE_ENGINES") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


def real(name: str, jar: tuple[str, str, str] = JAR) -> bytes:
    """The bytes of one of the files."""
    return archive(jar).read(f"test-documents/{name}")


def names(suffix: str, jar: tuple[str, str, str] = JAR) -> list[str]:
    """The names of the files of a kind."""
    listed = (name.removeprefix("test-documents/") for name in archive(jar).namelist())
    return sorted(name for name in listed if name.endswith(suffix) and "/" not in name)
