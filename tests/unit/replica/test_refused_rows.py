"""What is learned from a broker that does not take a row: which one it was, and how its topic is by now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError
from prometheus_client import CollectorRegistry

from tandem.kafka.errors import ReadTimeoutError
from tandem.kafka.headers import row_id
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Blame, Failure, RowsRefusedError, blame_of
from tandem.protocol.actions import Outcome, Publish
from tandem.protocol.values import EpochRange, Offsets
from tandem.replica.epoch_writer import Author, EpochWriter
from tandem.replica.records import records_of
from tandem.replica.refused import RefusedRows
from tandem.replica.rows import EpochRows
from tandem.status.metrics import ReplicaMetrics
from tandem.topics.declared import SinkTopics

SINKS = SinkTopics({"out": "out", "dead-letter": "letters"}, {"out": 2, "letters": 1}, "letters", 1_000)
SPARED = KafkaError._INVALID_DIFFERENT_RECORD
INVALID, TOO_LARGE = KafkaError.INVALID_RECORD, KafkaError.MSG_SIZE_TOO_LARGE


def rows(*keys: bytes | None, size: int = 1) -> EpochRows:
    table = pa.table(
        {
            "sink": ["out"] * len(keys),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array([b"v" * size] * len(keys), pa.binary()),
        }
    )
    return EpochRows.of(7, table, ordered=True)


def failures(records: Iterable[OutputRecord], *codes: int, partitions: Sequence[int] = (0, 0, 0, 0)) -> list[Failure]:
    return [
        Failure(KafkaError(code), record, partition)
        for record, code, partition in zip(records, codes, partitions, strict=False)
    ]


def blamed(blame: Blame | None) -> list[int]:
    """Indices of the rows that are to blame."""
    assert blame is not None
    return [row.index for refusal in blame.refusals if (row := row_id(refusal.record.headers)) is not None]


# Who is to blame -----------------------------------------------------------------------------------------------------


def test_those_that_were_in_one_batch_with_an_invalid_record_are_spared() -> None:
    records = records_of(rows(b"a", b"b", b"c"), SINKS)

    assert blamed(blame_of(failures(records, SPARED, INVALID, SPARED), alone=False)) == [1]


def test_nobody_is_blamed_for_a_batch_as_a_whole_until_each_record_was_sent_by_itself() -> None:
    records = records_of(rows(b"a", b"b", b"c"), SINKS)
    together = failures(records, TOO_LARGE, TOO_LARGE, TOO_LARGE, partitions=(0, 0, 1))

    blame = blame_of(together[:2], alone=False)

    assert blame is not None
    assert blame.refusals == ()
    assert [suspect.record for suspect in blame.suspects] == records[:2]
    assert blamed(blame_of(together, alone=False)) == [2], "it was alone in its partition"
    assert blamed(blame_of(together[:1], alone=True)) == [0]


@pytest.mark.parametrize(
    "code", [KafkaError._MSG_TIMED_OUT, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.NOT_ENOUGH_REPLICAS, SPARED]
)
def test_no_row_is_blamed_for_what_is_no_rows_fault(code: int) -> None:
    assert blame_of(failures(records_of(rows(b"a"), SINKS), code), alone=True) is None


def test_no_row_is_blamed_for_a_marker_that_is_not_taken() -> None:
    marker = OutputRecord("commits", None, b"{}", (), 0)

    assert blame_of([*failures([marker], INVALID), Failure(KafkaError(INVALID))], alone=False) is None


# What is learned -----------------------------------------------------------------------------------------------------


def refusing(records: Sequence[OutputRecord], *codes: int) -> RowsRefusedError:
    blame = blame_of(failures(records, *codes), alone=False)
    assert blame is not None
    return RowsRefusedError(blame)


def topics_of(refused: RefusedRows, rows: EpochRows) -> list[str]:
    return [record.topic for record in records_of(rows, refused.sinks, refused.of(rows.epoch))]


def test_a_topic_that_was_compacted_meanwhile_is_known_from_then_on() -> None:
    some = rows(b"a", None, None)
    refused = RefusedRows(SINKS, lambda: replace(SINKS, compacted=frozenset({"out"})))

    refused.learn(7, refusing(records_of(some, SINKS)[1:2], INVALID))

    assert topics_of(refused, some) == ["out", "letters", "letters"]
    assert refused.of(7) == {}, "the topic's policy explains it"


def test_a_topic_whose_policy_may_not_be_seen_takes_no_row_without_a_key_from_then_on() -> None:
    unseen = replace(SINKS, unseen=frozenset({"out"}))
    refused = RefusedRows(unseen, lambda: unseen)

    refused.learn(7, refusing(records_of(rows(None), SINKS), INVALID))
    refused.look()

    assert topics_of(refused, rows(b"a", None)) == ["out", "letters"]


def test_what_no_setting_explains_is_learned_row_by_row_and_for_that_epoch_only() -> None:
    def nobody_answers() -> SinkTopics:
        raise ReadTimeoutError("nobody answers")

    refused = RefusedRows(SINKS, nobody_answers)
    some = rows(b"a", b"b", b"c")

    refused.learn(7, refusing(records_of(some, SINKS), SPARED, INVALID, SPARED))

    assert topics_of(refused, some) == ["out", "letters", "out"]
    assert "the broker does not take it into out" in refused.of(7)[1]
    assert refused.of(8) == {}


def test_of_a_batch_that_is_too_large_those_are_blamed_that_are_more_than_the_topic_takes() -> None:
    small = replace(SINKS, limits={"out": 300})
    refused = RefusedRows(SINKS, lambda: small)
    some = rows(b"a", b"b" * 400, b"c")

    refused.learn(7, refusing(records_of(some, SINKS), TOO_LARGE, TOO_LARGE, TOO_LARGE))

    assert topics_of(refused, some) == ["out", "letters", "out"]
    assert refused.of(7)[1].endswith("(its max.message.bytes is 300)")
    assert refused.sinks.output_limits.batch == 300, "batches are made smaller"


def test_a_topic_with_fewer_partitions_by_now_is_asked_for_them_and_no_row_is_blamed() -> None:
    refused = RefusedRows(SINKS, lambda: replace(SINKS, partitions={"out": 1, "letters": 1}))
    some = rows(None, None)

    refused.learn(7, refusing(records_of(some, SINKS)[:1], KafkaError._UNKNOWN_PARTITION))

    assert [record.partition for record in records_of(some, refused.sinks, refused.of(7))] == [0, 0]


# What the writer does with it ----------------------------------------------------------------------------------------


class Picky:
    """A broker that takes no row whose key is `bad`. Without transactions it keeps what it has taken."""

    def __init__(self, keeps: bool) -> None:
        self.keeps = keeps
        self.failures: list[Failure] = []
        self.published: list[OutputRecord] = []
        self.marked = 0

    def start(self, timeout_s: float, transaction_s: float = 0.0) -> None:
        """It needs no preparation."""

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:  # noqa: ARG002
        given = list(records)
        bad = [record for record in given if record.topic == "out" and record.key == b"bad"]
        if not bad or self.keeps:
            self.published += [record for record in given if record not in bad]
        if bad:
            blame = blame_of(failures(bad, *[INVALID] * len(bad), partitions=range(len(bad))), alone=False)
            assert blame is not None
            raise RowsRefusedError(blame, bad if self.keeps else ())
        self.marked += 1
        return Outcome.COMMITTED

    def close(self) -> None:
        """It holds nothing."""


@pytest.mark.parametrize(("keeps", "tries"), [(False, 2), (True, 1)])
def test_the_other_rows_of_the_epoch_are_published_once_and_the_refused_ones_are_letters(
    keeps: bool, tries: int
) -> None:
    broker = Picky(keeps)
    metrics = ReplicaMetrics(CollectorRegistry(), "job", "a")
    writer = EpochWriter(Author("a", 0, "commits"), broker, RefusedRows(SINKS), metrics)
    some = rows(b"a", b"bad", b"c", b"bad")
    epoch = EpochRange(7, Offsets({}), Offsets({}), 0, 0, 0)

    outcomes = [writer.write(Publish(7, 0), some, epoch) for _ in range(tries)]

    assert outcomes == [Outcome.UNKNOWN] * (tries - 1) + [Outcome.COMMITTED]
    assert sorted((record.topic, record.key) for record in broker.published if record.topic == "out") == [
        ("out", b"a"),
        ("out", b"c"),
    ]
    ids = sorted(row.index for record in broker.published if (row := row_id(record.headers)) is not None)
    assert ids == [0, 1, 2, 3]
    assert broker.marked == 1
