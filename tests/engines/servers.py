"""Real servers: started in a temporary directory on free ports, killed and started again, always stopped."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.engines import downloads

# A server of a test lives for seconds: Java's second compiler costs more than it gains. Benchmarks have both.
JAVA_FLAGS = "-Xms512m -Xmx1g" + " -XX:TieredStopAtLevel=1" * ("PYTEST_VERSION" in os.environ)
START_SECONDS = 120


_PROCESSES = 8


def free_port(among: Iterable[int] = (0,)) -> int:
    """A port of this machine that nobody listens on, the first such of those named."""
    for port in among:
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return int(listener.getsockname()[1])
    raise AssertionError(f"no port is free among {among}")


class Server(ABC):
    """One node; `url` once it is started."""

    name = ""
    version = ""
    scheme = "http"

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"neardup-{self.name}-"))
        self.port = 0
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._group = 0
        self._answered = False

    @property
    def url(self) -> str:
        """The address of its HTTP interface."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def repository(self) -> Path:
        """The folder in which it may keep snapshots."""
        return self.folder / "snapshots"

    @property
    def _user(self) -> str:
        """Whom it runs as: Elasticsearch refuses root."""
        return ""

    @abstractmethod
    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        """The command line, and what it needs in the environment."""

    def launch(self) -> None:
        """Start the process; `ready` waits for it."""
        command, environment = self._command()
        self._supervisor = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("supervisor.py")), self._user, self._log, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            cwd=self.folder,
            start_new_session=True,
        )
        assert self._supervisor.stdout
        self._group = int(self._supervisor.stdout.readline())

    @property
    def _log(self) -> str:
        return str(self.folder / "output.log")

    def ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until the node answers; at its first start on another port if somebody else took the one it chose."""
        limit = time.monotonic() + seconds
        while not self.answers():
            assert self._supervisor
            if time.monotonic() > limit:
                raise AssertionError(f"{self.name} did not start:\n{self.log()[-4000:]}")
            if self._supervisor.poll() is not None:
                if self._answered or not re.search(r"Bind\w*Exception", self.log()):
                    raise AssertionError(f"{self.name} ended at once:\n{self.log()[-4000:]}")
                self._end()
                Path(self._log).unlink()
                self.port = 0
                self.launch()
            time.sleep(0.2)
        self._answered = True

    def answers(self) -> bool:
        """Whether the HTTP interface answers, also to somebody without credentials; not that of another node."""
        context = ssl._create_unverified_context() if self.scheme == "https" else None
        try:
            with urllib.request.urlopen(self.url + "/_cluster/health", timeout=2, context=context) as answer:
                health = json.load(answer)
                return bool(health["cluster_name"] == self.folder.name and health["status"] != "red")
        except urllib.error.HTTPError as error:
            return error.code in (401, 403)
        except OSError:
            return False

    def request(self, method: str, path: str, body: object = None, *, lines: Sequence[object] = ()) -> Any:
        """What the server answers, seen past the code under test; an error's answer is JSON as well."""
        data = None if body is None else json.dumps(body).encode()
        kind = "application/json"
        if lines:
            data, kind = "".join(json.dumps(line) + "\n" for line in lines).encode(), "application/x-ndjson"
        asked = urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return json.loads(error.read() or b"null")

    def log(self) -> str:
        """What the process printed."""
        return Path(self._log).read_text("utf-8", "replace")

    def kill(self) -> None:
        """As a power failure would: SIGKILL to all of it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._group, signal.SIGKILL)
        self._end()

    def _end(self) -> None:
        if self._supervisor:
            assert self._supervisor.stdin
            assert self._supervisor.stdout
            self._supervisor.stdin.close()
            self._supervisor.wait()
            self._supervisor.stdout.close()
            self._supervisor = None

    def stop(self) -> None:
        """End it, and remove its directory."""
        self._end()
        shutil.rmtree(self.folder, ignore_errors=True)


class Elasticsearch(Server):
    """The real Elasticsearch, without most of its modules."""

    name = "elasticsearch"

    def __init__(self, version: str = "") -> None:
        self._java, self.version = downloads.elasticsearch_java(version)
        archive = downloads.elasticsearch_zip(self.version)
        super().__init__()
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(self.folder)
        self.home = self.folder / f"elasticsearch-{self.version}"
        for path in (self.home / "bin").iterdir():
            path.chmod(0o755)
        (self.folder / "tmp").mkdir()
        self._prepare()
        self._give_away()

    def _prepare(self) -> None:
        """Write what has to be there before the start."""

    def _give_away(self) -> None:
        if self._user:
            self.folder.chmod(0o755)
            subprocess.run(["chown", "-R", self._user, str(self.folder)], check=True)

    @property
    def _user(self) -> str:
        return "nobody" if os.geteuid() == 0 else ""

    def _environment(self) -> dict[str, str]:
        temporary = str(self.folder / "tmp")
        return {
            "ES_JAVA_HOME": str(self._java.home),
            "ES_JAVA_OPTS": JAVA_FLAGS,
            "ES_TMPDIR": temporary,
            "CLI_JAVA_OPTS": f"-XX:TieredStopAtLevel=1 -Djava.io.tmpdir={temporary}",
        }

    def _settings(self) -> list[str]:
        return ["xpack.security.enabled=false"]

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        self.port = self.port or free_port()
        settings = [
            "discovery.type=single-node",
            f"cluster.name={self.folder.name}",
            f"http.port={self.port}",
            f"transport.port={free_port()}",
            f"path.repo={self.repository}",
            # The tests remove what they made by pattern.
            "action.destructive_requires_name=false",
            # Points in time end when they should, and not at the next full minute.
            "search.keep_alive_interval=1s",
            "cluster.routing.allocation.disk.threshold_enabled=false",
            *self._settings(),
        ]
        flags = [part for setting in settings for part in ("-E", setting)]
        return [str(self.home / "bin" / "elasticsearch"), *flags], self._environment()


class OpenSearch(Server):
    """The real OpenSearch, without plugins."""

    name = "opensearch"

    def __init__(self, version: str = "") -> None:
        self._java, runner = downloads.opensearch_java(version)
        self._jars = downloads.opensearch_jars(runner)
        self.version = runner.rpartition(".")[0]
        super().__init__()

    @property
    def _config(self) -> Path:
        return self.folder / "node" / "node_1" / "config"

    def _settings(self) -> dict[str, object]:
        return {
            "discovery.type": "single-node",
            "transport.port": free_port(),
            "path.repo": str(self.repository),
            "search.keep_alive_interval": "1s",
            # It never keeps one for less than it has at first.
            "point_in_time.init.keep_alive": "4s",
            "cluster.routing.allocation.disk.threshold_enabled": "false",
        }

    def _plugins(self) -> tuple[Sequence[Path], Sequence[str]]:
        """The jars of plugins, and the names of their classes."""
        return (), ()

    def _jars_of(self, plugin: Path) -> Sequence[Path]:
        """The jars of a plugin; where both have a library, the engine's is the one that plugins get, too."""
        there = {_library(path) for path in self._jars.glob("*.jar")}
        return [path for path in sorted(plugin.glob("*.jar")) if _library(path) not in there]

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        self.port = self.port or free_port(_own_ports())
        self._config.mkdir(parents=True, exist_ok=True)
        written = "".join(f"{name}: {value}\n" for name, value in self._settings().items())
        (self._config / "opensearch.yml").write_text(written)
        jars, plugins = self._plugins()
        # Where Java can compile, a node of our own, which runs ingest pipelines.
        compiles = (self._java.home / "bin" / "javac").is_file()
        own = str(Path(__file__).with_name("IngestNode.java"))
        path = ":".join([f"{self._jars}/*", *map(str, jars)])
        runner = ["-cp", path, own if compiles else "org.codelibs.opensearch.runner.OpenSearchRunner"]
        # The runner gives its first node the HTTP port after the one that it is told.
        place = ["-basePath", str(self.folder / "node"), "-baseHttpPort", str(self.port - 1)]
        flags = [*place, "-numOfNode", "1", "-clusterName", self.folder.name]
        flags += ["-pluginTypes", ",".join(plugins)] if plugins else []
        return [str(self._java.home / "bin" / "java"), *JAVA_FLAGS.split(), *runner, *flags], {}

    def answers(self) -> bool:
        """Whether it answers, on the port that the runner gave it: the next free one if the one named was taken."""
        found = re.findall(r"HttpServerTransport.* publish_address \{127\.0\.0\.1:(\d+)\}", self.log())
        self.port = int(found[-1]) if found else self.port
        return super().answers()


