"""The extracting process, `python -P -m indexer.extract.worker`.

It reads requests from standard input, answers on standard output, and ends when its input closes.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import os
import pickle
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, BinaryIO

from indexer.errors import ExtractionError, MachineError, machines_fault
from indexer.extract import landlock, wire
from indexer.extract.base import LEAST_MEMORY, Item, Limits, Options
from indexer.extract.document import read_document
from indexer.extract.ending import end_with_parent
from indexer.extract.text import cleaned
from indexer.model import Document
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.extract.ocr.pages import PageReader

_NO_LIMIT = 1 << 62
# A worker that still holds this share of its memory after a document, be it a leak or fragments, is replaced.
_HELD = 0.5
# Details may quote the document.
_MAX_DETAIL = 500

# Not the processes of others, whose environment tells credentials, and nothing else below /etc.
_SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
)

# A document's text goes beside the answer.
_SENT = [field.name for field in fields(Document) if field.name not in ("text", "left_out")]

WorkerTask = Callable[..., Any]


def main() -> None:
    requests, answers = _claim_pipes()
    _isolate()
    # Before anything is read or imported that could start a thread: what runs already would not be held.
    landlock.only_read(_needed())
    try:
        setup, given = _receive(requests)
        options, limits = Options(**setup["options"]), Limits(**setup["limits"])
        task = _load(setup["task"], given)
        idle = _address_space()
        _limit_memory(idle + limits.memory)
    except EOFError:
        return
    except MachineError as error:
        _send(answers, {"failed": str(error)})
        return
    except Exception as error:
        _send(answers, {"failed": f"{type(error).__name__}: {error}"})
        return
    _send(answers, {"ready": True})
    held = idle + _HELD * limits.memory
    while True:
        try:
            request, data = _receive(requests)
        except EOFError:
            return
        reader = _reader(request, options, limits, setup["slots"], answers) if options.ocr else None
        answer, text = _answer(request, data, options, limits, task, setup["keep_text"], reader)
        del data
        answer["retire"] = _address_space() > held
        _send(answers, answer, text)


def _reader(
    request: dict[str, Any], options: Options, limits: Limits, slots: tuple[int, int], answers: BinaryIO
) -> PageReader:
    """A reader of scanned pages. It sends each text at once, so that a later failure loses none."""
    from indexer.extract.ocr.pages import PageReader, Slots

    known = {int(number): text for number, text in request["pages"].items()}

    def tell(number: int, text: str | None) -> None:
        _send(answers, {"page": number, "text": text})

    return PageReader(options.ocr, limits, known=known, told=tell, slots=Slots(*slots))


def _answer(
    request: dict[str, Any],
    data: bytes,
    options: Options,
    limits: Limits,
    task: WorkerTask | None,
    keep_text: bool,
    reader: PageReader | None,
) -> tuple[dict[str, Any], bytes]:
    try:
        item = Item(None, data, request["name"], request["format"], request["extractor"], request["told"])
        document = read_document(data, item.name, item.options(options), limits, reader)
        result = None
        if task is not None:
            try:
                result = wire.plain(task(document) if item.told is None else task(document, item.told))
            except MemoryError:
                raise
            except Exception as error:
                if fault := machines_fault(error, "the text can't be worked on here"):
                    raise fault from None
                raise ExtractionError("task-failed", f"{type(error).__name__}: {error}") from None
        answer = {name: wire.plain(getattr(document, name)) for name in _SENT}
        if keep_text:
            answer["left_out"] = wire.plain(document.left_out)
        return {"document": answer, "result": result}, document.text.encode() if keep_text else b""
    except MachineError as error:
        return {"machine": cleaned(str(error))[:_MAX_DETAIL]}, b""
    except ExtractionError as error:
        return {"reason": error.reason, "detail": cleaned(error.detail)[:_MAX_DETAIL]}, b""
    except MemoryError:
        return {"reason": "out-of-memory", "detail": f"more than {counted(limits.memory, 'byte')}"}, b""


def _claim_pipes() -> tuple[BinaryIO, BinaryIO]:
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return requests, answers


def _isolate() -> None:
    # The pool ends its workers itself; the terminal's Ctrl-C is sent to the whole group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Standard input closes too when the parent dies, but a worker in the middle of a document would not see it.
    end_with_parent()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)


def _needed() -> list[str]:
    listed = (os.environ.get(name, "") for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "TESSDATA_PREFIX"))
    given = [path for text in listed for path in text.replace(" ", os.pathsep).split(os.pathsep) if path]
    return [*_SYSTEM, sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, *given]


def _load(task: str | None, given: bytes) -> WorkerTask | None:
    if task is None:
        return None
    module, _, function = task.partition(":")
    loaded: WorkerTask = getattr(importlib.import_module(module), function)
    # From the process that started this one, before any document was read.
    return functools.partial(loaded, *pickle.loads(given)) if given else loaded  # noqa: S301


def _limit_memory(size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = hard if hard != resource.RLIM_INFINITY else _NO_LIMIT
    size = min(size, most)
    if most - _address_space() < LEAST_MEMORY:
        raise MachineError(f"the limit (ulimit -v) leaves {counted(most, 'byte')}, too little to read any document")
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    except (OSError, ValueError):
        # macOS may take more than that for a process that has done nothing yet; there is no limit then, but of time.
        if sys.platform == "linux":
            raise


def _address_space() -> int:
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 0


def _receive(requests: BinaryIO) -> tuple[dict[str, Any], bytes]:
    head = requests.read(wire.HEAD_SIZE)
    if len(head) < wire.HEAD_SIZE:
        raise EOFError
    text, size = wire.lengths(head, _NO_LIMIT)
    message = wire.message(requests.read(text))
    return message, requests.read(size)


def _send(answers: BinaryIO, message: dict[str, Any], data: bytes = b"") -> None:
    for piece in wire.frame_of_plain(message, data):
        left = memoryview(piece)
        while left:
            left = left[answers.write(left) :]


if __name__ == "__main__":
    main()
