"""Fencing the transactional ids of other incarnations, fast.

librdkafka waits a fixed 500 ms after CONCURRENT_TRANSACTIONS, which is what `init_transactions` answers while the broker
aborts the fenced owner's open transaction. So two spare producers of an id are connected beforehand: the first one's
`init_transactions` makes the broker abort and is given up after 50 ms; the second one's then succeeds (59 ms in all
against 1,011 ms measured). Neither is used for anything else. Spares that were connected before a broker restarted may have
forgotten where the brokers are (`BrokerWatch`), so they are given a second, and new ones the rest.
"""

import time
from collections import OrderedDict

from confluent_kafka import KafkaException

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import FencingTimeoutError
from tandem.kafka.producer import Producer
from tandem.logs import get_logger

_log = get_logger(__name__)

_SPARES_S = 1.0


class Fencer:
    """Keeps spare producers of the ids that may have to be fenced, and fences them.

    `most` : how many ids to keep spares for; those seen longest ago are dropped first.
    """

    def __init__(self, connection: KafkaConnection, timeout_ms: int = 10_000, most: int = 4) -> None:
        self._connection = connection.silent  # nobody polls the spares
        self._timeout_ms = timeout_ms
        self._most = most
        self._spares: OrderedDict[str, list[Producer]] = OrderedDict()

    def expect(self, transactional_id: str) -> None:
        """Connect spares for an id that was seen to own epochs. Cheap if there are some."""
        if transactional_id in self._spares:
            self._spares.move_to_end(transactional_id)
            return
        self._spares[transactional_id] = self._pair(transactional_id)
        while len(self._spares) > self._most:
            self._spares.popitem(last=False)

    def fence(self, transactional_id: str, timeout_s: float) -> None:
        """Afterwards no transaction that this id opened before can commit. Raises `FencingTimeoutError`."""
        started = time.monotonic()
        deadline = started + timeout_s
        spares = self._spares.pop(transactional_id, None)
        fenced = spares is not None and _one_initialised(spares, min(deadline, started + _SPARES_S))
        if not fenced and not _one_initialised(self._pair(transactional_id), deadline):
            raise FencingTimeoutError(f"{transactional_id} was not fenced within {timeout_s:.1f} s")
        _log.info("fenced", transactional_id=transactional_id, ms=round((time.monotonic() - started) * 1000, 1))

    def _pair(self, transactional_id: str) -> list[Producer]:
        return [self._connect(transactional_id) for _ in range(2)]

    def _connect(self, transactional_id: str) -> Producer:
        producer = Producer(self._connection.transactional(transactional_id, self._timeout_ms))
        producer.poll(0)
        return producer


def _one_initialised(producers: list[Producer], deadline: float) -> bool:
    """Whether one of two could be initialised; the second is tried at least once, also after the deadline."""
    first, second = producers
    if _initialised(first, 0.05):
        return True
    while not _initialised(second, max(0.05, deadline - time.monotonic())):
        if time.monotonic() > deadline:
            return False
    return True


def _initialised(producer: Producer, timeout_s: float) -> bool:
    try:
        producer.init_transactions(timeout_s)
    except KafkaException as error:
        _log.debug("fencing_retried", reason=error.args[0].str())
        return False
    return True
