"""What docker/compose-opensearch.yml starts, as processes in its order: secrets, engine, accounts, sample, a question.

Only what the vendors' images hold is others': the engine is the tests' own, with the real security plugin.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from tests.engines.fleet import running
from tests.engines.servers import OpenSearch, SecuredOpenSearch

DOCKER = Path(__file__).resolve().parents[3] / "docker"
COMPOSED = yaml.safe_load((DOCKER / "compose-opensearch.yml").read_text("utf-8"))["services"]

pytestmark = [
    pytest.mark.skipif(not shutil.which("openssl"), reason="NEEDS OPENSSL: the compose file's services did not run"),
    pytest.mark.skipif(not shutil.which("curl"), reason="NEEDS CURL: the compose file's services did not run"),
    pytest.mark.skipif(
        os.geteuid() != 0, reason="NEEDS ROOT, as `secrets` has: the compose file's services did not run"
    ),
]


class Composed(SecuredOpenSearch):
    """Started by docker/opensearch/start.sh, with the settings beside it, in a folder laid out as the image's."""

    name = "composed-opensearch"

    @property
    def home(self) -> Path:
        """What is /usr/share/opensearch in the image."""
        return self.folder / "home"

    def __init__(self, secrets: Path) -> None:
        self._secrets = secrets
        super().__init__(secrets, {}, {})

    def _prepare(self, *_: object) -> None:
        shutil.copytree(self._secrets, self.home / "config" / "secrets")
        shutil.copytree(self.plugin / "config", self.home / "config" / "opensearch-security")
        shutil.copytree(self.plugin, self.home / "plugins" / "opensearch-security")
        (self.home / "lib").symlink_to(self._jars)

    def _settings(self) -> dict[str, object]:
        written = yaml.safe_load((DOCKER / "opensearch" / "opensearch.yml").read_text("utf-8"))
        own = {"network.host": "127.0.0.1", "cluster.name": self.folder.name}
        return {**OpenSearch._settings(self), **written, **own}

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        command, environment = super()._command()
        start = self.home / "opensearch-docker-entrypoint.sh"
        copied = f"cp -R config/opensearch-security config/secrets {shlex.quote(str(self._config))}"
        start.write_text(f"#!/bin/bash\nset -eu\n{copied}\nexec {shlex.join(command)}\n")
        start.chmod(0o755)
        homes = {"OPENSEARCH_HOME": str(self.home), "OPENSEARCH_JAVA_HOME": str(self._java.home)}
        return ["bash", str(DOCKER / "opensearch" / "start.sh")], {**environment, **homes}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the service `secrets` leaves behind."""
    folder = tmp_path_factory.mktemp("secrets")
    command = ["sh", str(DOCKER / "secrets.sh"), *COMPOSED["secrets"]["entrypoint"][2:]]
    subprocess.run(command, check=True, env={**os.environ, "SECRETS": str(folder)}, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def engine(secrets: Path) -> Iterator[Composed]:
    """The service `opensearch`, with the user that `accounts` makes."""
    with running(lambda: Composed(secrets / "engine")) as server:
        # What is "healthy" to the services after it.
        [check] = COMPOSED["opensearch"]["healthcheck"]["test"][1:]
        subprocess.run(["sh", "-c", at(check, server)], check=True, cwd=server.home)
        where = {"ENGINE": server.url, "SECRETS": str(secrets / "engine")}
        done = subprocess.run(
            ["bash", str(DOCKER / "opensearch" / "accounts.sh")],
            env={**os.environ, **where}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count('"status":"CREATED"') + done.stdout.count('"status":"OK"') == 4
        yield server


def at(command: str, server: Composed) -> str:
    """A command of the compose file, for the port at hand."""
    return re.sub(r"https://(?:localhost|opensearch):9200", server.url, command)


@pytest.fixture
def environment(engine: Composed, secrets: Path, tmp_path: Path) -> dict[str, str]:
    """That of the services with neardup, which sees the secrets of its own alone."""
    mine = tmp_path / "secrets"
    shutil.copytree(secrets / "neardup", mine)
    credentials = mine / "credentials.toml"
    credentials.write_text(credentials.read_text().replace("/secrets/", f"{mine}/"))
    given = COMPOSED["neardup"]["environment"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NEARDUP_")}
    assert given["NEARDUP_CREDENTIALS"] == "/secrets/credentials.toml"
    return {
        **kept,
        "HOME": str(tmp_path),
        "NEARDUP_STORE": at(given["NEARDUP_STORE"], engine),
        "NEARDUP_CREDENTIALS": str(credentials),
    }


def neardup(words: Sequence[str], environment: Mapping[str, str], code: int = 0) -> str:
    """What a command prints, on both streams."""
    done = subprocess.run(["neardup", *words], env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_sample_and_a_question_by_the_user_neardup(
    engine: Composed, environment: dict[str, str], tmp_path: Path
) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    text = " ".join(f"word{number}" for number in range(300))
    for name, more in (("a.txt", ""), ("b.txt", " and a little more"), ("c.txt", text[::-1])):
        (documents / name).write_text(f"{text}{more}" if name != "c.txt" else more)
    lines = (DOCKER / "sample.sh").read_text().splitlines()
    ran = [line for line in lines if line.startswith("neardup ")]
    assert len(ran) == 5
    for line in ran:
        # Dashboards aren't here; what is written to them has tests of its own.
        here = line.replace(' --dashboards "$DASHBOARDS"', "").replace("/data", str(tmp_path))
        neardup(shlex.split(here.replace("/documents", str(documents)))[1:], environment)
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert "b.txt" in neardup(["similar", str(documents / "a.txt")], environment)
    assert "nothing to do" in neardup(["setup", "--replicas", "0", "--pipelines"], environment)
    # It may do that in its own index, and nothing elsewhere.
    elsewhere = {**environment, "NEARDUP_STORE": f"{engine.url}/payroll"}
    assert "does not allow this to the user neardup" in neardup(["stats"], elsewhere, code=3)
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(f'username = "neardup"\npassword = "no"\nca_cert = "{tmp_path}/secrets/ca.crt"\n')
    wrong.chmod(0o600)
    refused = neardup(["stats"], {**environment, "NEARDUP_CREDENTIALS": str(wrong)}, code=3)
    assert "does not accept the user neardup" in refused


def test_nobody_comes_in_by_the_passwords_that_all_know(engine: Composed, secrets: Path) -> None:
    for user, password in (("admin", "admin"), ("neardup", "neardup"), ("kibanaserver", "kibanaserver")):
        asked = ["curl", "--silent", "--cacert", str(secrets / "engine" / "ca.crt"), "--user", f"{user}:{password}"]
        done = subprocess.run([*asked, "--write-out", "%{http_code}", engine.url], capture_output=True, text=True)
        assert done.stdout.endswith("401")
