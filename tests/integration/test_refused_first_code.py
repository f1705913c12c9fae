"""The first code of a job may be wrong: it is refused before the job's log begins, so the fixed code can begin it."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from integration.refusals import COPY, Refusals
from tandem.devservers import KafkaBroker
from tandem.kafka.history import current_config
from tandem.local import LocalJob
from tandem.manifest import config_parts, load
from tandem.replica.identity_parts import identity_of, is_same_job

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

WRONG = {
    "no Python": ("def job(events)\n    return events\n", "job.py could not be imported: SyntaxError: "),
    "another function": (COPY.replace("job", "jib"), "job.py has no function `job`"),
    "a wrong column": (
        COPY.replace("'value'", "'valeu'"),
        "the job raised AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter "
        "with name `valeu` cannot be resolved. Did you mean one of the following? [`value`, ",
    ),
    "rand()": (
        "from pyspark.sql import functions as F\n\n"
        "def job(events):\n    return events.select(F.rand().cast('string').alias('value'))\n",
        "the job's plan is not determined by its input, so its replicas would differ. Replace rand(): use ctx.rng()",
    ),
    "a query that cannot be a stream's": (
        "def job(events):\n    return events.select('key', 'value').orderBy('key')\n",
        "Spark refuses the job's plan: Sorting is not supported on streaming DataFrames",
    ),
}


@pytest.fixture
def job(kafka: KafkaBroker, tmp_path: Path, topic_prefix: str) -> Refusals:
    return Refusals(tmp_path, kafka.bootstrap, topic_prefix)


def read_one(job: Refusals) -> bytes | None:
    """The first record of the output's partition 0 or 1, if there is one by now."""
    consumer = Consumer(job.connection.consumer())
    try:
        consumer.assign([TopicPartition(f"{job.name}.out", partition, 0) for partition in (0, 1)])
        message = consumer.poll(1)
        return None if message is None or message.error() is not None else message.value()
    finally:
        consumer.close()


@pytest.mark.thorough
def test_a_job_whose_first_code_was_refused_starts_with_mended_code(job: Refusals) -> None:
    topics = load(job.manifest()).model.topics
    for code, reason in WRONG.values():
        story = job.refused("replica", job.manifest(code))

        assert story.error == "JobError"
        assert story.reason.startswith(reason)
        assert current_config(job.connection, topics.ordering, topics.commits) is None, story.reason

    job.feed("fixed")
    fixed = job.manifest()
    started = LocalJob(fixed, job.folder / "run").start()
    try:
        assert started.wait_until(lambda: read_one(job) == b"fixed", 120), started.log_file("replica-0").read_text()
    finally:
        started.stop()
    config = current_config(job.connection, topics.ordering, topics.commits)
    assert config is not None
    assert is_same_job(config.digest, identity_of(config_parts(load(fixed))))
