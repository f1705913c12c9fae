"""An epoch that does not end is no secret: which one it is, where the job's code stands, and what to do is said soon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.refusals import Refusals
from integration.small_job import HEARTBEAT
from tandem.devservers import KafkaBroker
from tandem.local import LocalJob
from tandem.local.observe import Observer
from tandem.local.screen import progress_line

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

PATIENCE_S = 120.0
ASKS = """
import time
from pathlib import Path
from pyspark.sql import functions as F

@F.udf("string")
def answer(key):
    while key == "slow" and not Path(ANSWER).exists():
        time.sleep(0.1)
    return key

def job(events):
    return events.select(answer(F.col("value").cast("string")).alias("value"))
"""


class Running:
    """A job whose service answers when the test says so, watched as `tandem run` does."""

    def __init__(self, kafka: KafkaBroker, folder: Path, name: str) -> None:
        self.answer = folder / "answer"
        self._topics = Refusals(folder, kafka.bootstrap, name)
        code = ASKS.replace("ANSWER", repr(str(self.answer)))
        self.local = LocalJob(self._topics.manifest(code, ordering=HEARTBEAT), folder / "run")
        self._observer = Observer.of(self.local)
        self.feed = self._topics.feed
        self.said = ""

    def shows(self, *words: str) -> bool:
        """Whether the line that `tandem run` prints comes to have these words."""

        def has_them() -> bool:
            self.said = progress_line(self._observer.look())
            return all(word in self.said for word in words)

        return self.local.wait_until(has_them, PATIENCE_S)

    def is_silent(self) -> bool:
        """Whether nothing is waited for any more."""
        return self.local.wait_until(lambda: not self._observer.look().warnings, PATIENCE_S)

    def log(self) -> str:
        return self.local.log_file("replica-0").read_text()


@pytest.fixture
def job(kafka: KafkaBroker, tmp_path: Path, topic_prefix: str) -> Iterator[Running]:
    made = Running(kafka, tmp_path, topic_prefix)
    made.local.start()
    yield made
    made.local.stop()


@pytest.mark.thorough
def test_python_code_that_does_not_return_is_named_with_its_line_until_it_does(job: Running) -> None:
    job.feed("quick")
    assert job.shows("epoch 0", "publishes"), job.said
    job.feed("slow")

    assert job.shows("replica-0 waits for epoch 1 with 1 record: Spark, which computes it, for "), job.said
    assert job.shows("waits at job.py:9 in answer: a call to a service needs a time-out, a loop an end."), job.said
    assert f"go on with `tandem run {job.local.manifest.path} --accept-changes`, or on Kubernetes" in job.said
    assert '"still_waiting"' in job.log()

    job.answer.touch()
    assert job.shows("epoch 1"), job.said
    assert job.is_silent(), job.said
