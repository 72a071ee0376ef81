"""What can be told of the compose files without a container engine: their form, their secrets, their commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from indexer.engine.client.access import load_access
from tests.command_lines import command_lines, parse

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
FILES = {engine: DOCKER / f"compose-{engine}.yml" for engine in ("elasticsearch", "opensearch")}
DASHBOARDS = {"elasticsearch": "kibana", "opensearch": "dashboards"}


@pytest.fixture(params=FILES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def services(engine: str) -> dict[str, Any]:
    found = yaml.safe_load(FILES[engine].read_text())["services"]
    assert isinstance(found, dict)
    return found


def test_every_service_is_watched(services: dict[str, Any]) -> None:
    """A service that stays has a health check; one that ends is waited for by its end; nobody waits for less."""
    waited = {
        (name, wait["condition"]) for each in services.values() for name, wait in each.get("depends_on", {}).items()
    }
    for name, service in services.items():
        stays = service["restart"] != "no"
        assert stays == ("healthcheck" in service), name
        assert not {(name, "service_started"), (name, "service_completed_successfully" if stays else "x")} & waited
        if stays:
            assert {"test", "interval", "timeout", "retries", "start_period"} <= set(service["healthcheck"]), name


def test_what_the_services_mount_and_wait_for_is_there(engine: str, services: dict[str, Any]) -> None:
    volumes = yaml.safe_load(FILES[engine].read_text())["volumes"]
    used = set()
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            if source.startswith("."):
                assert (DOCKER / source).is_file(), source
            else:
                used.add(source)
    assert used == set(volumes)


def test_nothing_is_open_to_other_machines_and_nothing_has_more_rights_than_it_needs(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert (service.get("user") == "0:0") == (name == "secrets")
        secret = {mount.split(":")[0] for mount in service.get("volumes", ()) if "secrets" in mount.split(":")[0]}
        assert name == "secrets" or len(secret) == 1, "each service sees its own secrets only"


def strings(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for name, value in node.items():
            yield from strings(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value, key)
    else:
        yield key, str(node)


def test_no_password_is_written_anywhere(engine: str) -> None:
    composed = yaml.safe_load(FILES[engine].read_text())
    assert not any(re.search(r"//[^/\s]*:[^/\s]*@", value) for _, value in strings(composed))
    for service in composed["services"].values():
        for key in service.get("environment", ()):
            secret = re.search("password|secret|token|key", key, re.IGNORECASE)
            assert not secret or key.endswith(("_FILE", "ssl.key")), key
    for path in [*DOCKER.glob("*.sh"), *DOCKER.glob("*/*")]:
        text = path.read_text()
        for value in re.findall(r"""(?:password|hash|encryptionKey)"?\s*[:=]\s*"?([^"\s,}]+)""", text):
            assert value.startswith(("$", "%s")), f"{path.name}: {value}"
        # A credential in curl's arguments would be seen by every process.
        assert not re.search(r"curl[^\n]*\s(-u|--user)\s", text), path.name


def test_the_images_are_the_versions_that_the_readme_names(services: dict[str, Any]) -> None:
    [tested] = re.findall(r"Tested on real servers: (.*?)\.\s", (ROOT / "README.md").read_text(), re.DOTALL)
    guide = (DOCKER / "README.md").read_text()
    for service in services.values():
        name, version = re.fullmatch(r"(?:.*/)?([a-z-]+)(?::(\d+\.\d+\.\d+))?", service["image"]).groups()  # type: ignore[union-attr]
        if name == "neardup-sample":
            assert service["build"]["dockerfile"] == "docker/Dockerfile"
            assert re.search(
                rf"^FROM .* AS {service['build']['target']}$", (DOCKER / "Dockerfile").read_text(), re.MULTILINE
            )
            continue
        assert f"`{service['image']}`" in guide
        product = "Elasticsearch" if name in ("elasticsearch", "kibana") else "OpenSearch"
        assert re.search(rf"{product} (\S+ and )?{re.escape(version.rpartition('.')[0])}", tested), service["image"]


def test_the_commands_are_commands(services: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_STORE", services["sample"]["environment"]["NEARDUP_STORE"])
    lines = list(command_lines((DOCKER / "sample.sh").read_text()))
    assert [line.split()[1] for line in lines][:3] == ["setup", "index", "cluster"]
    guide = list(command_lines((DOCKER / "README.md").read_text()))
    assert len(guide) > 2
    for line in (*lines, *guide):
        parse(line)


def test_the_image_is_of_this_project() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", text, re.MULTILINE)
    names = {name for _, name in stages}
    assert all(base in names or base == "${BASE}" for base, _ in stages)
    [base] = re.findall(r"^ARG BASE=(.*)$", text, re.MULTILINE)
    assert re.fullmatch(r"python:3\.\d+-slim-[a-z]+", base)
    assert re.search(r"^USER 10001", text.partition(" AS neardup\n")[2], re.MULTILINE)
    ignored = (DOCKER / "Dockerfile.dockerignore").read_text()
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        for path in line.split():
            assert (ROOT / path).exists()
            assert f"!{path}\n" in ignored
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [asked] = re.findall(r"^ARG EXTRAS=(.*)$", text, re.MULTILINE)
    assert set(filter(None, asked.split(","))) <= set(extras)


def make_secrets(engine: str, folder: Path) -> None:
    subprocess.run(
        ["sh", str(DOCKER / "secrets.sh"), engine, DASHBOARDS[engine]],
        env={**os.environ, "SECRETS": str(folder)},
        check=True,
        capture_output=True,
    )


@pytest.mark.skipif(not shutil.which("openssl"), reason="NEEDS OPENSSL: the secrets were not made")
@pytest.mark.skipif(os.geteuid() != 0, reason="NEEDS ROOT: only root can give each folder to its user")
def test_the_secrets(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_secrets(engine, tmp_path)
    for folder, host in (("engine", engine), ("dashboards", DASHBOARDS[engine])):
        command = ["openssl", "verify", "-CAfile", "authority/ca.crt", "-verify_hostname", host, f"{folder}/server.crt"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / folder / "server.key").read_text().startswith("-----BEGIN PRIVATE KEY-----")
    users = {folder.name: folder.stat().st_uid for folder in tmp_path.iterdir()}
    assert users == {"authority": 0, "engine": 1000, "dashboards": 1000, "neardup": 10001}
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.rglob("*"))

    # The package reads what is there for it.
    given = tmp_path / "neardup" / "credentials.toml"
    os.chown(given, os.geteuid(), -1)
    monkeypatch.setenv("NEARDUP_CREDENTIALS", str(given))
    access = load_access(f"https://{engine}:9200", "shown")
    assert (access.username, access.password) == ("neardup", (tmp_path / "engine/neardup.password").read_text().strip())
    dashboards = yaml.safe_load((tmp_path / "dashboards/dashboards.yml").read_text())
    product = "elasticsearch" if engine == "elasticsearch" else "opensearch"
    assert dashboards[f"{product}.password"] == (tmp_path / "engine/dashboards.password").read_text().strip()

    # A second run changes nothing but a certificate that ends.
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    (tmp_path / "engine" / "server.crt").unlink()
    make_secrets(engine, tmp_path)
    changed = {path.name for path, content in before.items() if path.read_bytes() != content}
    assert changed == {"server.crt", "server.key"}
