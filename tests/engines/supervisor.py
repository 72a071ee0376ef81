"""Runs a command in a group of its own, and kills the whole group once standard input ends.

The other end of standard input is held by the test run, so that its end, of whatever kind, is the server's end.
"""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
import threading


def main() -> None:
    """Run the command given after the name of its user and the path of its log."""
    user, log, *command = sys.argv[1:]
    with open(log, "ab") as output:
        server = subprocess.Popen(
            [*(as_user(user) if user else []), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    print(server.pid, flush=True)
    threading.Thread(target=kill_at_the_end, args=(server.pid,), daemon=True).start()
    server.wait()


def as_user(user: str) -> list[str]:
    """The command that runs another one as a user."""
    identity = ["--reuid", user, "--regid", str(pwd.getpwnam(user).pw_gid), "--clear-groups"]
    # Java attaches to itself through a socket in /tmp, whatever directory it is told, and Elasticsearch does not start
    # without. Where a machine's /tmp is root's own, the user gets leave to write there.
    if not os.stat("/tmp").st_mode & 0o002:
        identity += ["--inh-caps", "+dac_override", "--ambient-caps", "+dac_override"]
    return ["setpriv", *identity]


def kill_at_the_end(group: int) -> None:
    """Wait for the end of standard input."""
    while os.read(0, 4096):
        pass
    os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()
