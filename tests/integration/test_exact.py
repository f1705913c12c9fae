"""`python -m bench.exact`: a workload with two replicas on a real Kafka, one of which is killed, to the last row."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "engine"), [("mib3", "realTime"), ("fixwindow", "microBatch")])
def test_a_workload_is_exact_though_a_replica_is_killed(name: str, engine: str) -> None:
    words = ("-m", "bench.exact", name, "--engine", engine, "--records", "6000", "--kills", "1")
    ended = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=800,
    )
    said = ended.stdout + ended.stderr[-4_000:]
    assert ended.returncode == 0, said
    assert "SIGKILL of replica-" in said
    assert [line.split(":")[0] for line in ended.stdout.splitlines() if line.startswith("exact ")] == [
        f"exact   {check}" for check in ("inputs", "epochs", "rows", "partitions")
    ]
