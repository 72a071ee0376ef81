"""Asks the process that `tests/warm.py` starts to run `neardup`, also as a program in a shell."""

from __future__ import annotations

import json
import os
import socket
import sys


def ask(
    address: str, arguments: list[str], folder: str, environment: dict[str, str], streams: list[int], timeout: int
) -> int:
    """The exit code of the command, negative if a signal ended it."""
    asked = {"arguments": arguments, "cwd": folder, "env": environment, "timeout": timeout}
    message = json.dumps(asked).encode() + b"\n"
    with socket.socket(socket.AF_UNIX) as server:
        server.connect("\0" + address)
        server.sendall(message[socket.send_fds(server, [message], streams) :])
        return int(server.recv(16))


if __name__ == "__main__":
    code = ask(sys.argv[1], sys.argv[2:], os.getcwd(), dict(os.environ), [0, 1, 2], 240)
    sys.exit(code if code >= 0 else 128 - code)
