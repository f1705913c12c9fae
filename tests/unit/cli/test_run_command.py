"""`tandem run`: what ends it, and what does not."""

from __future__ import annotations

import errno
import io
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tandem.cli import run
from tandem.cli.main import app
from tandem.cli.view import View, watch
from tandem.local import Event, NewGeneration
from tandem.manifest import Manifest
from tandem.process.info import ExitCode, RefusedError
from unit.local.heartbeat_job import heartbeat_job
from unit.local.test_lane_checks import JOB, written


def test_ctrl_c_ends_it_before_anything_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = heartbeat_job(tmp_path).path
    started: list[Any] = []
    monkeypatch.setattr(run.Jars, "resolve", lambda: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setattr(run, "LocalJob", lambda *_arguments, **_options: object())
    monkeypatch.setattr(run.Observer, "of", lambda _job: None)
    monkeypatch.setattr(run.LocalLanes, "start", started.append)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = CliRunner().invoke(app, ["run", str(path), "--run-directory", str(tmp_path / "run")])
    finally:
        signal.signal(signal.SIGINT, before)

    assert result.exit_code != 0
    assert started == []


def test_a_number_of_lanes_that_has_changed_is_not_accepted_for_some_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = written(tmp_path, JOB)
    changed: list[str] = []

    def accepts(_: object, lane: Manifest, __: object) -> NewGeneration:
        changed.append(lane.name)
        raise RefusedError("it ends here")

    monkeypatch.setattr(run.Jars, "resolve", lambda: None)
    monkeypatch.setattr(run, "find_local_job", lambda *_: None)
    monkeypatch.setattr(run, "_changed", accepts)
    said = {}
    for before in (2, 4):
        monkeypatch.setattr(run, "lanes_before", lambda _, before=before: before)
        done = CliRunner().invoke(app, ["run", str(job.path), "--lanes", "0,3", "--accept-changes"])
        assert done.exit_code == ExitCode.REFUSED
        said[before] = (done.output, list(changed))

    assert "spec.lanes is 4, but orders has run with 2 so far" in said[2][0]
    assert "leave --lanes out" in said[2][0]
    assert [lanes for _, lanes in said.values()] == [[], ["orders.lane-0"]]


class Full(io.StringIO):
    """Output on a disk that is full, or to a terminal that is gone."""

    tries = 0

    def write(self, text: str) -> int:  # noqa: ARG002
        Full.tries += 1
        raise OSError(errno.ENOSPC, "No space left on device")


class Still(View):
    """A job of which there is always the same to say."""

    def line(self) -> str:
        return "flights runs"


def test_output_that_cannot_be_written_does_not_end_the_job() -> None:
    runs = iter([True] * 30)
    happened = (Event(1.0, "replica-0", "started"),)

    watch(
        Console(file=Full()),
        Still("flights", ()),
        lambda: next(runs, False),
        threading.Event(),
        False,
        lambda: happened,
    )

    assert Full.tries
    assert next(runs, None) is None, "it has stopped watching while the job runs"
