"""The page about schemes of one's own: what it shows is a scheme like any other, in a process that has it installed."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from indexer.errors import IncompatibleStoreError, UsageError
from indexer.library.opening import open_store
from indexer.schemes import registry
from tests.cli.command import Neardup
from tests.cli.written import prose
from tests.pages import steps

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "own-schemes.md"
FILE = re.compile(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page."""
    folder = tmp_path_factory.mktemp("files")
    for name, content in FILE.findall(PAGE.read_text("utf-8")):
        (folder / name).write_text(content, "utf-8")
    return folder


@pytest.fixture(scope="module")
def installed(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment like this one, into which the files were installed as the page says."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (
        Path(ran(python, "-c", "import sysconfig as s; print(s.get_path('purelib'))", cwd=folder).strip()) / "ours.pth"
    ).write_text(site, "utf-8")
    [(commands, _)] = steps(PAGE)
    script = f'set -e; pip() {{ "{python}" -m pip "$@"; }}; neardup() {{ "{python}" -m indexer "$@"; }}\n{commands}'
    done = subprocess.run(["bash", "-c", script], cwd=files, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runs-of-letters" in done.stdout
    return python


def declare(folder: Path, named: dict[str, str], package: str = "one") -> None:
    """Say, as an installed package does, which schemes there are."""
    beside = folder / f"{package}-1.0.dist-info"
    beside.mkdir()
    (beside / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8")
    lines = "".join(f"{name} = {place}\n" for name, place in named.items())
    (beside / "entry_points.txt").write_text(f"[neardup.schemes]\n{lines}", "utf-8")


def ran(python: Path, *command: str, cwd: Path) -> str:
    done = subprocess.run([python, *command], cwd=cwd, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_keeps_the_contract(installed: Path, files: Path, tmp_path: Path) -> None:
    out = ran(
        installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(files / "test_runs_of_letters.py"), cwd=tmp_path
    )
    passed = re.search(r"(\d+) passed", out)
    assert passed
    assert int(passed[1]) > 40


def test_the_example_runs(installed: Path, files: Path, tmp_path: Path) -> None:
    assert ran(installed, str(files / "use.py"), cwd=tmp_path) == "0 1\n"


def test_the_command_has_it(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name, text in (("a", prose(1)), ("b", prose(1).replace("a", "o", 9)), ("c", prose(2))):
        (tmp_path / "docs" / f"{name}.txt").write_text(text, "utf-8")
    neardup = ("-m", "indexer")
    assert "runs-of-letters" in ran(installed, *neardup, "schemes", cwd=tmp_path)
    ran(installed, *neardup, "index", "docs", "--scheme", "runs-of-letters", cwd=tmp_path)
    pairs = ran(installed, *neardup, "pairs", "--match", "runs-of-letters@0.5", cwd=tmp_path)
    assert [sorted(line.split(",")[:2]) for line in pairs.splitlines()[1:]] == [["docs/a.txt", "docs/b.txt"]]
    # Where it is not installed the store opens, and says what it lacks.
    with open_store(tmp_path / "collection.neardup") as store:
        from indexer.matching.rule import default_rule, parse_rule

        assert default_rule(store)
        with pytest.raises(IncompatibleStoreError, match="a package that is not installed here"):
            parse_rule("runs-of-letters@0.5", store)


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("no_such_module:Scheme", "can't be loaded: ModuleNotFoundError"),
        ("json:nothing", "can't be loaded: AttributeError"),
        ("json:loads", "is not a subclass"),
        ("json:JSONDecoder", "is not a subclass"),
        ("indexer.schemes.minhash:Minhash", "with the family 'odd'"),
    ],
)
def test_what_is_no_scheme_is_told(place: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(tmp_path, {"odd": place})
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "odd" in registry.families()
    with pytest.raises(UsageError, match=f"odd: {place}.*{says}"):
        registry.scheme("odd")


BROKEN = {
    "absent": ("no_such_module:Scheme", "can't be loaded: ModuleNotFoundError"),
    "leaving": ("leaving:Scheme", "can't be loaded: SystemExit(1)"),
    "raising": ("raising:Raising", "RuntimeError('no model')"),
}


def test_broken_schemes_of_others_are_named_and_the_rest_is_listed(tmp_path: Path) -> None:
    declare(tmp_path, {family: place for family, (place, _) in BROKEN.items()})
    (tmp_path / "leaving.py").write_text("raise SystemExit(1)", "utf-8")
    (tmp_path / "raising.py").write_text(
        "from indexer.schemes.minhash import Minhash\n"
        "class Raising(Minhash):\n"
        "    family = 'raising'\n"
        "    def sketch(self, text): raise RuntimeError('no model')\n",
        "utf-8",
    )
    neardup = Neardup(tmp_path)
    listed = neardup("schemes", PYTHONPATH=str(tmp_path))
    answer = neardup("schemes", "--json", PYTHONPATH=str(tmp_path)).json
    assert {each["name"] for each in answer["schemes"]} >= set(registry.FAMILIES)
    assert [each["name"] for each in answer["broken"]] == sorted(BROKEN)
    for each, (family, (_, says)) in zip(answer["broken"], sorted(BROKEN.items()), strict=True):
        assert says in each["reason"]
        assert f"{family} can't be used: {each['reason']}" in listed.err
    assert "\nminhash " in listed.out


def test_a_name_is_brought_once_and_never_one_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(tmp_path, {"odd": "json:loads", "minhash": "json:loads"})
    declare(tmp_path, {"odd": "json:dumps"}, package="two")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match=r"several packages bring a scheme of this name \(json:dumps, json:loads\)"):
        registry.scheme("odd")
    assert registry.scheme("minhash").family == "minhash"
    assert registry.families().count("minhash") == 1
    with pytest.raises(UsageError, match=r"known: simhash-doc, .*odd"):
        registry.scheme("none")
