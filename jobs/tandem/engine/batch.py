"""An epoch's records as one Arrow batch, in the order of the merge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tandem.engine.fetch import Answered, Fetched
from tandem.protocol.merge import merge_order

SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("epoch", pa.int64()),
        ("seq", pa.int64()),
        ("epoch_time", pa.timestamp("us", tz="UTC")),
        ("epoch_seed", pa.int64()),
        ("answers", pa.map_(pa.string(), pa.string())),
    ]
)
"""Spark's own Kafka source has the first seven; `epoch` and `seq` number the epoch and the row's place in it.

`epoch_time` and `epoch_seed` are those of the epoch's cut; `answers` has the questions that the job asks, each with what
was answered about this row, and is null if it asks none.
"""

_KAFKA_TIMESTAMP_TYPE = {0: -1, 1: 0, 2: 1}  # librdkafka's numbers to those of Kafka and Spark


def to_batch(fetched: Fetched) -> pa.RecordBatch:
    """All records of an epoch, shape (records, 12), sorted by `seq`."""
    counts = [len(messages) for _, messages in fetched.records]
    place = np.argsort(merge_order(counts))
    messages = [message for _, group in fetched.records for message in group]
    if len(counts) > 1:
        messages = [messages[index] for index in place.tolist()]
    rows = len(messages)
    times = [message.timestamp() for message in messages]
    epoch = fetched.range
    return pa.record_batch(
        [
            pa.array([message.key() for message in messages], pa.binary()),
            pa.array([message.value() for message in messages], pa.binary()),
            pa.array([message.topic() for message in messages], pa.string()),
            pa.array([message.partition() for message in messages], pa.int32()),
            pa.array([message.offset() for message in messages], pa.int64()),
            pa.array([time * 1_000 for _, time in times], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
            pa.array([_KAFKA_TIMESTAMP_TYPE[kind] for kind, _ in times], pa.int32()),
            pa.array(np.full(rows, epoch.epoch, dtype=np.int64)),
            pa.array(np.arange(rows, dtype=np.int64)),
            pa.array(np.full(rows, epoch.time_ms * 1_000, dtype=np.int64)).cast(SCHEMA.field("epoch_time").type),
            pa.array(np.full(rows, epoch.seed, dtype=np.int64)),
            answers_array(fetched.answers, rows).take(pa.array(place)),
        ],
        schema=SCHEMA,
    )


def answers_array(answers: Sequence[Answered], rows: int) -> pa.Array:
    """The column `answers`, shape (rows,), in the order of the answers."""
    if not answers:
        return pa.nulls(rows, SCHEMA.field("answers").type)
    names = pa.array([answered.name for answered in answers] * rows, pa.string())
    texts = [text for row in zip(*(answered.answers for answered in answers), strict=True) for text in row]
    ends = pa.array(np.arange(rows + 1, dtype=np.int32) * len(answers))
    return pa.MapArray.from_arrays(ends, names, pa.array(texts, pa.string()))
