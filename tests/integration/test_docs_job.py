"""What docs/how-to/bring-a-spark-job.md says about bringing a job along: its job runs, and so few lines differ."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from integration.engine import Job, Record

pytestmark = [pytest.mark.integration]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "bring-a-spark-job.md"
MOST_LINES = 10


def blocks() -> tuple[str, str]:
    """The program before and the job after."""
    before, after, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return before, after


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_an_existing_job_needs_ten_new_lines_at_most() -> None:
    before, after = blocks()

    new = [line for line in difflib.ndiff(lines(before), lines(after)) if line.startswith("+ ")]

    assert 0 < len(new) <= MOST_LINES
    assert "readStream" in before


def test_the_job_of_the_page_computes_what_its_program_did(job: Job) -> None:
    names: dict[str, Any] = {}
    exec(compile(blocks()[1], str(PAGE), "exec"), names)  # noqa: S102, it is our own page
    flights = [("AA", 10, "10:05"), ("AA", 30, "10:55"), ("UA", 5, "10:10"), ("AA", 7, "11:05")]
    records = [
        Record(json.dumps({"carrier": carrier, "delay": delay, "at": f"2013-01-01T{at}:00Z"}).encode())
        for carrier, delay, at in flights
    ]
    job.start(names["job"](job.sources["events"]), requested="update")

    rows = [json.loads(row["value"]) for row in job.run(0, records).to_pylist()]

    assert sorted((row["carrier"], row["window"]["start"][11:16], row["delay"]) for row in rows) == [
        ("AA", "10:00", 20.0),
        ("AA", "11:00", 7.0),
        ("UA", "10:00", 5.0),
    ]
