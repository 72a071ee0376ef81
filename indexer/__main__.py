"""`python -m indexer` is the command `neardup`."""

from __future__ import annotations

import sys

from indexer.cli import main

if __name__ == "__main__":
    code = main()
    # Python notes an interrupt that comes inside an exec(), which the import of a data class is, and `python -m` then
    # ends by that signal in place of the exit code, however well it was caught; the next code that ends well clears it.
    exec("")  # noqa: S102
    sys.exit(code)
