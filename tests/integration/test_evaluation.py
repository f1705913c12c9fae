"""The evaluation runs on a small scale, goes on after an interruption, and loses nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from bench.evaluation.folder import Folder

from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(1_500)]

ROOT: Final = Path(__file__).parents[2]
SCENARIO: Final = """
name: short
about: Plain Spark, and a kill of one of two replicas.
cases:
  - {workloads: [identity], configurations: [spark-tuned], rates: [1000], scales: [smoke]}
  - {workloads: [identity], configurations: [leader], engines: [realTime], rates: [1000], faults: [kill], scales: [smoke]}
"""
RUNS: Final = 2


def evaluate(out: Path, log: Path) -> subprocess.Popen[bytes]:
    """`make evaluation SCALE=smoke`, with the scenario beside the log."""
    command = [sys.executable, "-m", "bench.evaluation", "--scale", "smoke", "--scenarios", str(log.parent)]
    command += ["--out", str(out)]
    with log.open("ab") as said:
        return subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, start_new_session=True)


def test_an_evaluation_goes_on_after_an_interruption_until_all_is_measured(tmp_path: Path) -> None:
    folder, log = Folder(tmp_path / "out"), tmp_path / "log"
    (tmp_path / "short.yaml").write_text(SCENARIO)
    first = evaluate(folder.path, log)
    try:
        is_begun = wait_until(lambda: bool(folder.records()) or first.poll() is not None, Deadline(300))
        assert is_begun, log.read_text()
        assert first.poll() is None, log.read_text()
        first.send_signal(signal.SIGTERM)
        assert first.wait(120) == 130, log.read_text()
    finally:
        first.kill()
    done = folder.records()
    assert 1 <= len(done) < RUNS

    second = evaluate(folder.path, log)
    try:
        assert second.wait(400) == 0, log.read_text()
    finally:
        second.kill()
    records = folder.records()
    assert len(records) == RUNS
    assert all(records[name] == record for name, record in done.items()), "what was done is done again"
    for name, record in records.items():
        delivery = record.delivery
        assert delivery.drained, name
        assert (delivery.lost, delivery.duplicated, delivery.reordered) == (0, 0, 0), name
    report = (folder.path / "report.md").read_text()
    assert f"All {RUNS} runs are done." in report
