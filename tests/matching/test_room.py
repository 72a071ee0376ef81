"""A store that is too large for this machine is said to be, with the way around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.cli import main
from indexer.matching import memory_needed
from indexer.matching.memory_needed import DOCUMENT_BYTES, LEAN_BYTES, available_memory, remark_on
from indexer.matching.rule import default_rule, parse_rule


def test_only_what_does_not_fit_is_remarked_on() -> None:
    lean, whole = parse_rule("simhash-doc@3bits"), default_rule()
    assert remark_on(1_000, lean, 1_000 * LEAN_BYTES) == ""
    assert remark_on(1_000, whole, 1_000 * LEAN_BYTES) != ""
    assert remark_on(1_000, whole, 1_000 * DOCUMENT_BYTES) == ""
    assert remark_on(10**9, whole, None) == ""
    said = remark_on(10**9, lean, 16 * 10**9)
    assert "300.0 GB of memory for 1,000,000,000 documents" in said
    assert "16.0 GB are available" in said
    assert "neardup batch cluster" in said


def test_the_least_of_machine_and_control_group_counts(tmp_path: Path) -> None:
    assert available_memory(tmp_path) is None
    for name in ("proc", "sys/fs/cgroup"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    assert available_memory(tmp_path) == 8_192_000
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    (tmp_path / "sys/fs/cgroup/memory.current").write_text("4000\n")
    assert available_memory(tmp_path) == 8_192_000
    for limit, left in ((5000, 1000), (3000, 0)):
        (tmp_path / "sys/fs/cgroup/memory.max").write_text(f"{limit}\n")
        assert available_memory(tmp_path) == left


@pytest.mark.parametrize("command", ["cluster", "pairs"])
def test_commands_say_it_before_they_begin(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("some words of a text " * 20)
    assert main(["index", "a.txt", "--store", "s.neardup", "--jobs", "1"]) == 0
    capfd.readouterr()
    assert main([command, "--store", "s.neardup"]) == 0
    assert "of memory" not in capfd.readouterr().err
    monkeypatch.setattr(memory_needed, "available_memory", lambda: DOCUMENT_BYTES - 1)
    assert main([command, "--store", "s.neardup"]) == 0
    assert "of memory for 1 document," in capfd.readouterr().err.replace("\n", " ")
