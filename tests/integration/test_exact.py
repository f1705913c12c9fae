"""`python -m bench.exact`: a workload with two replicas on a real Kafka, one of which is killed, to the last row."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from integration.command import completed

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "engine"), [("mib3", "realTime"), ("fixwindow", "microBatch")])
def test_a_workload_is_exact_though_a_replica_is_killed(name: str, engine: str) -> None:
    said = _exact(name, engine, "--kills", "1")
    assert _checks(said) == ["inputs", "epochs", "rows", "partitions"]


@pytest.mark.parametrize(("name", "engine"), [("fixwindow", "realTime"), ("closed-windows", "microBatch")])
def test_a_workload_is_exact_by_lanes_though_replicas_are_killed(name: str, engine: str) -> None:
    said = _exact(name, engine, "--kills", "2", "--lanes", "2")
    checks = ("inputs", "epochs", "rows", "partitions")
    assert _checks(said) == [f"lane-{lane} {check}" for lane in (0, 1) for check in checks]


def _exact(name: str, engine: str, *options: str) -> str:
    words = ("-m", "bench.exact", name, "--engine", engine, "--records", "6000", *options)
    ended = completed([sys.executable, *words], 800, ROOT, {**os.environ, "PYTHONPATH": str(ROOT)})
    said = ended.stdout + ended.stderr[-4_000:]
    assert ended.returncode == 0, said
    assert "SIGKILL of replica-" in said
    return ended.stdout


def _checks(said: str) -> list[str]:
    """The names of those that found what has to be."""
    return [line.split(":")[0].removeprefix("exact   ") for line in said.splitlines() if line.startswith("exact ")]
