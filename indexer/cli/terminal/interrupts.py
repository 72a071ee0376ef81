"""Ctrl-C: the first ends a command in order, the second one at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def second_ends() -> Iterator[None]:
    """End the process at the second SIGINT, whatever it is doing; the first one is a KeyboardInterrupt as usual.

    After that one it stays so to the end of the process: closing what is open, and Python itself, may take seconds.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or not usual or sys.platform == "win32":
        # Somebody has said already what an interrupt does, or that it does nothing; Windows wakes no pipe.
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    # A handler in Python would wait until a call into C comes back, and its exception may be lost in some clean-up.
    interrupted = threading.Event()
    threading.Thread(target=_watch, args=(reader, interrupted), name="interrupts", daemon=True).start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        interrupted.set()
        signal.signal(signal.SIGINT, _nothing)
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


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """A second exception might be printed before the process has ended; a signal that is ignored would wake nobody."""


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
    """End the process as by this signal, with the cursor that a line of progress may have hidden."""
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h")
    os._exit(128 + number)
