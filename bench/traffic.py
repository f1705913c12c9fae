"""Starting, steering and ending the feeder and the reader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from bench.analysis import Times
from bench.records import ARRIVAL, TIME, Arrivals
from tandem.process.child import tail
from tandem.waiting import Deadline, wait_until

_END_DEADLINE_S = 60.0
_WRITTEN_S = 5.0
_ROOT = Path(__file__).resolve().parent.parent


class _Helper:
    """A Python process that ends when its standard input does, so it never outlives us."""

    def __init__(self, module: str, *arguments: str, log_file: Path) -> None:
        self._log_file, self._module = log_file, module
        with log_file.open("ab") as log:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": str(_ROOT)},
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.wait(_END_DEADLINE_S)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def check(self) -> None:
        """Raises `RuntimeError` if it has ended, with the end of its log."""
        if self._popen.poll() is not None:
            raise RuntimeError(f"{self._module} ended with {self._popen.returncode}:\n{tail(self._log_file)}")

    def _end(self) -> str:
        output, _ = self._popen.communicate(timeout=_END_DEADLINE_S)
        if self._popen.returncode:
            raise RuntimeError(f"{self._module} ended with {self._popen.returncode}:\n{tail(self._log_file)}")
        return str(output)

    def _say(self, line: str) -> None:
        self.check()
        assert self._popen.stdin is not None  # noqa: S101
        self._popen.stdin.write(line + "\n")
        self._popen.stdin.flush()


class Feeder(_Helper):
    """`bench.feed` as a process."""

    def __init__(self, bootstrap: str, topic: str, seed: int, job: str, file: Path, log_file: Path) -> None:
        super().__init__("bench.feed", bootstrap, topic, str(seed), job, str(file), log_file=log_file)
        self._file = file

    def rate(self, records_per_s: float) -> None:
        """Feed at this rate from now on."""
        self._say(str(records_per_s))

    def created(self) -> Times:
        """When each record so far was created (Unix, ns), by its number; of those whose rows tell it themselves: nothing."""
        return np.fromfile(self._file, TIME) if self._file.exists() else np.empty(0, TIME)

    def finish(self) -> int:
        """Stop; return how many records were sent."""
        return int(self._end())


class Reader(_Helper):
    """`bench.read` as a process."""

    def __init__(self, bootstrap: str, topic: str, job: str, file: Path, log_file: Path) -> None:
        super().__init__("bench.read", bootstrap, topic, str(file), job, log_file=log_file)
        self._file = file

    @property
    def count(self) -> int:
        """Records so far (to 0.3 s ago)."""
        return self._file.stat().st_size // ARRIVAL.itemsize if self._file.exists() else 0

    def arrivals(self) -> Arrivals:
        """All rows so far, in the order of arrival, as they were read."""
        return np.fromfile(self._file, ARRIVAL, self.count)

    def arrivals_until(self, end_ns: int) -> Arrivals:
        """The same, once all that arrived before `end_ns` (Unix, ns) is written: something later is, or nothing comes."""
        wait_until(lambda: self._newest_ns() > end_ns, Deadline(_WRITTEN_S), 0.05)
        return self.arrivals()

    def _newest_ns(self) -> int:
        count = self.count
        if not count:
            return 0
        newest = np.fromfile(self._file, ARRIVAL, 1, offset=(count - 1) * ARRIVAL.itemsize)
        return int(newest["arrived_ns"][0])

    def finish(self) -> Arrivals:
        """Stop; return all records."""
        self._end()
        return self.arrivals()
