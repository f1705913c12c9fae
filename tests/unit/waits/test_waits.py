"""What does not get on is spoken of within a minute: what it waits for, for how long, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from tandem.engine.users_code import line_of_thread
from tandem.waits import LOOK_EVERY_S, SAID_AFTER_S, Waits

CODE = "def job(look):\n    return look()\n"


class Bench:
    """Waits whose time is the test's."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.waits = Waits(45.0, clock_s=lambda: self.now_s)
        self.task = self.waits.task()

    def after(self, seconds: float) -> str:
        """What is said so much later."""
        self.now_s += seconds
        self.waits.look()
        return self.waits.words


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def log() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as captured:
        yield captured


def test_it_is_said_within_a_minute() -> None:
    assert SAID_AFTER_S + LOOK_EVERY_S <= 60


def test_work_is_spoken_of_only_when_it_lasts(bench: Bench) -> None:
    bench.task.begins("the JVM")
    assert bench.after(44.0) == ""
    assert bench.after(2.0) == "the JVM, for 40 s"

    bench.task.begins("executors")
    assert bench.waits.words == ""
    assert bench.after(139.0) == "executors, for 2 min"

    bench.task.ends()
    assert bench.waits.words == ""


def test_steps_of_one_work_do_not_begin_its_time_again(bench: Bench) -> None:
    bench.task.begins("epoch 7", "its records in Kafka")
    bench.after(40.0)
    bench.task.at("Spark, which computes it", lambda: "Correct the code")

    assert bench.after(10.0) == "epoch 7: Spark, which computes it, for 50 s. Correct the code"


def test_what_is_begun_again_and_again_without_an_end_lasts(bench: Bench) -> None:
    for _ in range(10):
        bench.task.begins("the next snapshot", "an answer of the snapshot store")
        bench.after(10.0)

    assert bench.waits.words == "the next snapshot: an answer of the snapshot store, for 1 min"


def test_what_stands_beside_the_output_is_told_apart(bench: Bench) -> None:
    bench.waits.task(beside=True).begins("the next snapshot")

    assert bench.after(100.0) == ""
    assert bench.waits.words_beside == "the next snapshot, for 1 min"
    assert (bench.waits.seconds(), bench.waits.seconds(beside=True)) == (0.0, 100.0)


def test_the_log_says_it_at_once_then_every_minute_and_when_it_is_over(bench: Bench, log: list[Any]) -> None:
    bench.task.begins("epoch 7")
    for _ in range(24):
        bench.after(5.0)
    bench.task.ends()
    bench.after(5.0)

    assert [(line["event"], line.get("waits_for", line.get("what"))) for line in log] == [
        ("still_waiting", "epoch 7, for 40 s"),
        ("still_waiting", "epoch 7, for 1 min"),
        ("waits_no_more", "epoch 7"),
    ]


def test_who_cannot_say_why_still_says_what(bench: Bench) -> None:
    def fails() -> str:
        raise OSError("no /proc here")

    bench.task.begins("epoch 7")
    bench.task.at("Spark, which computes it", fails)

    assert bench.after(50.0) == "epoch 7: Spark, which computes it, for 50 s"


def test_the_line_of_the_jobs_code_is_named_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(CODE)
    names: dict[str, Any] = {}
    exec(compile(CODE, str(file), "exec"), names)  # noqa: S102
    waits = Waits(0.0, line_of_thread)
    waits.task().begins("the job's module and function, which make its plan")

    assert "; the job's code is at " in names["job"](lambda: waits.words)


def test_a_line_of_code_that_cannot_be_found_hides_nothing(log: list[Any]) -> None:
    def unknown(_thread: int) -> str:
        raise FileNotFoundError("the working directory is gone")

    now_s = 0.0
    waits = Waits(45.0, unknown, lambda: now_s)
    waits.task().begins("the JVM")
    now_s = 50.0
    waits.look()
    assert waits.words == "the JVM, for 50 s"
    assert [entry["event"] for entry in log if entry["event"] == "still_waiting"] == ["still_waiting"]
