"""The client's producer, whose fatal errors are exceptions like all others.

Where librdkafka reports a fatal error and a delivery report follows in the same call, confluent-kafka (2.16.1) raises a bare
`KafkaError`, which not even `except BaseException` catches, or a `SystemError`: seen at 37 and 1 of 40 calls of `flush`
after a fence.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException


class Producer(confluent_kafka.Producer):
    """As its base; each call that may serve the client's reports raises `KafkaException` for a fatal error.

    Such a call has left out reports: what became of the records must not be concluded from those that came.
    """

    def poll(self, timeout: float = -1) -> int:
        with _fatal_raised():
            return super().poll(timeout)

    def flush(self, timeout: float = -1) -> int:
        with _fatal_raised():
            return super().flush(timeout)

    def purge(self, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None:
        with _fatal_raised():
            super().purge(in_queue, in_flight, blocking)

    def init_transactions(self, timeout: float = -1) -> None:
        with _fatal_raised():
            super().init_transactions(timeout)

    def commit_transaction(self, timeout: float = -1) -> None:
        with _fatal_raised():
            super().commit_transaction(timeout)

    def abort_transaction(self, timeout: float = -1) -> None:
        with _fatal_raised():
            super().abort_transaction(timeout)


@contextmanager
def _fatal_raised() -> Iterator[None]:
    try:
        yield
    except KafkaError as error:  # type: ignore[misc]  # right, and yet it is raised
        raise KafkaException(error) from None
    except SystemError as error:
        raise KafkaException(KafkaError(KafkaError._FATAL, str(error))) from None
