"""The process that holds a beacon's connections: `python beacon_process.py PARENT_PID INCARNATION`, the socket is its stdin.

The kernel kills it when its parent is gone (Linux, PR_SET_PDEATHSIG, prctl(2)), and closes its connections at once. Those of
a replica itself would stay open while its memory is freed. Elsewhere it sees within half a second that its parent is gone.
It runs as a script that imports nothing of the package, to start in milliseconds and to stay small.
"""

import ctypes
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable

PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
LOOK_S = 0.5
FULL_S = 0.2
"""How long a beacon waits before it accepts again, if the process has no file descriptor left."""
MOST_HELD = 64
"""Connections to a beacon, so that nobody takes all file descriptors of a process."""


def serve(server: socket.socket, greeting: bytes, is_wanted: Callable[[], bool]) -> None:
    """Hold connections for as long as `is_wanted`, asked twice a second; on each say `greeting`, and nothing more."""
    server.setblocking(False)
    held: set[socket.socket] = set()
    with selectors.DefaultSelector() as selector:
        selector.register(server, selectors.EVENT_READ)
        while is_wanted():
            for key, _ in selector.select(LOOK_S):
                if key.fileobj is server:
                    line = _accepted(server, greeting, room=len(held) < MOST_HELD)
                    if line is not None:
                        held.add(line)
                        selector.register(line, selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket) and not _still_open(key.fileobj):
                    selector.unregister(key.fileobj)
                    held.discard(key.fileobj)
                    key.fileobj.close()
        for line in held:
            line.close()


def _accepted(server: socket.socket, greeting: bytes, *, room: bool) -> socket.socket | None:
    try:
        line, _ = server.accept()
    except (BlockingIOError, ConnectionError):
        return None
    except OSError:  # no file descriptor is left: it stays in the queue
        time.sleep(FULL_S)
        return None
    try:
        if room:
            line.setblocking(False)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # who lost power is not held for ever
            line.sendall(greeting)
            return line
    except OSError:
        pass  # gone already
    line.close()
    return None


def _still_open(line: socket.socket) -> bool:
    """False if the other side has closed it."""
    try:
        return line.recv(64) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def main(parent_pid: int, incarnation: str) -> None:
    """Serve for as long as the parent lives; where the kernel does not say when it ends, that is looked for."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to all processes: its parent may still hand over
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    serve(socket.socket(fileno=0), incarnation.encode() + b"\n", lambda: os.getppid() == parent_pid)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
