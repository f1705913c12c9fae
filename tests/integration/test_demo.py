"""`tandem demo` as a user runs it, only shorter: what it shows at its end, and that it leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from integration.command import Command
from integration.waiting import eventually, gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1_000)]

PATIENCE_S = 900.0
_LOOK_S = 0.5  # a look at all processes takes some time of a core
PNG = b"\x89PNG\r\n\x1a\n"
PARTS = (
    "org.apache.zookeeper",
    "kafka.Kafka",
    "tandem.replica",
    "tandem.orderer",
    "org.apache.spark",
)
"""What runs in a demo, by words of the command lines."""
PYTHON_OF_FLIGHTS = "tandem.engine.python_daemon"


class Demo(Command):
    """A demo of a few seconds; its temporary folders are made in `folder`, and its output in `folder / "output"`.

    `jobs` : those that it runs.
    """

    def __init__(self, folder: Path, jobs: tuple[str, ...] = ("flights", "cards")) -> None:
        self.jobs = jobs
        self.plots = [folder / "output" / f"{job}.png" for job in jobs]
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        self.met: dict[int, str] = {}
        super().__init__(
            *("demo", *jobs, "--rate", "100", "--warm-up", "3", "--seconds", "10", "--kill-at", "2"),
            *("--output", str(folder / "output")),
            TMPDIR=str(self._temporary),
        )

    def watched(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition, or for the end of the demo, and get to know all processes of the demo meanwhile."""

        def look() -> bool:
            with suppress(psutil.NoSuchProcess):
                for process in psutil.Process(self.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        told = " ".join(process.cmdline())  # nothing, of one that has ended and was not waited for yet
                        self.met[process.pid] = told or self.met.get(process.pid, "")
            return condition()

        self.when(look, PATIENCE_S, _LOOK_S)

    def unseen(self) -> list[str]:
        """What did not run yet of all that a demo of its jobs consists of."""
        parts = (*PARTS, PYTHON_OF_FLIGHTS) if "flights" in self.jobs else PARTS
        return [part for part in parts if not any(part in command for command in self.met.values())]

    def left(self) -> dict[int, str]:
        """The processes of the demo that still run."""
        return {pid: command[:200] for pid, command in self.met.items() if not gone(pid)}

    def check_nothing_is_left(self) -> None:
        """Everything that a demo consists of ran, and nothing of it does; the folders are gone as well."""
        assert not self.unseen(), f"{self.unseen()} did not run\n{self.output}"
        # What a JVM starts when it ends, to remove its folders, outlives it for a moment.
        assert eventually(lambda: not self.left(), 10.0), f"{self.left()} still run\n{self.output}"
        assert not list(self._temporary.glob("tandem-demo-*"))


@pytest.fixture(params=[("cards",), pytest.param(("flights", "cards"), marks=pytest.mark.thorough)], ids="-".join)
def demo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Demo]:
    made = Demo(tmp_path, request.param)
    yield made
    made.close()


def test_a_demo_kills_the_publisher_and_shows_that_nothing_was_lost(demo: Demo) -> None:
    demo.watched(lambda: False)

    assert demo.exit_code() == 0, demo.output
    assert re.search(r"replica-[01] ended by SIGKILL; restarted at once", demo.output), demo.output
    for job in demo.jobs:
        assert re.search(rf"^{job}: published [\d,]+, lost 0, duplicated 0, reordered 0;", demo.output, re.M), (
            demo.output
        )
    assert re.search(r"during [\d,]+/[\d,]+, after [\d,]+/[\d,]+$", demo.output, re.MULTILINE), demo.output
    assert "did not catch up" not in demo.output
    assert all(plot.read_bytes().startswith(PNG) for plot in demo.plots)
    demo.check_nothing_is_left()


@pytest.mark.thorough
def test_ctrl_c_in_the_middle_of_a_demo_ends_it_and_leaves_nothing_behind(demo: Demo) -> None:
    demo.watched(lambda: not demo.unseen())

    os.kill(demo.pid, signal.SIGINT)

    assert demo.exit_code() == 130, demo.output
    assert demo.output.endswith("stopped; nothing is left running\n")
    assert not any(plot.exists() for plot in demo.plots)
    demo.check_nothing_is_left()
