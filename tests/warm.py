"""Runs `neardup` in processes that are forked from one that has imported it, which spares a test most of a start.

Each run is a process of its own, with its own folder, environment and files; only what was imported is there before.
What must begin with nothing (`tests/cli/test_help.py`, kills, pipes, the installed wheel) starts processes itself.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_servers: dict[int, subprocess.Popen[str]] = {}


def run(
    arguments: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = 120,
) -> subprocess.CompletedProcess[bytes]:
    """Run the command to its end, as subprocess.run does."""
    server = _server()
    assert server.stdin
    assert server.stdout
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("in", "out", "err")]
        streams[0].write_bytes(stdin)
        asked = {
            "arguments": list(arguments),
            "cwd": os.fspath(cwd or os.getcwd()),
            "env": dict(os.environ if env is None else env),
            "streams": list(map(os.fspath, streams)),
            "timeout": int(timeout),
        }
        print(json.dumps(asked), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        if code == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(list(arguments), timeout)
        return subprocess.CompletedProcess(list(arguments), code, streams[1].read_bytes(), streams[2].read_bytes())


def run_text(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same, with what it said as text."""
    done = run(arguments, cwd=cwd, env=env)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _server() -> subprocess.Popen[str]:
    """The process to be forked from, one for each that runs tests."""
    own = os.getpid()
    if own not in _servers:
        # Threads would not live on in a fork.
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-P", __file__]
        pipe = subprocess.PIPE
        _servers[own] = subprocess.Popen(command, env=alone, stdin=pipe, stdout=pipe, text=True)
        atexit.register(_end, _servers[own])
    return _servers[own]


def _end(server: subprocess.Popen[str]) -> None:
    server.kill()
    server.communicate()


def _import_all() -> None:
    import importlib
    import pkgutil

    import indexer

    for found in pkgutil.walk_packages(indexer.__path__, "indexer."):
        # Spark is not everywhere, and takes long to be imported.
        if found.name != "indexer.extract.worker" and not found.name.startswith("indexer.batch.spark."):
            importlib.import_module(found.name)


def _become(asked: Mapping[str, Any]) -> None:
    """Be the command, in the fork."""
    signal.alarm(asked["timeout"])
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    for number, path in enumerate(asked["streams"]):
        file = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False), encoding="utf-8", errors="backslashreplace", write_through=True
    )
    from indexer import __main__ as command

    sys.argv = [str(command.__file__), *asked["arguments"]]
    code = 1
    try:
        code = command.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # What a process does at its end, but for what belongs to the one that it was forked from.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _serve() -> None:
    _import_all()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
