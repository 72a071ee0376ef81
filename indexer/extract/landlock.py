"""Landlock of the Linux kernel (5.13 and later): a process gives up access to files.

It needs no privilege, includes child processes, and can't be undone.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress

# The same on all processors; the C library has no functions for them.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38
_EXECUTE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 2, 1 << 3
# All that the first version can forbid, and what the third one added.
_ALL, _TRUNCATE, _WITH_TRUNCATE = (1 << 13) - 1, 1 << 14, 3


def version() -> int:
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION)))


def only_read(paths: Iterable[str]) -> bool:
    """Let this process open only files at or beneath these paths from now on, to read or run them.

    Open files stay open; missing paths are skipped. False if the kernel has no Landlock.
    """
    if not (known := version()):
        return False
    handled = struct.pack("=Q", _ALL | (_TRUNCATE if known >= _WITH_TRUNCATE else 0))
    rules = _call(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), ctypes.c_uint32(0))
    if rules < 0:
        return False
    try:
        for path in dict.fromkeys(paths):
            with suppress(OSError):
                _allow(rules, path)
        if ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))):
            return False
        return _call(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0)) == 0
    finally:
        os.close(rules)


def _allow(rules: int, path: str) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights = _READ_FILE | _EXECUTE | (_READ_DIRECTORY if os.path.isdir(path) else 0)
        rule = struct.pack("=Qi", rights, place)
        if _call(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)):
            raise OSError(f"{path}: the kernel takes no rule for it")
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return int(call(ctypes.c_long(number), *arguments))
