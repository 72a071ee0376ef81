"""Writes the C source of the extension module: `python build_ffi.py HEADER OUTPUT`.

The declarations are what stands between the cffi marks of simhash.h, so that they are written once.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import cffi


def declarations(header: str) -> str:
    """The part of the header that cffi reads, without comments (cffi knows neither those at line ends of macros)."""
    marked = header.partition("/* cffi: begin */")[2].partition("/* cffi: end */")[0]
    if not marked.strip():
        sys.exit("simhash.h: the marks '/* cffi: begin */' and '/* cffi: end */' are missing")
    return re.sub(r"/\*.*?\*/", "", marked, flags=re.DOTALL)


def main() -> None:
    header, output = map(Path, sys.argv[1:3])
    ffi = cffi.FFI()
    ffi.cdef(declarations(header.read_text(encoding="ascii")))
    ffi.cdef('extern "Python" int nd_python_sink(void *, const uint64_t *, const uint64_t *, size_t);')
    ffi.set_source("indexer._core", '#include "simhash.h"')
    ffi.emit_c_code(str(output))


if __name__ == "__main__":
    main()