def _own_ports() -> range:
    """Those that the runner takes, shared out among the processes of one run of the tests, which all look at once."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return range(9202 + number % _PROCESSES, 9299, _PROCESSES)


class SecuredElasticsearch(Elasticsearch):
    """With TLS, and users and roles by file; `users` maps a name to its password and role."""

    name = "secured"
    scheme = "https"

    def __init__(self, certificates: Path, users: Mapping[str, tuple[str, str]], roles: str) -> None:
        self._certificates, self._users, self._roles = certificates, users, roles
        super().__init__()

    def _prepare(self) -> None:
        config = self.home / "config"
        for name in ("server.pem", "server.key"):
            shutil.copy(self._certificates / name, config / name)
        with (config / "roles.yml").open("a") as roles:
            roles.write(self._roles)
        for user, (password, role) in self._users.items():
            command = [str(self.home / "bin" / "elasticsearch-users"), "useradd", user, "-p", password, "-r", role]
            subprocess.run(command, check=True, env={**os.environ, **self._environment()}, capture_output=True)

    def _settings(self) -> list[str]:
        return [
            "xpack.security.enabled=true",
            "xpack.security.autoconfiguration.enabled=false",
            "xpack.security.transport.ssl.enabled=false",
            "xpack.security.http.ssl.enabled=true",
            "xpack.security.http.ssl.certificate=server.pem",
            "xpack.security.http.ssl.key=server.key",
        ]


class SecuredOpenSearch(OpenSearch):
    """With its security plugin: TLS, and users and roles by file; `users` maps a name to its password and role."""

    name = "secured-opensearch"
    scheme = "https"

    def __init__(self, certificates: Path, users: Mapping[str, tuple[str, str]], roles: Mapping[str, Any]) -> None:
        self.plugin = downloads.opensearch_plugin(downloads.SECURITY)
        super().__init__(downloads.WITH_PLUGINS)
        self._prepare(certificates, users, roles)

    def _prepare(self, certificates: Path, users: Mapping[str, tuple[str, str]], roles: Mapping[str, Any]) -> None:
        self._config.mkdir(parents=True)
        for name in ("ca.pem", "server.pem", "server.key"):
            shutil.copy(certificates / name, self._config / name)
        rules = self._config / "opensearch-security"
        shutil.copytree(self.plugin / "config", rules)
        hashes = {password: self.hash(password) for password, _ in users.values()}
        _replaced(rules / "internal_users.yml", {name: {"hash": hashes[users[name][0]]} for name in users})
        _replaced(rules / "roles.yml", roles)
        mapping = {role: {"users": [name for name in users if users[name][1] == role]} for _, role in users.values()}
        _replaced(rules / "roles_mapping.yml", mapping)

    def hash(self, password: str) -> str:
        """What the plugin keeps of a password, by its own tool."""
        java = str(self._java.home / "bin" / "java")
        command = [java, "-cp", f"{self.plugin}/*:{self._jars}/*", "org.opensearch.security.tools.Hasher"]
        environment = {**os.environ, "PASSWORD": password}
        done = subprocess.run([*command, "-env", "PASSWORD"], env=environment, capture_output=True, text=True)
        [found] = re.findall(r"^\$2[aby]\$.*$", done.stdout, re.MULTILINE)
        return str(found)

    def _plugins(self) -> tuple[Sequence[Path], Sequence[str]]:
        return self._jars_of(self.plugin), ["org.opensearch.security.OpenSearchSecurityPlugin"]

    def _settings(self) -> dict[str, object]:
        tls = {
            f"plugins.security.ssl.{layer}.{name}_filepath": file
            for layer in ("http", "transport")
            for name, file in (("pemcert", "server.pem"), ("pemkey", "server.key"), ("pemtrustedcas", "ca.pem"))
        }
        return {
            **super()._settings(),
            **tls,
            "plugins.security.ssl.http.enabled": "true",
            "plugins.security.ssl.transport.enforce_hostname_verification": "false",
            "plugins.security.nodes_dn": '["CN=server"]',
            "plugins.security.allow_default_init_securityindex": "true",
        }


class KnnOpenSearch(OpenSearch):
    """With its k-NN plugin, but without the plugin's native library, so that its indices are Lucene's."""

    name = "knn-opensearch"

    def __init__(self) -> None:
        super().__init__(downloads.WITH_PLUGINS)

    def _plugins(self) -> tuple[Sequence[Path], Sequence[str]]:
        plugin = downloads.opensearch_plugin(downloads.KNN)
        return self._jars_of(plugin), ["org.opensearch.knn.plugin.KNNPlugin"]


def _library(jar: Path) -> str:
    return re.sub(r"-[0-9][\w.]*$", "", jar.stem)


def _replaced(path: Path, entries: Mapping[str, Any]) -> None:
    """Write a file of the plugin's with other entries."""
    kind = path.stem.replace("_", "")
    meta = {"_meta": {"type": kind, "config_version": 2}}
    # JSON is YAML too.
    path.write_text(json.dumps({**meta, **entries}))
