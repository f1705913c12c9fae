"""What differs when a replica has diverged: the first row that is not the published one, on both sides."""

import time
from collections.abc import Collection, Mapping

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as KafkaTopicPartition

from tandem.jobapi.errors import EpochError
from tandem.kafka.client import KafkaConnection
from tandem.kafka.headers import headers_of, job_of, row_id
from tandem.kafka.topics import Topics
from tandem.protocol.publication import DivergedError
from tandem.protocol.values import Marker
from tandem.replica.records import records_of
from tandem.replica.rows import EpochRows
from tandem.topics.declared import SinkTopics

_BACK = 20_000
Row = tuple[str, bytes | None, bytes | None]


class RaisedAloneError(DivergedError):
    """The job's code raised here in an epoch that another replica has computed and published."""

    def __init__(self, error: EpochError, published: Marker) -> None:
        super().__init__(error.epoch, "", published)
        self.args = (
            f"{error.said} But {published.owner} has computed that epoch without an error, and published it: something that "
            "the code reads or calls (a file, a variable, a package, a service) is not here what it is there. Make it the "
            "same, and start this replica again",
        )


def difference_of(connection: KafkaConnection, sinks: SinkTopics, mine: EpochRows | None) -> str:
    """As `first_difference`, or why it is not known. Raises nothing: the divergence itself is known, and must be said."""
    if mine is None:
        return "its rows are not here any more"
    try:
        return first_difference(connection, sinks, mine)
    except Exception as error:
        return f"which row differs could not be found out: {error}"


def first_difference(connection: KafkaConnection, sinks: SinkTopics, mine: EpochRows, timeout_s: float = 10.0) -> str:
    """One line for the log: index, topic, key and value of the first differing row here and as published."""
    published = _published(connection, sinks, mine.epoch, timeout_s)
    computed: dict[int, Row] = {
        row.index: (record.topic, record.key, record.value)
        for record in records_of(mine, sinks)
        if (row := row_id(record.headers)) is not None
    }
    index = first_differing(computed, published)
    if index is not None:
        return f"row {index}: computed {shown(computed.get(index))}, published {shown(published.get(index))}"
    return f"no differing row among {len(published)} published ones found: they may be older than {_BACK} records"


def first_differing(one: Mapping[int, object], other: Mapping[int, object]) -> int | None:
    """The first index whose row is not the same on both sides; None if there is none."""
    return next((index for index in sorted(one.keys() | other.keys()) if one.get(index) != other.get(index)), None)


_NEWER = (
    "start from a savepoint or snapshot, or give the job another metadata.name to begin with the records that are left; "
    "then take snapshots, and give the topic a longer min.compaction.lag.ms"
)


def lost_since(compacted: Collection[str]) -> str:
    """What to say of an epoch whose inputs have other records by now. `compacted`: those inputs that are."""
    what = (
        f"{', '.join(sorted(compacted))} is compacted" if compacted else "Its topics may be compacted, or were repaired"
    )
    return f"{what}. The rows that are out stay right, and this replica cannot compute their state any more: {_NEWER}"


def likely_cause(functions: Collection[str], tables: Collection[str], compacted: Collection[str] = ()) -> str:
    """What made a replica compute other rows, as far as is known; for the log.

    Constants, data and kept tables have been compared when it started. What is left are `functions`, the job's own, which
    Spark calls, `tables`, static tables that are read where they are, and inputs that are `compacted`.
    """
    causes = []
    if compacted:
        names = ", ".join(sorted(compacted))
        causes.append(f"{names} is compacted, and may have lost records since this epoch was published: {_NEWER}")
    if functions:
        causes.append(
            f"{', '.join(sorted(functions))} may read the clock, chance, the environment or files while Spark calls them: "
            "take times from ctx.epoch_time() and the records, random numbers from ctx.rng(), what changes from "
            "ctx.determinant(...)"
        )
    if tables:
        causes.append(
            f"files of {', '.join(sorted(tables))} may have changed, which are not copied: use `tandem upgrade` then"
        )
    if not causes:
        return "the plan was the same when this replica started, and calls no Python functions: please report this"
    return f"likely cause: {'; or '.join(causes)}"


def _published(connection: KafkaConnection, sinks: SinkTopics, epoch: int, timeout_s: float) -> Mapping[int, Row]:
    names = {*sinks.topics.values(), sinks.dead_letter}
    topics = Topics(connection)
    ends = topics.ends(topics.partitions(names))
    beginnings = topics.beginnings(topics.partitions(names))
    found: dict[int, Row] = {}
    consumer = Consumer(connection.consumer())
    try:
        consumer.assign([KafkaTopicPartition(*tp, max(beginnings[tp], end - _BACK)) for tp, end in ends.items()])
        unfinished = {tuple(tp) for tp, end in ends.items() if end > beginnings[tp]}
        deadline = time.monotonic() + timeout_s
        while unfinished and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    unfinished.discard((message.topic(), message.partition()))
                continue
            named = headers_of(message)
            row, is_ours = row_id(named), job_of(named) in (None, sinks.job)
            if is_ours and row is not None and row.epoch == epoch:
                found[row.index] = (message.topic() or "", message.key(), message.value())
    finally:
        consumer.close()
    return found


def shown(row: Row | None) -> str:
    """Topic, key and value of a row, as much of them as helps."""
    if row is None:
        return "no row"
    topic, key, value = row
    return f"{topic} key={(key or b'')[:100]!r} value={(value or b'')[:500]!r}"
