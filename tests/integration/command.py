"""A `tandem` command as a user runs it: a process of its own."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from tandem.waiting import Deadline, wait_until

TANDEM = [sys.executable, "-m", "tandem"]
PATIENCE_S = 300.0
"""A command may start a broker and Spark, beside another test on two slow cores."""


def completed(
    words: Sequence[str], within_s: float = PATIENCE_S, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. One that takes longer is ended with all that it has started, and raises `TimeoutExpired`."""
    piped = subprocess.PIPE
    with subprocess.Popen(words, stdout=piped, stderr=piped, text=True, cwd=cwd, env=env) as process:
        try:
            output, errors = process.communicate(timeout=within_s)
        except BaseException:  # also that of pytest's own bound: this block would wait for the command without one
            _kill_tree(process.pid)
            raise
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


def _kill_tree(pid: int) -> None:
    """Kill a process, and all that it has started: first itself, which would start others again."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        process.suspend()
        for one in (*process.children(recursive=True), process):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()


class Command:
    """A command with its output, which is read while it runs. `cwd`: its folder; `env`: variables to add."""

    def __init__(self, *arguments: str, cwd: Path | None = None, **env: str) -> None:
        self._popen = subprocess.Popen(
            [*TANDEM, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            env={**os.environ, **env},
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def output(self) -> str:
        return "".join(self._lines)

    def says(self, text: str) -> bool:
        """Wait until its output contains `text`."""
        self.when(lambda: text in self.output)
        return text in self.output

    def when(self, condition: Callable[[], bool], patience_s: float = PATIENCE_S, every_s: float = 0.05) -> None:
        """Wait for a condition, or for the end of the command."""
        wait_until(lambda: condition() or self._popen.poll() is not None, Deadline(patience_s), every_s)

    def exit_code(self) -> int:
        """Wait for its end."""
        code = self._popen.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def close(self) -> None:
        """End it, if it still runs."""
        self._popen.terminate()
        self.exit_code()

    def _read(self) -> None:
        assert self._popen.stdout is not None
        with self._popen.stdout as lines:
            self._lines.extend(lines)


class OnTerminal(Command):
    """A command on a terminal of 80 columns and 40 lines, without colours; `output` is all that was ever written to it."""

    def __init__(self, *arguments: str, **env: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        made = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", **env}
        made.pop("COLUMNS", None)
        self._popen = subprocess.Popen([*TANDEM, *arguments], stdout=theirs, stderr=theirs, stdin=theirs, env=made)
        os.close(theirs)
        self._lines = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def output(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", super().output)

    def _read(self) -> None:
        with (
            os.fdopen(self._ours, "rb", buffering=0) as terminal,
            contextlib.suppress(OSError),
        ):  # EIO: nobody has it open
            decoder = codecs.getincrementaldecoder("utf-8")()
            while content := terminal.read(4096):
                self._lines.append(decoder.decode(content))
