"""The command `neardup`, as `python -m neardup`."""

import sys

from indexer.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
