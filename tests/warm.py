"""Runs `neardup` in processes that are forked from one that has imported it, which spares a test most of a start.

Each run is a process of its own, with its own folder, environment and files; only what was imported is there before.
What must begin with nothing (`tests/cli/test_help.py`, kills, pipes, the installed wheel) starts processes itself.

The workers that extract are forked too, for these runs and for the tests themselves (`fork_workers`): their start would
take longer than most documents. `tests/extract`, and whatever starts a process itself, has workers that begin with
nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.warm_client import ask

_servers: dict[int, tuple[subprocess.Popen[bytes], socket.socket]] = {}
# In what was forked, where it was forked from.
_own = ""


def clean_environment() -> dict[str, str]:
    """This process's environment without anything that steers neardup."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEARDUP", "_NEARDUP"))}
    return {**kept, "COLUMNS": "100"}


def run(
    arguments: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = 120,
) -> subprocess.CompletedProcess[bytes]:
    """Run the command to its end, as subprocess.run does."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        streams = [file.fileno() for file in (given, out, err)]
        told = dict(os.environ if env is None else env)
        code = ask(_address(), list(arguments), os.fspath(cwd or os.getcwd()), told, streams, int(timeout))
        if code == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(list(arguments), timeout)
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(list(arguments), code, out.read(), err.read())


def run_text(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same, with what it said as text."""
    done = run(arguments, cwd=cwd, env=env)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def run_script(script: str, folder: Path, *, before: str = "", **environment: str) -> str:
    """What a shell prints that runs the script as a reader's does, in one go; fails the test unless all succeed.

    `before` is what the shell does in place of `neardup` first.
    """
    client = f'"{sys.executable}" -ISS "{Path(__file__).with_name("warm_client.py")}" "{_address()}"'
    function = f'set -eo pipefail\nneardup() {{\n{before}\n{client} "$@"\n}}\n'
    done = subprocess.run(
        ["bash", "-c", function + script],
        cwd=folder,
        env={**clean_environment(), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


class _ForkedWorker:
    """A worker that extracts, with what the pool asks of `subprocess.Popen`."""

    def __init__(
        self, _command: Sequence[str], *, env: Mapping[str, str], pass_fds: Iterable[int], **_: object
    ) -> None:
        requests, write = os.pipe()
        read, answers = os.pipe()
        self.stdin, self.stdout = os.fdopen(write, "wb", buffering=0), os.fdopen(read, "rb", buffering=0)
        asked = json.dumps({"worker": list(pass_fds), "env": dict(env)}).encode() + b"\n"
        self._asking = socket.socket(socket.AF_UNIX)
        self._asking.connect("\0" + _address())
        self._asking.sendall(asked[socket.send_fds(self._asking, [asked], [requests, answers, *pass_fds]) :])
        os.close(requests)
        os.close(answers)
        self._told = self._asking.makefile("rb")
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._asking], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._told.readline() or -signal.SIGKILL)
            self._told.close()
            self._asking.close()
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def fork_workers() -> None:
    """Let the pools of this process fork their workers from now on."""
    from indexer.extract import pool

    given = {"Popen": _ForkedWorker, "PIPE": subprocess.PIPE, "DEVNULL": subprocess.DEVNULL}
    vars(pool)["subprocess"] = types.SimpleNamespace(**given)


def _address() -> str:
    """Where the process to be forked from answers, one for each that runs tests."""
    if _own:
        return _own
    own = os.getpid()
    if own not in _servers:
        listening = socket.socket(socket.AF_UNIX)
        # A name without a file, which goes with the process.
        listening.bind(f"\0neardup-warm-{own}-{os.urandom(8).hex()}")
        listening.listen()
        # Threads would not live on in a fork.
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        number = listening.fileno()
        command = [sys.executable, "-P", "-m", "tests.warm", str(number)]
        server = subprocess.Popen(command, cwd=Path(__file__).parents[1], env=alone, pass_fds=[number])
        _servers[own] = server, listening
        atexit.register(_end, server, listening)
    return str(_servers[own][1].getsockname()[1:], "ascii")


def _end(server: subprocess.Popen[bytes], listening: socket.socket) -> None:
    listening.close()
    server.kill()
    server.wait()


def _import_all() -> None:
    import importlib
    import pkgutil

    import indexer

    for found in pkgutil.walk_packages(indexer.__path__, "indexer."):
        # Spark is not everywhere, and takes long to be imported.
        if not found.name.startswith("indexer.batch.spark."):
            importlib.import_module(found.name)
    # What reads documents imports it when there are some.
    for name in ("bs4", "charset_normalizer", "lxml.html", "pdfminer.high_level", "pypdfium2"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _become(asked: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Be the command, in the fork."""
    signal.alarm(asked["timeout"])
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    for number, file in enumerate(streams):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False), encoding="utf-8", errors="backslashreplace", write_through=True
    )
    from indexer import __main__ as command

    fork_workers()
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


def _become_worker(asked: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Be a worker that extracts, in the fork."""
    os.setpgid(0, 0)
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    sys.path[:0] = [path for path in asked["env"]["PYTHONPATH"].split(os.pathsep) if path not in sys.path]
    for number, file in zip((0, 1, *asked["worker"]), streams, strict=True):
        os.dup2(file, number)
        if file not in (0, 1, *asked["worker"]):
            os.close(file)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    code = 1
    try:
        from indexer.extract.worker import main

        main()
        code = 0
    finally:
        os._exit(code)


def _answer(asking: socket.socket) -> None:
    """Fork the command or the worker that was asked for, and say how it ended."""
    message, streams, _, _ = socket.recv_fds(asking, 1 << 16, 8)
    while not message.endswith(b"\n"):
        message += asking.recv(1 << 16)
    asked = json.loads(message)
    child = os.fork()
    if child == 0:
        asking.close()
        (_become_worker if "worker" in asked else _become)(asked, streams)
    for file in streams:
        os.close(file)
    if "worker" in asked:
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        asking.sendall(b"%d\n" % child)
        # It ends with the process that asked for it.
        ended = os.pidfd_open(child)
        if ended not in select.select([asking, ended], [], [])[0]:
            os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        asking.sendall(b"%d\n" % code)


def _serve(listening: socket.socket) -> None:
    global _own  # noqa: PLW0603 - known from here on, also in forks
    _own = str(listening.getsockname()[1:], "ascii")
    _import_all()
    # A collection in a fork would copy all that it only looks at.
    gc.freeze()
    while True:
        asking, _ = listening.accept()
        with asking:
            if os.fork() == 0:
                _answer(asking)
                os._exit(0)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
