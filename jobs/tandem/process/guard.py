"""Turn into a command that dies with its parent: `python guard.py PARENT_PID COMMAND [ARGUMENT…]`.

On Linux the kernel kills the command when its parent is gone, however the parent ended; elsewhere this only starts the
command. It runs as a script of its own, in a fresh process, because a Python preexec function may deadlock in a process
with threads. It imports nothing of the package, to start in milliseconds.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


def main(parent_pid: int, command: list[str]) -> None:
    """Replace this process by the command; exits if the parent is already gone."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
            sys.exit(f"cannot tie {command[0]} to its parent: {os.strerror(ctypes.get_errno())}")
        if os.getppid() != parent_pid:  # it died before the line above: no signal will ever come
            sys.exit(f"the parent {parent_pid} of {command[0]} is gone")
    try:
        os.execv(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"cannot run {command[0]}: {error}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
