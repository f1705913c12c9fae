"""The feeder, a process of its own: `python -m bench.feed BOOTSTRAP TOPIC SEED JOB FILE`.

On its standard input it takes a new rate (records/s) per line; at the end of the input it stops, and prints how many records
it has sent. When late it catches up: a record's time of creation is when it was sent, never when it was due. Where rows do
not tell that time, it goes to FILE: of one record after the other, Unix, ns, eight bytes (little-endian).
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

import numpy as np
from confluent_kafka import KafkaError, Message, Producer

from bench.measured import WORKLOADS
from bench.records import TIME

_TICK_S = 0.005
_LINGER_MS = 5
"""The default of producers since Kafka 4.0 (KIP-1030). A request for every few records keeps the broker busy instead."""


class Feeder:
    """Sends numbered records at a rate that may change. `topic`: of the first source; `file`: for times of creation."""

    def __init__(self, bootstrap: str, topic: str, seed: int, job: str, file: BinaryIO | None = None) -> None:
        workload = WORKLOADS[job]
        self._producer = Producer(
            {
                **{"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": _LINGER_MS},
                "compression.type": workload.compression,
            }
        )
        self._topics = workload.job.topics(topic)
        self._make = workload.feed(seed)
        self._file = file
        self._failed = 0
        self._stopping = threading.Event()
        self.rate = 0.0
        self.sent = 0

    def stop(self) -> None:
        """Stop after what is due now."""
        self._stopping.set()

    def run(self) -> int:
        """Feed until stopped; return how many records were sent. Raises `RuntimeError` if Kafka did not take one."""
        rate, base, since = self.rate, 0, time.monotonic()
        while not self._stopping.wait(_TICK_S):
            if self.rate != rate:
                rate, base, since = self.rate, self.sent, time.monotonic()
            self._send(base + int((time.monotonic() - since) * rate) - self.sent)
        left = self._producer.flush(30)
        if left or self._failed:
            raise RuntimeError(f"{left + self._failed} of {self.sent} records could not be sent")
        return self.sent

    def _send(self, records: int) -> None:
        times: list[int] = []
        for _ in range(records):
            created_ns = time.time_ns()
            key, value, partition, source = self._make(self.sent, created_ns)
            topic = self._topics[source]
            self._producer.produce(topic, value, key, partition=partition, on_delivery=self._delivered)
            times.append(created_ns)
            self.sent += 1
        if self._file is not None and times:
            self._file.write(np.array(times, TIME).tobytes())
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        self._failed += error is not None


def main(bootstrap: str, topic: str, seed: int, job: str, path: Path) -> None:
    """Follow standard input from a thread, feed from this one."""
    with path.open("wb", buffering=0) as file:
        feeder = Feeder(bootstrap, topic, seed, job, file if WORKLOADS[job].resolved is not None else None)

        def listen() -> None:
            for line in sys.stdin:
                feeder.rate = float(line)
            feeder.stop()

        threading.Thread(target=listen, daemon=True).start()
        print(feeder.run(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], Path(sys.argv[5]))
