"""What every test can ask for."""

from __future__ import annotations

import functools
import re
import signal
import sys
from pathlib import Path

import hypothesis
import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from tests import warm

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
# What `make quick` runs: whole folders, or of those that also hold slow tests the files without.
QUICK = (
    "clustering",
    "engine",
    "ingest",
    "matching",
    "model",
    "report",
    "schemes",
    "text",
    "relations/versions",
    "core/test_hamming.py",
    "core/test_numbers.py",
    "core/test_sketch.py",
    "extract/test_declared.py",
    "extract/test_html.py",
    "extract/test_sniffing.py",
    "extract/test_wire.py",
    "extract/test_xml.py",
    "stores/test_sqlite_sketches.py",
    "cli/test_help.py",
    "cli/test_typed_options.py",
    "repository/test_imports.py",
    "repository/test_names.py",
    "repository/test_operations.py",
)
# Oracles, browsers, servers and attacks.
_SLOW = {
    "ingest/readers/test_bombs.py",
    "ingest/test_remote.py",
    "ingest/test_remote_gs.py",
    "matching/evaluation/test_evaluate.py",
    "matching/test_aligned.py",
    "matching/test_hostile_passages.py",
    "matching/test_nearest.py",
    "matching/test_oracle.py",
    "report/test_judging.py",
    "report/test_walk.py",
    "schemes/test_many_texts.py",
}
_PARAMETER = re.compile(r"\[(elasticsearch|opensearch)\b")
_ASKED_FOR = re.compile(r'servers\.get\("(\w+)"\)')
_SPARK = re.compile(r"\b(spark): Any\b")


# The contract of schemes is asserted in a module that is no test file itself, which several folders import.
pytest.register_assert_rewrite("indexer.schemes.testing")

# Background jobs of a shell ignore Ctrl-C, and so do their children: tests that send it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Hundreds of tests read documents, and the start of a worker takes longer than most of these.
if sys.platform == "linux":
    warm.fork_workers()


# An example takes as long as it takes where others work on the machine too, or where it is the first to import.
hypothesis.settings.register_profile("neardup", deadline=None)
hypothesis.settings.load_profile("neardup")


@functools.cache
def _shared_in(file: str) -> str:
    """What the tests of a file share: the engine that it asks for, Spark, or what it makes once for all of them."""
    source = (ROOT / file).read_text("utf-8")
    beside = (ROOT / file).with_name("conftest.py")
    engine = _ASKED_FOR.search(source) or (beside.exists() and _ASKED_FOR.search(beside.read_text("utf-8"))) or None
    engine = engine or _SPARK.search(source)
    return engine[1] if engine else file if 'scope="module"' in source else ""


class _Grouped(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out tests one by one, but together those that share what is made once, so that one process makes it."""

    def _split_scope(self, nodeid: str) -> str:
        engine = _PARAMETER.search(nodeid)
        return (engine and engine[1]) or _shared_in(nodeid.partition("::")[0]) or nodeid


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of QUICK."""
    quick = tuple(str(ROOT / "tests" / name) for name in QUICK)
    slow = {str(ROOT / "tests" / name) for name in _SLOW}
    for item in items:
        file = str(item.path)
        if file not in slow and any(file == name or file.startswith(f"{name}/") for name in quick):
            item.add_marker(pytest.mark.quick)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """Keep what failed, for .ci/again.py."""
    failed = [report for kind in ("failed", "error") for report in terminalreporter.getreports(kind)]
    passed = len(terminalreporter.getreports("passed"))
    texts = {report.nodeid: report.longreprtext for report in failed}
    if config.cache:
        config.cache.set("neardup/last", {"passed": passed, "failed": texts, "code": int(exitstatus)})


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """How a parallel run shares out the tests."""
    return _Grouped(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real documents with truth that stands beside the checkout."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"NEEDS REAL DOCUMENTS: {SHARED_DATA} is absent; the tests over it did not run")
    return SHARED_DATA
