"""Ctrl-C: the first ends a command in order, the second at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType

# Set by the handler that took the first SIGINT, so that the second one raises nowhere: the process ends by it.
_taken = threading.Event()


@contextmanager
def second_ends() -> Iterator[None]:
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or not usual or sys.platform == "win32":
        # Somebody has said already what an interrupt does, or that it does nothing; Windows wakes no pipe.
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    # A handler in Python would wait until a call into C comes back, and its exception may be lost in some clean-up.
    interrupted = threading.Event()
    _taken.clear()
    threading.Thread(target=_watch, args=(reader, interrupted), name="interrupts", daemon=True).start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        interrupted.set()
        signal.signal(signal.SIGINT, _nothing)
        if not _taken.is_set():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if interrupted.is_set():
            signal.signal(signal.SIGINT, _nothing)
        else:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.set_wakeup_fd(before)
            os.close(writer)


@dataclass
class EndingSignal:
    """The signal that ended the run, once one did."""

    number: int = 0


@contextmanager
def stoppable(
    *, within: float | None = None, last: Callable[[], None] | None = None
) -> Iterator[tuple[threading.Event, EndingSignal]]:
    """Make the first Ctrl-C or SIGTERM end the run in order, and the second one at once.

    With `within` the process ends after so many seconds in any case, with code 0; `last` is called if the run had not
    ended. This is for runs that lose nothing by a kill.
    """
    stop, stopped = threading.Event(), EndingSignal()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            end_at_once(number)
        stopped.number = number
        if number == signal.SIGINT:
            _taken.set()
        # The exception may be lost in some library's clean-up; the event is not.
        stop.set()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with nullcontext() if within is None or sys.platform == "win32" else _ending(within, last):
            yield stop, stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _ending(within: float, last: Callable[[], None] | None) -> Iterator[None]:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    ended = threading.Event()

    def watch() -> None:
        with open(reader, "rb", buffering=0) as numbers:
            if not numbers.read(1):
                return
        time.sleep(within)
        if last and not ended.is_set():
            last()
        sys.stderr.flush()
        os._exit(0)

    # As above: a handler would wait for a call into C, and threads of libraries for requests that hang.
    threading.Thread(target=watch, name="ending", daemon=True).start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        os.close(writer)


def _nothing(_number: int, _frame: FrameType | None) -> None: ...


def _watch(reader: int, interrupted: threading.Event) -> None:
    seen = 0
    with open(reader, "rb", buffering=0) as numbers:
        while received := numbers.read(64):
            seen += received.count(signal.SIGINT)
            if seen > 1:
                end_at_once(signal.SIGINT)
            if seen:
                interrupted.set()


def end_at_once(number: int) -> None:
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h")
    os._exit(128 + number)
