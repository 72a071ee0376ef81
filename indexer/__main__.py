"""The entry point of `neardup`, also for `python -m indexer`."""

from __future__ import annotations

import os
import signal
import sys

_INTERRUPTED = 130


def main() -> int:
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    from indexer import cli

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = cli.main()
    # Python notes an interrupt that comes inside an exec(), which the import of a data class is, and `python -m` then
    # ends by that signal in place of the exit code, however well it was caught; the next code that ends well clears it.
    exec("")  # noqa: S102
    return code


if __name__ == "__main__":
    sys.exit(main())
