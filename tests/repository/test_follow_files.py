"""What runs `neardup follow` for good: its files have their form, few rights, and a command that there is."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command_lines import parse

FOLDER = Path(__file__).resolve().parents[2] / "docker/follow"
UNIT, COMPOSED, MANIFEST = (FOLDER / name for name in ("neardup-follow.service", "compose.yml", "kubernetes.yaml"))


def read(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text())
    assert isinstance(found, dict)
    return found


def containers() -> list[dict[str, Any]]:
    spec = read(MANIFEST)["spec"]["template"]["spec"]
    return [*spec["initContainers"], *spec["containers"]]


def test_the_manifest_has_the_form_that_kubernetes_says() -> None:
    validate = pytest.importorskip("kubernetes_validate").validate
    for version in ("1.29", "1.33"):
        validate(read(MANIFEST), version, strict=True)
    mangled = read(MANIFEST)
    mangled["spec"]["template"]["spec"]["containers"][0]["livenessProb"] = {}
    with pytest.raises(Exception, match="livenessProb"):
        validate(mangled, "1.33", strict=True)


def test_the_unit_has_the_form_that_systemd_says() -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("NEEDS systemd-analyze")
    done = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_is_little_exposed() -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("NEEDS systemd-analyze")
    weighed = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", UNIT]
    done = subprocess.run(weighed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-200:]


def test_each_runs_a_command_that_there_is() -> None:
    [line] = re.findall(r"^ExecStart=/usr/bin/env (.*)$", UNIT.read_text(), re.MULTILINE)
    [service] = read(COMPOSED)["services"].values()
    for words in (shlex.split(line)[1:], service["command"], containers()[-1]["args"]):
        assert "follow" in words
        # What stands before is for all commands, and the store is in the environment.
        own = words[words.index("follow") :]
        parse(shlex.join(["neardup", *own, "--store", "https://host:9200/articles"]))


def test_each_has_few_rights_and_no_secret() -> None:
    [service] = read(COMPOSED)["services"].values()
    assert (service["cap_drop"], service["read_only"]) == (["ALL"], True)
    for container in containers():
        secured = container["securityContext"]
        assert secured["capabilities"] == {"drop": ["ALL"]}
        assert secured["readOnlyRootFilesystem"]
        assert not secured["allowPrivilegeEscalation"]
        assert container["resources"]["limits"]["memory"]
    assert read(MANIFEST)["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"]
    for path in (UNIT, COMPOSED, MANIFEST):
        assert not re.search(r"//[^/\s]*:[^/\s]*@", path.read_text())
