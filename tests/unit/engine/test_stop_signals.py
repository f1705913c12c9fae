"""A job that was a program often has a handler of its own for the end: a replica's stays."""

from __future__ import annotations

import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tandem.engine.guard import Taken, guarded
from tandem.process.info import ExitCode, kept_handlers, stop_on_signals

PROGRAM = """
import signal
from signal import signal as on

def end(number, frame):
    pass

before = {before}
on(signal.SIGINT, end)
signal.signal(signal.SIGUSR2, end)
"""


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_handler_in_the_jobs_code_leaves_the_replicas_in_place_and_is_in_the_log(tmp_path: Path, number: str) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(before=f"signal.signal(signal.{number}, end)"))

    with kept_handlers(), capture_logs() as logs:
        stopping = stop_on_signals()
        kept = signal.getsignal(signal.SIGTERM)
        with guarded(Taken()):
            module = runpy.run_path(str(file))
        signal.raise_signal(signal.SIGTERM)
        assert stopping.is_set()
        stopping.clear()
        signal.raise_signal(signal.SIGINT)

    assert stopping.is_set()
    assert module["before"] is kept, "what a program puts back later is not the handler that was there"
    assert [(one["event"], one["signal"], one["line"]) for one in logs] == [
        ("signal_handler_ignored", number, "program.py:8"),
        ("signal_handler_ignored", "SIGINT", "program.py:9"),
    ]
    assert signal.getsignal(signal.SIGUSR2) is module["end"]
    signal.signal(signal.SIGUSR2, signal.SIG_DFL)


def test_a_process_that_the_code_forks_has_handlers_of_its_own(tmp_path: Path) -> None:
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(tmp_path)!r})
from tandem.engine.guard import Taken, guarded
with guarded(Taken()):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
        signal.raise_signal(signal.SIGTERM)
        os._exit(1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7


def test_handlers_that_a_library_sets_meanwhile_do_not_last() -> None:
    with kept_handlers():
        stopping = stop_on_signals(at_once=lambda: ExitCode.FAILED)
        with kept_handlers():
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)

    assert stopping.is_set()
