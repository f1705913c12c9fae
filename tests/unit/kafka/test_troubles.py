"""What Kafka refuses is named, with what to do, while it lasts, and forgotten when it is over."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError
from prometheus_client import CollectorRegistry

from tandem.kafka import watching
from tandem.kafka.errors import ConnectionFailedError
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Failure
from tandem.kafka.troubles import TopicState, findings, in_words, is_for_good
from tandem.kafka.watching import Troubles
from tandem.status.metrics import ReplicaMetrics
from tandem.waiting import Deadline, wait_until

MIN_2 = {"out": {"min.insync.replicas": "2"}}


def found(state: TopicState | None, settings: dict[str, dict[str, str]] = MIN_2) -> list[str]:
    return list(findings(["out"], {} if state is None else {"out": state}, settings))


def test_a_topic_that_takes_records_has_no_findings() -> None:
    assert found(TopicState(3, {0: 2, 1: 3})) == []
    assert found(TopicState(1, {0: 1}), {}) == []


def test_too_few_replicas_in_sync_are_named_with_the_setting_and_what_brings_them_back() -> None:
    (brokers_away,) = found(TopicState(3, {0: 1, 1: 2}))
    (too_few,) = found(TopicState(1, {0: 1}))

    assert brokers_away.startswith(
        "out/0 has 1 of 3 replicas in sync, but min.insync.replicas is 2 (NOT_ENOUGH_REPLICAS)"
    )
    assert "Bring the other brokers back" in brokers_away
    assert "spec.kafka.replicationFactor" in too_few


def test_a_topic_that_is_gone_and_partitions_without_a_leader_are_named() -> None:
    assert "topic out does not exist any more, or the account may not see it. Create it again" in found(None)[0]
    assert found(TopicState(3, {0: 2, 1: 0, 2: 0}, (1, 2)))[0].startswith("out/1 and 1 more has no leader")


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "rights Write and Describe on the topic"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactional ids that begin with the job's name"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "IdempotentWrite"),
        (KafkaError.INVALID_TIMESTAMP, "this machine's clock"),
        (KafkaError.POLICY_VIOLATION, "policy"),
        (KafkaError.KAFKA_STORAGE_ERROR, "disks"),
    ],
)
def test_an_error_is_told_by_its_name_its_topic_and_what_to_do(code: int, remedy: str) -> None:
    words = in_words(KafkaError(code), "out")

    assert words.startswith("topic out: ")
    assert f"({KafkaError(code).name()})" in words
    assert remedy in words


def test_only_what_somebody_has_to_change_refuses_a_producer_for_good() -> None:
    assert is_for_good(KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    assert not is_for_good(KafkaError(KafkaError.NOT_ENOUGH_REPLICAS))


class Case:
    """Troubles on a clock of the test's own."""

    def __init__(self, *matters: str) -> None:
        self.now_s = 0.0
        self.matters: tuple[str, ...] = matters
        self.nobody_answers = self.is_broken = False
        self.looks = 0
        self.registry = CollectorRegistry()
        self.troubles = Troubles(self.look, ReplicaMetrics(self.registry, "j", "r").refused, lambda: self.now_s)

    def look(self) -> tuple[str, ...]:
        self.looks += 1
        if self.is_broken:
            raise ValueError("invalid literal for int() with base 10: 'two'")
        if self.nobody_answers:
            raise ConnectionFailedError("no answer from Kafka at host:1 within 3 s")
        return self.matters

    def says(self, words: str) -> bool:
        return wait_until(lambda: words in self.troubles.words, Deadline(10))

    @property
    def gauge(self) -> float | None:
        return self.registry.get_sample_value("tandem_replica_refused_by_kafka", {"job_name": "j", "replica": "r"})


TIMED_OUT = Failure(KafkaError(KafkaError._MSG_TIMED_OUT), OutputRecord("out", None, None, ()))
NO_RIGHT = Failure(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), OutputRecord("out", None, None, ()))


def test_what_lasts_for_a_moment_only_is_not_shown() -> None:
    case = Case("out/0 has no leader")
    case.troubles.failed("output", [TIMED_OUT])

    assert (case.troubles.words, case.gauge) == ("", 0.0)
    case.troubles.over("output")
    case.now_s = 60.0
    assert (case.troubles.words, case.gauge) == ("", 0.0)


def test_a_time_out_is_explained_by_what_is_seen_of_the_topics_until_it_is_over() -> None:
    case = Case("out/0 has no leader")
    case.troubles.failed("output", [TIMED_OUT])
    case.now_s = 6.0

    assert case.says("Kafka does not take the output: out/0 has no leader")
    assert case.gauge == 1.0
    case.troubles.over("output")
    assert (case.troubles.words, case.gauge) == ("", 0.0)


def test_an_error_that_says_what_it_is_is_told_by_name() -> None:
    case = Case()
    case.troubles.failed("output", [NO_RIGHT, TIMED_OUT])
    case.now_s = 6.0

    assert "topic out: " in case.troubles.words
    assert "(TOPIC_AUTHORIZATION_FAILED). Give the account" in case.troubles.words


def test_it_is_not_over_before_all_that_was_refused_is_taken() -> None:
    case = Case()
    case.troubles.failed("output", [NO_RIGHT])
    case.troubles.failed("claims", [TIMED_OUT])
    case.now_s = 6.0
    case.troubles.over("output")

    assert case.troubles.words.startswith("Kafka does not take the claims: nobody answers in time")
    case.troubles.over("claims")
    assert case.troubles.words == ""


def test_brokers_that_do_not_answer_are_named() -> None:
    case = Case()
    case.nobody_answers = True
    case.troubles.failed("output", [TIMED_OUT])
    case.now_s = 6.0

    assert case.says("no answer from Kafka at host:1")


def test_a_quota_that_holds_requests_back_is_named_while_it_does() -> None:
    case = Case()
    case.troubles.throttled("kafka-0", 0.1)
    assert case.troubles.words == ""

    case.troubles.throttled("kafka-0", 2.5)

    assert case.troubles.words.startswith("Kafka holds requests back for 2.5 s each, because of a quota of kafka-0")
    assert "producer_byte_rate" in case.troubles.words
    case.now_s = 60.0
    assert case.troubles.words == ""


def test_a_look_or_a_poke_that_breaks_is_not_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_LOOK_EVERY_S", 0.01)
    case = Case("out/0 has no leader")
    case.is_broken = True
    poked: list[None] = []

    def poke() -> None:
        poked.append(None)
        raise RuntimeError("the client is closed")

    case.troubles.poke = poke
    case.troubles.failed("output", [TIMED_OUT])
    case.now_s = 6.0

    assert wait_until(lambda: case.looks > 1 and len(poked) > 1, Deadline(10))
    case.is_broken = False
    assert case.says("Kafka does not take the output: out/0 has no leader")
    case.troubles.over("output")
