"""Whether what is about to be released is whole: version, changelog, source archive, wheel, and README's commands.

Everything is built and installed away from the checkout; what is left in dist/ is the source archive and the bill of
materials. On the tag of a release (GITHUB_REF_TYPE, GITHUB_REF_NAME) the changelog has to have the version.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
sys.path.insert(0, str(ROOT))

from tests.pages import DOCS, README, steps  # noqa: E402

# What README shows that needs a checkout, not the installed package.
IN_A_CHECKOUT = re.compile(r"^(?:make|python3 -m venv|pip|git) ", re.MULTILINE)


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that has to succeed, in an environment that knows nothing of the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NEARDUP", "VIRTUAL"))}
    done = subprocess.run(list(map(str, command)), check=False, cwd=cwd, env=kept, capture_output=True, text=True)
    require(done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def require(holds: object, problem: str) -> None:
    """End with a sentence where something does not hold."""
    if not holds:
        sys.exit(f"release-check: {problem}")


def checked_version() -> str:
    """The version, the same wherever it stands."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version = str(project["version"])
    own = re.search(r'^VERSION = "(.*)"$', (ROOT / "indexer/model/release.py").read_text("utf-8"), re.MULTILINE)
    require(own and own[1] == version, f"indexer/model/release.py: VERSION is not {version}, as pyproject.toml has it")
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    released = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE)
    if os.environ.get("GITHUB_REF_TYPE") == "tag":
        tag = os.environ["GITHUB_REF_NAME"]
        require(tag == f"v{version}", f"the tag is {tag}, and the version {version}")
        require(released, f"CHANGELOG.md: no section '## [{version}] - DATE'")
    require(released or "## [Unreleased]" in changes, f"CHANGELOG.md: neither [{version}] nor [Unreleased]")
    return version


def check_source(archive: Path) -> None:
    """What the source archive needs to be built from, and nothing that belongs to one machine."""
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    for wanted in ("LICENSE", "README.md", "pyproject.toml", "cffi_build/simhash.h", "indexer/py.typed"):
        require(wanted in names, f"{archive.name}: lacks {wanted}")
    odd = [name for name in names if name.endswith((".so", ".neardup", ".pyc")) or name.startswith((".venv", "build/"))]
    require(not odd, f"{archive.name}: holds {', '.join(odd[:3])}")


def check_wheel(wheel: Path, version: str) -> None:
    """Licences, type marker, templates and mapping files are in it, and no tests."""
    require("-abi3-" in wheel.name, f"{wheel.name}: not for the stable ABI")
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        info = f"neardup-{version}.dist-info"
        metadata = Parser().parsestr(opened.read(f"{info}/METADATA").decode("utf-8"))
    wanted = {f"{info}/licenses/LICENSE", f"{info}/entry_points.txt", "indexer/py.typed"}
    for folder, place in ((ROOT / "mappings", "indexer/mappings"), (ROOT / "indexer", "indexer")):
        files = (path for path in folder.rglob("*") if path.is_file())
        kept = (
            path
            for path in files
            if path.suffix not in (".pyc", ".so") and (place == "indexer" or path.suffix != ".py")
        )
        wanted |= {f"{place}/{path.relative_to(folder).as_posix()}" for path in kept}
    require(wanted <= names, f"{wheel.name}: lacks {', '.join(sorted(wanted - names)[:5])}")
    others = sorted(name for name in names if not name.startswith(("indexer/", info)))
    require(not others, f"{wheel.name}: also holds {', '.join(others[:5])}")
    require(metadata["Version"] == version, f"{wheel.name}: its metadata say version {metadata['Version']}")
    require(metadata["License-Expression"] == "Apache-2.0", f"{wheel.name}: its metadata name no licence")


def check_commands(environment: Path, folder: Path) -> None:
    """README's commands, with the tutorial's documents, by what the wheel has installed."""
    shown = [commands for commands, _ in steps(README) if not IN_A_CHECKOUT.search(commands)]
    own = [commands for commands in shown if "https://host" not in commands]
    require(len(own) > 2, "README.md: its commands were not found")
    script = "".join(["set -e\n", f'PATH="{environment}/bin:$PATH"\n', steps(DOCS / "tutorial.md")[0][0], *own])
    run("bash", "-c", script, cwd=folder)


def main() -> None:
    """Check everything, and say what was."""
    version = checked_version()
    DIST.mkdir(exist_ok=True)
    for old in (*DIST.glob("neardup-*.tar.gz"), *DIST.glob("*.cdx.json")):
        old.unlink()
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST, ROOT, cwd=ROOT)
    archive = DIST / f"neardup-{version}.tar.gz"
    check_source(archive)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, archive, cwd=folder)
        [wheel] = folder.glob("*.whl")
        check_wheel(wheel, version)
        environment = folder / "environment"
        venv.create(environment, with_pip=True)
        run(environment / "bin/python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
        run(environment / "bin/python", "-c", "import indexer.engine.client.engines", cwd=folder)
        require(
            run(environment / "bin/neardup", "--version", cwd=folder) == f"neardup {version}\n", "another version runs"
        )
        (folder / "work").mkdir()
        check_commands(environment, folder / "work")
        bill = DIST / f"neardup-{version}.cdx.json"
        make = ("-m", "cyclonedx_py", "environment", "--pyproject", ROOT / "pyproject.toml", "--of", "JSON", "-o", bill)
        run(sys.executable, *make, environment / "bin/python", cwd=folder)
        require('"bomFormat": "CycloneDX"' in bill.read_text("utf-8"), f"{bill.name}: is no bill of materials")
    print(f"neardup {version}: source archive, wheel, installation, README's commands and bill of materials hold")


if __name__ == "__main__":
    main()
