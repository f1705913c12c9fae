"""Input that is gone is refused: nothing is skipped in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from integration.refusals import Refusals
from integration.written_job import PATIENCE_S, WrittenJob
from tandem.checkpoint.position import EnginePosition
from tandem.devservers import KafkaBroker
from tandem.kafka.errors import LostInputError, TopicMismatchError
from tandem.kafka.topics import NewTopic, Topics
from tandem.protocol.values import TopicPartition
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture
def begun(kafka: KafkaBroker, topic_prefix: str) -> WrittenJob:
    """A job with 20 input records that has been begun."""
    begun = WrittenJob(kafka.bootstrap, topic_prefix)
    begun.feed(20)
    return begun


def make_anew(begun: WrittenJob) -> None:
    """Delete the input topic and create it again."""
    admin = AdminClient({"bootstrap.servers": begun.bootstrap})
    for future in admin.delete_topics([begun.input]).values():
        future.result(PATIENCE_S)
    topics = Topics(begun.connection)

    def is_there_again() -> bool:
        try:
            topics.ensure([NewTopic(begun.input)])
            return topics.ends({begun.input: 1}, "read_uncommitted")[TopicPartition(begun.input, 0)] == 0
        except (KafkaException, TopicMismatchError):
            return False

    assert wait_until(is_there_again, Deadline(PATIENCE_S))


def test_the_orderer_refuses_when_input_was_deleted_before_the_job_read_any(begun: WrittenJob, tmp_path: Path) -> None:
    begun.lose(begun.input, 5)
    job = Refusals(tmp_path, begun.bootstrap, begun.name)

    story = job.refused("orderer", job.manifest())

    assert story.error == "LostInputError"
    assert f"{begun.input}/0: records 0 to 4 were deleted before the job read them" in story.reason
    assert "Nothing was skipped: restore the records" in story.reason


def test_the_orderer_refuses_when_input_was_deleted_while_the_job_was_stopped(
    begun: WrittenJob, tmp_path: Path
) -> None:
    begun.run([0])
    begun.lose(begun.input, 15)
    job = Refusals(tmp_path, begun.bootstrap, begun.name)

    assert f"{begun.input}/0: records 10 to 14 were deleted" in job.refused("orderer", job.manifest()).reason


def test_the_orderer_refuses_a_topic_that_was_made_anew(begun: WrittenJob, tmp_path: Path) -> None:
    begun.run([0])
    make_anew(begun)
    job = Refusals(tmp_path, begun.bootstrap, begun.name)

    story = job.refused("orderer", job.manifest())

    assert f"{begun.input}/0: the job has read up to 10, but the topic ends at 0: it was made again" in story.reason


@pytest.mark.parametrize("published", [False, True])
def test_a_replica_refuses_an_epoch_whose_input_was_deleted(begun: WrittenJob, published: bool) -> None:
    after = EnginePosition()
    if published:
        begun.run([0])
        after = EnginePosition(0, begun.log_offset - 1)
    wanted = after.epoch + 1
    begun.cut(wanted, 10 * (wanted + 1))
    begun.lose(begun.input, 10 * wanted + 5)
    fetcher = begun.clients.fetcher(after)
    epoch = fetcher.next_cut(PATIENCE_S)
    assert epoch is not None

    with pytest.raises(LostInputError, match=rf"{begun.input}/0: offset {10 * wanted} was deleted before it was read"):
        fetcher.fetch(epoch, PATIENCE_S)
    fetcher.close()
