"""Processes that end with their parent."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1
# Looked up before it is needed: between fork and exec nothing may be loaded.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def end_with_parent() -> None:
    """End this process when its parent ends, for any reason; only on Linux (prctl(2))."""
    if _prctl:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
