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
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from indexer.errors import ExtractionError, MachineError, machines_fault
from indexer.extract import landlock, wire
from indexer.extract.base import LEAST_MEMORY, Item, Limits, Options
from indexer.extract.document import read_document
from indexer.extract.ending import end_with_parent
from indexer.extract.text import cleaned
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

WorkerTask = Callable[..., Any]


def main() -> None:
    requests, answers = _claim_pipes()
    _isolate()
    # Before anything is read or imported that could start a thread: what runs already would not be held.
    landlock.only_read(_needed())
    try:
        setup, given = wire.receive(requests.read, _NO_LIMIT)
        options, limits = Options(**setup["options"]), Limits(**setup["limits"])
        task = _load(setup["task"], given)
        idle = _address_space()
        _limit_memory(idle + limits.memory)
    except EOFError:
        return
    except MachineError as error:
        wire.send(answers, {"failed": str(error)})
        return
    except Exception as error:
        wire.send(answers, {"failed": f"{type(error).__name__}: {error}"})
        return
    wire.send(answers, {"ready": True})
    held = idle + _HELD * limits.memory
    while True:
        try:
            request, data = wire.receive(requests.read, _NO_LIMIT)
        except EOFError:
            return
        known = request.pop("pages")
        reader = _reader(known, options, limits, setup["slots"], answers) if options.ocr else None
        item = Item(None, data, **request)
        answer, text = _answer(item, options, limits, task, setup["keep_text"], reader)
        del data, item
        answer["retire"] = _address_space() > held
        wire.send(answers, answer, text)


def _reader(
    known: dict[str, str], options: Options, limits: Limits, slots: tuple[int, int], answers: BinaryIO
) -> PageReader:
    """A reader of scanned pages. It sends each text at once, so that a later failure loses none."""
    from indexer.extract.ocr.pages import PageReader, Slots

    def tell(number: int, text: str | None) -> None:
        wire.send(answers, {"page": number, "text": text})

    pages = {int(number): text for number, text in known.items()}
    return PageReader(options.ocr, limits, known=pages, told=tell, slots=Slots(*slots))


def _answer(
    item: Item[None],
    options: Options,
    limits: Limits,
    task: WorkerTask | None,
    keep_text: bool,
    reader: PageReader | None,
) -> tuple[dict[str, Any], bytes]:
    try:
        document = read_document(item.data, item.name, item.options(options), limits, reader)
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
        # The text goes beside the answer.
        sent = replace(document, text="", left_out=document.left_out if keep_text else ())
        return {"document": wire.plain(sent), "result": result}, document.text.encode() if keep_text else b""
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


if __name__ == "__main__":
    main()
