"""Extraction in worker processes with limits."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import queue
import select
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self, TypeVar

from indexer.errors import MachineError, NeardupError, UsageError
from indexer.extract import wire
from indexer.extract.base import REASONS, Extracted, Failed, Item, Key, Limits, Made, Options, require_main_content
from indexer.extract.brought import brought_by
from indexer.extract.formats import names
from indexer.model import Document
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.extract.ocr.kept import KeptPages

Other = TypeVar("Other")
# Documents that wait for each worker: enough that none is ever idle, few enough that memory stays flat.
_AHEAD = 2
_START_SECONDS = 60.0
# Each page that OCR reads has the time of a document, and all of them together so many times that.
_MOST_TIMES = 60
_READ = 1 << 20
# What of the environment workers need: where programs, libraries and temporary files are, the language, the time zone,
# how Python and numeric libraries behave, and what sanitizers are told.
_PASSED = names(
    "PATH LD_LIBRARY_PATH LD_PRELOAD DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH TMPDIR LANG LANGUAGE TZ "
    "PYTHONHOME PYTHONUTF8 PYTHONHASHSEED PYTHONMALLOC PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX "
    "PYTHONWARNINGS OPENBLAS_NUM_THREADS OMP_NUM_THREADS MKL_NUM_THREADS TESSDATA_PREFIX ASAN_OPTIONS "
    "LSAN_OPTIONS UBSAN_OPTIONS"
)
# Not a folder anywhere, as for users of systems who have none.
_NO_HOME = "/nonexistent"
_MOST_JOBS = 1000


def require_jobs(jobs: int) -> None:
    if not 1 <= jobs <= _MOST_JOBS:
        raise UsageError(f"jobs={jobs}: a whole number from 1 to {_MOST_JOBS:,}")


class Direct(Protocol):
    """Takes items without a worker, and gives their outcomes some time later."""

    def take(self, item: Item[Any]) -> bool: ...

    def ready(self, *, all_of_them: bool = False) -> Iterator[Extracted[Any, Any] | Failed[Any]]: ...

    def close(self) -> None: ...


class WorkerPool(Generic[Made]):
    """`jobs` worker processes that extract documents, each within `limits`; a context manager, which ends them.

    `task` names a function, "package.module:function". A worker calls it with each document, and with what its item has
    `told`; its result (JSON types, bytes, tuples, and the classes of `indexer.model`) comes back as `made`. `given` are
    picklable objects, each worker's own from its start: the task is called with them, then the document. Without
    `keep_text` the documents come back without their texts. Workers start when first needed.

    `direct` is asked first to take an item. The pool is closed if the outcomes are given up, unless it `is_shared` by
    several threads. Every item gets exactly one outcome; NeardupError is raised if workers can't start.
    """

    def __init__(
        self,
        jobs: int,
        options: Options,
        limits: Limits,
        *,
        task: str | None = None,
        given: tuple[Any, ...] = (),
        keep_text: bool = True,
        direct: Direct | None = None,
        is_shared: bool = False,
    ) -> None:
        require_jobs(jobs)
        if options.content == "main":
            require_main_content()
        self._pages, slots = None, []
        if options.ocr:
            from indexer.extract.ocr.kept import KeptPages
            from indexer.extract.ocr.tesseract import require_ocr

            require_ocr(options.ocr)
            self._pages = SharedPages(KeptPages(options.ocr), tempfile.TemporaryFile())  # noqa: SIM115 - until close()
            slots = [self._pages.slots.fileno(), jobs]
        self._setup = {
            "slots": slots,
            "options": dataclasses.asdict(options),
            "limits": dataclasses.asdict(limits),
            "task": task,
            "keep_text": keep_text,
        }
        self._given = pickle.dumps(given) if given else b""
        self.options, self.limits, self.closed = options, limits, False
        self._jobs, self._direct, self._is_shared = jobs, direct, is_shared
        self._threads: list[threading.Thread] = []
        self._items: queue.SimpleQueue[tuple[Item[Any], queue.SimpleQueue[Any]] | None] = queue.SimpleQueue()
        self._under_way = 0
        self._workers: set[_Worker] = set()
        self._lock = threading.Lock()

    def outcomes(
        self, items: Iterable[Item[Key] | Failed[Other]]
    ) -> Iterator[Extracted[Key, Made] | Failed[Key] | Failed[Other]]:
        """The outcome of each item, as they come; failures at once."""
        done: queue.SimpleQueue[Extracted[Key, Made] | Failed[Key] | BaseException] = queue.SimpleQueue()
        left = 0
        try:
            for item in items:
                if isinstance(item, Failed):
                    yield item
                elif self._direct and self._direct.take(item):
                    yield from self._direct.ready()
                else:
                    # Counted first: an interruption between the two must not leave an item that nobody knows of.
                    left += 1
                    self._take(item, done)
                    if left >= self._jobs * (1 + _AHEAD):
                        outcome, left = done.get(), left - 1
                        yield _given(outcome)
            if self._direct:
                yield from self._direct.ready(all_of_them=True)
            while left:
                outcome, left = done.get(), left - 1
                yield _given(outcome)
        finally:
            if left and not self._is_shared:
                # What hangs would keep its worker.
                self.close()

    def close(self) -> None:
        with self._lock:
            if self.closed:
                return
            self.closed = True
            for worker in self._workers:
                worker.kill()
        self._items.put(None)
        # Where the interpreter ends it has ended them, and Python 3.13 would wait forever.
        for thread in () if sys.is_finalizing() else self._threads:
            thread.join()
        if self._direct:
            self._direct.close()
        if self._pages:
            self._pages.slots.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, item: Item[Any], done: queue.SimpleQueue[Any]) -> None:
        with self._lock:
            if self.closed:
                raise _closed()
            if len(self._threads) < min(self._under_way + 1, self._jobs):
                # A daemon, for which the end of a process does not wait.
                thread = threading.Thread(target=self._serve, name="neardup-worker", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    raise MachineError(f"no thread can be started to read documents: {error}") from None
                self._threads.append(thread)
            self._under_way += 1
            self._items.put((item, done))

    def _serve(self) -> None:
        # The kernel ends a worker with the thread that started it (PR_SET_PDEATHSIG), so each thread has its own.
        worker: _Worker | None = None
        while taken := self._items.get():
            item, done = taken
            outcome: Extracted[Any, Any] | Failed[Any] | BaseException
            try:
                if worker is None or not worker.alive:
                    worker = self._begin(worker)
                outcome = worker.extract(item, self.limits)
                is_suspect = worker.documents > 1 or self.closed
                if is_suspect and isinstance(outcome, Failed) and outcome.reason == "crashed":
                    # It may have been killed before it saw this document, or by what earlier ones left in it.
                    worker = self._begin(worker)
                    outcome = worker.extract(item, self.limits)
                if worker.retired:
                    self._end(worker)
            except BaseException as error:
                # To the caller's thread, or it would wait for this outcome forever.
                outcome = error
            with self._lock:
                self._under_way -= 1
            done.put(outcome)
            # A thread that waits must not keep a document.
            del taken, item, outcome
        # To the other threads, also to one that nobody knows of because its start was interrupted.
        self._items.put(None)
        self._end(worker)

    def _begin(self, before: _Worker | None) -> _Worker:
        self._end(before)
        with self._lock:
            if self.closed:
                raise _closed()
            try:
                worker = _Worker(self._pages)
            except OSError as error:
                raise MachineError(f"no process can be started to read documents: {error.strerror}") from None
            self._workers.add(worker)
        try:
            worker.begin(self._setup, self._given)
        except BaseException:
            self._end(worker)
            if self.closed:
                raise _closed() from None
            raise
        return worker

    def _end(self, worker: _Worker | None) -> None:
        if worker is not None:
            with self._lock:
                self._workers.discard(worker)
                worker.kill()
            worker.reap()


def _given(outcome: Extracted[Key, Made] | Failed[Key] | BaseException) -> Extracted[Key, Made] | Failed[Key]:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _closed() -> UsageError:
    return UsageError("the pool of workers is closed")


class SharedPages(NamedTuple):
    """The pages OCR has read, and the lock file by which workers share the number of pages read at a time."""

    kept: KeptPages
    slots: IO[bytes]


class _Worker:
    def __init__(self, pages: SharedPages | None) -> None:
        if not hasattr(select, "poll"):
            raise MachineError(
                "documents are read in worker processes with limits, for which this system has no means: run neardup "
                "on Linux or macOS, in WSL, or in a container. Texts need no worker, as with neardup hash --text"
            )
        self.retired = False
        self.documents = 0
        self._pages = pages
        self._text_limit = 0
        self._format: str | None = None
        self._process: Any = subprocess.Popen(
            [sys.executable, "-P", "-m", "indexer.extract.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            bufsize=0,
            pass_fds=[pages.slots.fileno()] if pages else [],
            # What it starts is ended with it.
            process_group=0,
        )

    @property
    def alive(self) -> bool:
        return not self.retired and self._process.poll() is None

    def begin(self, setup: dict[str, Any], given: bytes) -> None:
        """Send the setup and the task's own objects, and wait for the worker.

        Raises NeardupError if it does not start.
        """
        # The text may be as large as the input, and UTF-8 for what was bytes of one-byte encodings is longer.
        self._format = setup["options"]["format"]
        self._text_limit = 4 * int(setup["limits"]["input_bytes"]) + 1024
        try:
            wire.send(self._process.stdin, wire.plain(setup), given)
            answer, _ = self._receive(time.monotonic() + _START_SECONDS)
        except (EOFError, TimeoutError, OSError, wire.ProtocolError) as error:
            self.kill()
            raise NeardupError(
                f"the extraction worker did not start ({type(error).__name__}); "
                f"`{sys.executable} -P -m indexer.extract.worker </dev/null` may say why"
            ) from None
        if "ready" not in answer:
            self.kill()
            raise NeardupError(f"the extraction worker did not start: {answer.get('failed')}")

    def extract(self, item: Item[Key], limits: Limits) -> Extracted[Key, Any] | Failed[Key]:
        self.documents += 1
        known = self._pages.kept.of(item.data) if self._pages else {}
        read: dict[int, str] = {}
        try:
            pages = {str(number): text for number, text in known.items()}
            asked = {name: getattr(item, name) for name in ("name", "format", "extractor", "told")} | {"pages": pages}
            wire.send(self._process.stdin, wire.plain(asked), item.data)
            answer, text = self._answer(read, limits)
            if "machine" in answer:
                raise MachineError(str(answer["machine"]))
            self.retired = bool(answer.get("retire"))
            if "reason" in answer:
                reason = answer["reason"] if answer["reason"] in REASONS else "malformed"
                return Failed(item.key, reason, str(answer.get("detail", "")))
            document: Document = dataclasses.replace(answer["document"], text=text.decode("utf-8", "replace"))
            if not isinstance(document.declared, dict):
                raise TypeError("what a document declares is no object")
            return Extracted(item.key, document, answer["result"])
        except TimeoutError:
            self.kill()
            return Failed(item.key, "timeout", self._how_long(limits, read) + self._in_plug_in(item))
        except (EOFError, OSError):
            self.kill()
            return Failed(item.key, "crashed", self._how_it_ended(limits) + self._in_plug_in(item))
        except (wire.ProtocolError, TypeError, KeyError, AttributeError) as wrong:
            self.kill()
            return Failed(item.key, "crashed", f"the worker's answer made no sense: {wrong}")
        finally:
            if self._pages and read:
                self._pages.kept.keep(item.data, {**known, **read})

    def _answer(self, read: dict[int, str], limits: Limits) -> tuple[dict[str, Any], bytes]:
        # A page has the time of a document, and is drawn before.
        seconds, size = limits.seconds * (2 if self._pages else 1), 0
        last = time.monotonic() + _MOST_TIMES * limits.seconds
        while True:
            answer, text = self._receive(min(time.monotonic() + seconds, last))
            if "page" not in answer or not self._pages:
                return answer, text
            # One that can't be read takes its time too, and is not kept.
            if (page := answer["text"]) is not None:
                read[int(answer["page"])] = str(page)
                size += len(str(page))
            if size > self._text_limit:
                raise wire.ProtocolError("more text than can be")

    def _in_plug_in(self, item: Item[Any]) -> str:
        brought = brought_by(item.format or self._format, item.name)
        return f", in the {brought}" if brought else ""

    def _how_long(self, limits: Limits, read: Mapping[int, str]) -> str:
        if not self._pages:
            return f"stopped after {limits.seconds:g} seconds"
        return f"stopped after {2 * limits.seconds:g} seconds without a page; {counted(len(read), 'page')} read before"

    def kill(self) -> None:
        self.retired = True
        if self._process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()

    def reap(self) -> None:
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def _how_it_ended(self, limits: Limits) -> str:
        status = self._process.wait()
        if status < 0:
            try:
                name = signal.Signals(-status).name
            except ValueError:
                name = f"signal {-status}"
            return (
                f"the worker was ended by {name}; it may have met the memory limit of {counted(limits.memory, 'byte')}"
            )
        return f"the worker ended with status {status}"

    def _receive(self, deadline: float) -> tuple[dict[str, Any], bytes]:
        return wire.receive(lambda size: self._read(size, deadline), self._text_limit)

    def _read(self, size: int, deadline: float) -> bytes:
        pipe = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        parts: list[bytes] = []
        while size:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise TimeoutError
            part = os.read(pipe, min(size, _READ))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _environment() -> dict[str, str]:
    """The environment of a worker: the imports of this process, and no credentials.

    There is no HOME, because libraries look for credentials there.
    """
    home = str(Path(__file__).resolve().parents[2])
    paths = [*(path for path in sys.path if path and os.path.isabs(path)), home]
    kept = {name: value for name, value in os.environ.items() if name in _PASSED or name.startswith("LC_")}
    return {
        # A numeric library's threads would only take address space.
        "OPENBLAS_NUM_THREADS": "1",
        **kept,
        "HOME": _NO_HOME,
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
    }
