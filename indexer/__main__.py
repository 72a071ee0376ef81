"""`python -m indexer` is the command `neardup`."""

from __future__ import annotations

import sys

from indexer.cli import main

if __name__ == "__main__":
    sys.exit(main())
