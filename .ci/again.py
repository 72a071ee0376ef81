"""Run the tests that failed once more, each alone, if they are few; print those that pass then as FLAKY."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

# Written by tests/conftest.py at the end of each run.
LAST = Path(".pytest_cache/v/neardup/last")
MOST = 5


def last_run() -> dict[str, Any]:
    """How many tests passed, the tracebacks of those that failed, and the exit code of the last run."""
    return json.loads(LAST.read_text()) if LAST.exists() else {"passed": 0, "failed": {}, "code": -1}  # type: ignore[no-any-return]


def passes(test: str) -> bool:
    """True if a test passes alone."""
    LAST.unlink(missing_ok=True)
    subprocess.run([sys.executable, "-m", "pytest", test], check=False)
    run = last_run()
    return bool(run["code"] == 0 and run["passed"])


def main() -> int:
    """0 if every test that failed is flaky."""
    first = last_run()
    failed = first["failed"]
    if first["code"] != 1 or len(failed) > MOST:
        print(f"{len(failed)} tests failed, exit code {first['code']}: nothing is run again")
        return 1
    flaky = [test for test in failed if passes(test)]
    for test in flaky:
        print(f"\nFLAKY {test}\nIt passed alone. It failed at first by:\n{failed[test]}")
    return len(flaky) < len(failed)


if __name__ == "__main__":
    sys.exit(main())
