"""Bearer tokens, and the addresses that need none."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path

from indexer.errors import UsageError


def read_token(path: str | None, option: str, variable: str) -> str:
    """The token in a file named by an `option`, else in a `variable` of the environment; empty for none.

    Raises UsageError, never showing it, for an empty file, and for text no header can hold.
    """
    where = variable if path is None else f"{option} {path}"
    try:
        token = (os.environ.get(variable, "") if path is None else Path(path).read_text("utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: can't be read: {getattr(error, 'strerror', None) or 'it is no text'}") from None
    if path is not None and not token:
        raise UsageError(f"{where}: is empty")
    if not re.fullmatch(r"[\x20-\x7e]*", token):
        raise UsageError(f"{where}: a token has no line breaks or characters beyond ASCII")
    return token


def is_loopback(host: str) -> bool:
    """True for a name or address within reach of this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
