"""A producer that is given up is ended elsewhere, and what it reports there is nobody's any more."""

from __future__ import annotations

import threading
from typing import Any

from tandem.kafka.client import KafkaConnection
from tandem.kafka.given_up import give_up
from tandem.kafka.plain_producer import PlainProducer
from tandem.kafka.records import OutputRecord
from tandem.protocol.actions import Outcome
from tandem.waiting import Deadline, wait_until


def is_ended() -> bool:
    return all(thread.name != "given-up" for thread in threading.enumerate())


def test_the_reasons_of_a_failure_stay_what_they_were() -> None:
    producer = PlainProducer(KafkaConnection({"bootstrap.servers": "127.0.0.1:1"}))
    producer.start(1.0)
    records = [OutputRecord("out", None, b"x", (), 0) for _ in range(100)]

    assert producer.publish(records, records[0], 0.1) is Outcome.UNKNOWN

    reasons = len(producer.failures)
    assert wait_until(is_ended, Deadline(20.0))
    assert len(producer.failures) == reasons


class Client:
    """One without messages; `ended_by`: the thread that forgets it last, and so takes it apart."""

    ended_by = ""

    def purge(self, **_: bool) -> None:
        pass

    def __len__(self) -> int:
        return 0

    def __del__(self) -> None:
        type(self).ended_by = threading.current_thread().name


def test_one_that_is_given_up_is_taken_apart_elsewhere() -> None:
    client: Any = Client()
    give_up(client)
    del client
    assert wait_until(lambda: bool(Client.ended_by), Deadline(20.0))
    assert Client.ended_by == "given-up"
