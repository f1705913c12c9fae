"""The reader, a process of its own: `python -m bench.read BOOTSTRAP TOPIC FILE JOB`.

A read_committed consumer that writes every record, as `records.ARRIVAL`, to a file, until its standard input ends.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from bench.definition import Came
from bench.measured import WORKLOADS
from bench.records import ARRIVAL, PARTITIONS

_FLUSH_S = 0.2


Decode = Callable[[bytes | None, bytes | None], Came]


def read(consumer: Consumer, file: BinaryIO, stopping: threading.Event, decode: Decode) -> None:
    """Write what arrives until `stopping` is set. `decode`: a row's key and value. Raises `KafkaException`."""
    pending: list[tuple[int, int, int, int, int]] = []
    flushed = time.monotonic()
    while not stopping.is_set():
        first = consumer.poll(0.1)  # consume() alone would wait for its whole time-out
        if first is not None:
            messages = [first, *consumer.consume(5_000, 0)]
            now = time.time_ns()
            pending += [_arrival(message, now, decode) for message in messages]
        if pending and time.monotonic() - flushed > _FLUSH_S:
            file.write(np.array(pending, ARRIVAL).tobytes())
            pending, flushed = [], time.monotonic()
    file.write(np.array(pending, ARRIVAL).tobytes())


def _arrival(message: Message, now_ns: int, decode: Decode) -> tuple[int, int, int, int, int]:
    error = message.error()
    if error is not None:
        raise KafkaException(error)
    number, created_ns, key = decode(message.key(), message.value())
    return number, created_ns, now_ns, key, message.partition() or 0


def main(bootstrap: str, topic: str, path: Path, job: str) -> None:
    """Read from the beginning of the topic, rows of a job."""
    stopping = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        stopping.set()

    threading.Thread(target=listen, daemon=True).start()
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 20,
            "socket.nagle.disable": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    with path.open("wb", buffering=0) as file:
        read(consumer, file, stopping, WORKLOADS[job].row)
    consumer.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])
