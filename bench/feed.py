"""The feeder, a process of its own: `python -m bench.feed BOOTSTRAP TOPIC SEED JOB`.

On its standard input it takes a new rate (records/s) per line; at the end of the input it stops, and prints how many records
it has sent. When late it catches up: a record's time of creation is when it was sent, never when it was due.
"""

from __future__ import annotations

import sys
import threading
import time

from confluent_kafka import KafkaError, Message, Producer

from bench.measured import WORKLOADS
from bench.records import encode, input_partition, key_bytes, keys

_TICK_S = 0.005
_LINGER_MS = 5
"""The default of producers since Kafka 4.0 (KIP-1030). A request for every few records keeps the broker busy instead."""


class Feeder:
    """Sends numbered records at a rate that may change."""

    def __init__(self, bootstrap: str, topic: str, seed: int, job: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": _LINGER_MS}
        )
        self._topic = topic
        self._keys = keys(seed)
        self._body = WORKLOADS[job].body
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
        for _ in range(records):
            key = next(self._keys)
            value = encode(self.sent, time.time_ns(), self._body(self.sent))
            self._producer.produce(
                self._topic, value, key_bytes(key), partition=input_partition(key), on_delivery=self._delivered
            )
            self.sent += 1
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        self._failed += error is not None


def main(bootstrap: str, topic: str, seed: int, job: str) -> None:
    """Follow standard input from a thread, feed from this one."""
    feeder = Feeder(bootstrap, topic, seed, job)

    def listen() -> None:
        for line in sys.stdin:
            feeder.rate = float(line)
        feeder.stop()

    threading.Thread(target=listen, daemon=True).start()
    print(feeder.run(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
