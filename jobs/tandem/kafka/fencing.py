"""Fencing the transactional ids of other incarnations, fast.

librdkafka waits a fixed 500 ms after CONCURRENT_TRANSACTIONS, which is what `init_transactions` answers while the broker
aborts the fenced owner's open transaction, and as long where no broker is connected, as after a broker has closed an idle
connection (`connections.max.idle.ms`). Each further call asks at once. So it is called again and again, each time for a
little longer: about 15 ms in all with a spare producer that was connected beforehand, against 1,011 ms for one call. A spare
is used for nothing else. One that was connected before a broker restarted may have forgotten where the brokers are
(`BrokerWatch`), so it is given a second, and a new one the rest.
"""

import time
from collections import OrderedDict
from collections.abc import Callable

from confluent_kafka import KafkaException

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import FencingTimeoutError, NotAllowedError
from tandem.kafka.given_up import give_up
from tandem.kafka.producer import Producer
from tandem.kafka.troubles import in_words, is_for_good
from tandem.logs import get_logger
from tandem.waiting import rest_of

_log = get_logger(__name__)

_SPARE_S = 1.0
_FIRST_S, _LONGEST_S = 0.005, 0.05
_GROWTH = 0.25
"""Of the time that has passed since the first call, how much the next one is given: so none is late by more than that."""


class Fencer:
    """Keeps a spare producer of each id that may have to be fenced, and fences them.

    `most` : how many ids to keep spares for; those seen longest ago are dropped first.
    """

    def __init__(self, connection: KafkaConnection, timeout_ms: int = 10_000, most: int = 4) -> None:
        self._connection = connection.silent  # nobody polls the spares
        self._timeout_ms = timeout_ms
        self._most = most
        self._spares: OrderedDict[str, Producer] = OrderedDict()

    def expect(self, transactional_id: str) -> None:
        """Connect a spare for an id that was seen to own epochs. Cheap if there is one."""
        if transactional_id in self._spares:
            self._spares.move_to_end(transactional_id)
            return
        self._spares[transactional_id] = self._connect(transactional_id)
        while len(self._spares) > self._most:
            self._spares.popitem(last=False)

    def fence(self, transactional_id: str, timeout_s: float) -> None:
        """Afterwards no transaction that this id opened before can commit.

        Raises `FencingTimeoutError`, and `NotAllowedError` at once for missing rights.
        """
        started = time.monotonic()
        deadline = started + timeout_s
        spare = self._spares.pop(transactional_id, None)
        calls = 0 if spare is None else _fenced_by(spare, min(deadline, started + _SPARE_S))
        calls = calls or _fenced_by(self._connect(transactional_id), deadline)
        if not calls:
            raise FencingTimeoutError(f"{transactional_id} was not fenced within {timeout_s:.1f} s")
        ms = round((time.monotonic() - started) * 1000, 1)
        _log.info("fenced", transactional_id=transactional_id, ms=ms, calls=calls)

    def _connect(self, transactional_id: str) -> Producer:
        producer = Producer(self._connection.transactional(transactional_id, self._timeout_ms))
        producer.poll(0)
        return producer


def _fenced_by(producer: Producer, deadline: float) -> int:
    """As `initialised`. The producer is ended beside: that takes some milliseconds, and a reader waits for the take-over."""
    try:
        return initialised(producer.init_transactions, deadline)
    finally:
        give_up(producer)


def initialised(
    init_transactions: Callable[[float], None],
    deadline: float,
    clock_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Call `init_transactions` until it succeeds; how often that took, 0: it did not before `deadline`.

    It is called once at least, also after the deadline. It is given a time, s, and raises `KafkaException` after that; if
    it does so sooner, as a client that is of no use any more, the rest of that time passes before the next call.
    Raises `NotAllowedError` where the broker says that it never will, which it says without waiting.
    """
    began, calls = clock_s(), 0
    while not calls or clock_s() < deadline:
        calls, called = calls + 1, clock_s()
        given = min(_LONGEST_S, max(_FIRST_S, _GROWTH * (called - began)))
        try:
            init_transactions(given)
        except KafkaException as error:
            reason = error.args[0]
            if is_for_good(reason):
                raise NotAllowedError(f"the brokers let nobody be fenced: {in_words(reason)}") from error
            _log.debug("fencing_retried", reason=reason.str())
            rest_of(min(given, deadline - called), called, clock_s, sleep)
        else:
            return calls
    return 0
