"""Giving a producer up without a crash.

librdkafka (2.16.0) writes to memory that it has freed when a transactional producer is destroyed after it was fenced, and
answers to its requests are still to come: the process aborts ("corrupted size vs. prev_size", "unaligned tcache
chunk detected"), within 60 fences in each of nine trials. So a producer lives until all of its messages were answered, or
timed out.
"""

import threading
import time
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaException

from tandem.kafka.producer import Producer
from tandem.logs import get_logger
from tandem.protocol.transaction_time import LONGEST_S
from tandem.waiting import Deadline, rest_of

_log = get_logger(__name__)

_LONGEST_S: Final = LONGEST_S + 30.0
"""No message lives longer than the longest transaction."""
_AGAIN_S: Final = 0.05
_kept: list[Producer] = []
"""Those that had messages left even then: they are never destroyed."""


def give_up(producer: Producer) -> None:
    """Let it send nothing new, and end it in a thread of its own as soon as that is safe; returns at once."""
    threading.Thread(target=_end, args=(producer,), name="given-up", daemon=True).start()


def _end(producer: Producer) -> None:
    began_s, deadline = time.monotonic(), Deadline(_LONGEST_S)
    with suppress(KafkaException):
        producer.purge(in_queue=True, in_flight=False)
    while len(producer) and not deadline.passed:
        asked_s = time.monotonic()
        with suppress(KafkaException):  # it says why it is of no use any more, and has more to say
            producer.flush(deadline.remaining_s)
        if len(producer):
            rest_of(_AGAIN_S, asked_s)  # it may say so at once each time
    if len(producer):
        _kept.append(producer)
        _log.warning("producer_kept", messages=len(producer))
    rest_of(_AGAIN_S, began_s)  # who gave it up forgets it meanwhile: who does so last waits until it is taken apart
