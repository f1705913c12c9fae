"""An epoch's records as one Arrow batch, in the order of the merge."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import Message

from tandem.intake.fetch import Answered, Fetched
from tandem.protocol.merge import merge_order, merged

_INT64 = pa.int64()
_TIME = pa.timestamp("us", tz="UTC")

SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", _TIME),
        ("timestampType", pa.int32()),
        ("epoch", pa.int64()),
        ("seq", pa.int64()),
        ("epoch_time", _TIME),
        ("epoch_seed", pa.int64()),
        ("answers", pa.map_(pa.string(), pa.string())),
    ]
)
"""Spark's own Kafka source has the first seven; `epoch` and `seq` number the epoch and the row's place in it.

`epoch_time` and `epoch_seed` are those of the epoch's cut; `answers` has the questions that the job asks, each with what
was answered about this row, and is null if it asks none.
"""

HEADERS = pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))
"""As in Spark's own Kafka source with `includeHeaders`: null for a record without any."""

_KAFKA_TIMESTAMP_TYPE = {0: -1, 1: 0, 2: 1}  # librdkafka's numbers to those of Kafka and Spark
LATEST_MS = (2**63 - 1) // 1_000
"""What a TIMESTAMP (µs) can hold, Unix, ms; as much before 1970."""
_EARLIEST, _LATEST = np.int64(-LATEST_MS), np.int64(LATEST_MS)

Header = tuple[str, bytes | None]


def in_order(fetched: Fetched) -> list[Message]:
    """All records of an epoch, sorted by `seq`."""
    return merged([messages for _, messages in fetched.records])


def to_batch(
    fetched: Fetched,
    messages: Sequence[Message] | None = None,
    headers: Sequence[Sequence[Header] | None] | None = None,
) -> pa.RecordBatch:
    """All records of an epoch, shape (records, 12), sorted by `seq`; with `headers`, one for each record, they are last.

    Times outside of what a TIMESTAMP can hold are cut to it: `Intake` keeps their records out.

    `messages` : `in_order(fetched)`, if it is known already.
    """
    messages = in_order(fetched) if messages is None else messages
    rows = len(messages)
    times = [message.timestamp() for message in messages]
    micros = np.array([time for _, time in times], dtype=np.int64).clip(_EARLIEST, _LATEST) * 1_000
    epoch, answers = fetched.range, answers_array(fetched.answers, rows)
    columns = [
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([message.value() for message in messages], pa.binary()),
        pa.array([message.topic() for message in messages], pa.string()),
        pa.array([message.partition() for message in messages], pa.int32()),
        pa.array([message.offset() for message in messages], pa.int64()),
        _numbers(micros, _TIME),
        pa.array([_KAFKA_TIMESTAMP_TYPE[kind] for kind, _ in times], pa.int32()),
        _numbers(np.full(rows, epoch.epoch, dtype=np.int64)),
        _numbers(np.arange(rows, dtype=np.int64)),
        _numbers(np.full(rows, epoch.time_ms * 1_000, dtype=np.int64), _TIME),
        _numbers(np.full(rows, epoch.seed, dtype=np.int64)),
        answers if not fetched.answers else answers.take(pa.array(_place(fetched))),
    ]
    if headers is None:
        return pa.record_batch(columns, schema=SCHEMA)
    named = [None if one is None else [{"key": name, "value": value} for name, value in one] for one in headers]
    return pa.record_batch([*columns, pa.array(named, HEADERS.type)], schema=SCHEMA.append(HEADERS))


def _numbers(values: npt.NDArray[np.int64], kind: pa.DataType = _INT64) -> pa.Array:
    """A column over the memory of `values`: a third of the time of `pa.array`, which looks at what else they may be."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _place(fetched: Fetched) -> npt.NDArray[np.int64]:
    """Which record, in the order of `fetched`, each row is."""
    return np.argsort(merge_order([len(messages) for _, messages in fetched.records]))


def answers_array(answers: Sequence[Answered], rows: int) -> pa.Array:
    """The column `answers`, shape (rows,), in the order of the answers."""
    if not answers:
        return pa.nulls(rows, SCHEMA.field("answers").type)
    names = pa.array([answered.name for answered in answers] * rows, pa.string())
    texts = [text for row in zip(*(answered.answers for answered in answers), strict=True) for text in row]
    ends = pa.array(np.arange(rows + 1, dtype=np.int32) * len(answers))
    return pa.MapArray.from_arrays(ends, names, _texts(texts))


def _texts(texts: Sequence[str | None]) -> pa.Array:
    """As a column. Half of a surrogate pair, which earlier versions took into the log, becomes a question mark."""
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        known = [None if text is None else text.encode(errors="replace") for text in texts]
        return pa.array(known, pa.string())
