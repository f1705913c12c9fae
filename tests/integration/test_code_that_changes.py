"""Files of a job that change while it runs: it goes on computing with the code that its identity was computed from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from integration.refusals import Refusals
from tandem.devservers import KafkaBroker
from tandem.engine.executors import CONF
from tandem.engine.jvm.pyspark_files import spark_home
from tandem.local import LocalJob

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

JOB = """
from pathlib import Path
from pyspark.sql import functions as F
import words
from phrases.polite import please

def own(text):
    return "OLD " + text

def said(value):
    import later
    beside = Path(__file__).with_name("beside.txt").read_text()
    return " ".join([own(words.word()), please(), later.word(), beside, bytes(value).decode()])

def job(events):
    return events.select("key", F.udf(said, "string")("value").alias("value"))
"""
MODULES = {
    "words.py": "def word():\n    return 'OLD words'\n",
    "later.py": "def word():\n    return 'OLD later'\n",
    "phrases/__init__.py": "",
    "phrases/polite.py": "def please():\n    return 'OLD please'\n",
}
OLD = "OLD OLD words OLD please OLD later beside"
TWO_EXECUTORS = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.executor.instances": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
}


@pytest.fixture
def job(kafka: KafkaBroker, tmp_path: Path, topic_prefix: str, monkeypatch: pytest.MonkeyPatch) -> Refusals:
    """Its folder is the working folder, too, where Python looks first."""
    monkeypatch.chdir(tmp_path)
    return Refusals(tmp_path, kafka.bootstrap, topic_prefix)


def write(folder: Path, change: str = "OLD") -> str:
    for name, text in MODULES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text.replace("OLD", change))
    (folder / "beside.txt").write_text("beside")
    return JOB.replace("OLD", change)


def rows(job: Refusals) -> set[str]:
    """The values that are published."""
    consumer = Consumer(job.connection.consumer())
    try:
        consumer.assign([TopicPartition(f"{job.name}.out", partition, 0) for partition in (0, 1)])
        messages = consumer.consume(10, timeout=1)
        return {(message.value() or b"").decode() for message in messages if message.error() is None}
    finally:
        consumer.close()


@pytest.mark.thorough
@pytest.mark.parametrize("executors", [False, True], ids=["in one process", "with executors"])
def test_code_that_changes_is_not_what_a_running_job_computes_with(
    job: Refusals, monkeypatch: pytest.MonkeyPatch, executors: bool
) -> None:
    if executors:
        monkeypatch.setenv(CONF, json.dumps(TWO_EXECUTORS))
    # Each epoch has Python workers of its own.
    manifest = job.manifest(write(job.folder), spark={"conf": {"spark.python.worker.reuse": "false"}})
    before = set((spark_home() / "work").glob("*"))
    started = LocalJob(manifest, job.folder / "run").start()
    try:
        job.feed("first")
        assert started.wait_until(lambda: rows(job) == {f"{OLD} first"}, 150), (
            f"{rows(job)} {started.log_file('replica-0').read_text()}"
        )
        (job.folder / "job.py").write_text(write(job.folder, "NEW"))
        job.feed("second")
        assert started.wait_until(lambda: len(rows(job)) == 2, 60), started.log_file("replica-0").read_text()
        assert rows(job) == {f"{OLD} first", f"{OLD} second"}
    finally:
        started.stop()
        for folder in set((spark_home() / "work").glob("*")) - before:
            shutil.rmtree(folder, ignore_errors=True)
