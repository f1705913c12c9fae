"""Reads a job's markers and deltas for a follower, on a thread of its own that goes on after whatever goes wrong."""

from typing import Final, Protocol

from tandem.background import Background
from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import markers_back_to, read_range, watermarks
from tandem.kafka.tail import LogTail, Record
from tandem.logs import get_logger
from tandem.protocol.values import Marker
from tandem.shipping.errors import DeltaError, UnknownStateError
from tandem.shipping.values import epoch_and_shipper
from tandem.waits import Task

_FIRST_WINDOW = 16

_TIMEOUT_S: Final = 10.0


def place_of(connection: KafkaConnection, topic: str, epoch: int) -> int:
    """An offset from which on all shipped epochs from `epoch` on are met, if they are still there.

    PeriodicCheck back in windows that grow, one record in each. Raises `ReadTimeoutError`, `KafkaException`.
    """
    low, high = watermarks(connection, topic, _TIMEOUT_S)
    window = _FIRST_WINDOW
    while True:
        start = max(low, high - window)
        if start == low:
            return start
        for _, value in read_range(connection, topic, start, start + 1, _TIMEOUT_S):
            try:
                if epoch_and_shipper(value)[0] < epoch:
                    return start
            except DeltaError:
                continue
        window *= 4


_log = get_logger(__name__)

FOLLOWING: Final = "the state that it follows to stand by"
"""What a task says that it waits for."""

_POLL_S: Final = 0.1
_AGAIN_S: Final = 1.0


class Reader(Protocol):
    """Whom the thread reads for. Called by the thread only."""

    @property
    def epoch(self) -> int:
        """The epoch after which deltas are wanted."""

    @property
    def reads_again(self) -> bool:
        """Whether deltas that were read already are wanted once more."""

    def begin(self) -> None:
        """Deltas are about to be read, from where the state stands."""

    def learn(self, marker: Marker) -> None:
        """A marker that was there before."""

    def take(self, record: Record) -> None:
        """The next record of one of the topics."""

    def advance(self) -> None:
        """What there is now was read. Raises `UnknownStateError`: there is no use in reading on."""


class Reading(Background):
    """Parameters
    ----------
    task : says what following waits for.
    """

    def __init__(
        self, connection: KafkaConnection, commits_topic: str, checkpoints_topic: str, reader: Reader, task: Task
    ) -> None:
        super().__init__("follower")
        self._connection = connection
        self._commits_topic = commits_topic
        self._checkpoints_topic = checkpoints_topic
        self._reader = reader
        self._task = task
        self._commits_start = 0
        self._warned = False
        self.is_current = False
        """Whether both topics are being read."""

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to stop."""
        return self._stopped.is_set()

    def _run(self) -> None:
        try:
            self._run_on()
        finally:
            self._task.ends()

    def _run_on(self) -> None:
        while not self._stopped.is_set():
            try:
                self._read()
            except UnknownStateError as error:
                _log.error("state_cannot_be_followed", reason=str(error), effect="a standby restores it when promoted")
                return
            except Exception as error:
                self.is_current = False
                if not self._warned:
                    _log.warning("following_interrupted", reason=str(error), exc_info=True)
                self._warned = True
                self._task.at(f"it failed: {error}")
                self._stopped.wait(_AGAIN_S)

    def _read(self) -> None:
        """Read on from where the state stands, until there is something to be read again."""
        self._task.begins(FOLLOWING, "Kafka: the job's logs")
        self._read_markers()
        commits, checkpoints = self._commits_topic, self._checkpoints_topic
        while not self._stopped.is_set():
            place = place_of(self._connection, checkpoints, self._reader.epoch + 1)
            self._reader.begin()
            with LogTail(self._connection, {commits: self._commits_start, checkpoints: place}) as tail:
                while not self._stopped.is_set() and not self._reader.reads_again:
                    for record in tail.poll(_POLL_S):
                        self._reader.take(record)
                    self._commits_start = tail.next_offsets[commits]
                    self._reader.advance()
                    self._warned, self.is_current = False, True
                    self._task.ends()

    def _read_markers(self) -> None:
        topic = self._commits_topic
        markers = markers_back_to(self._connection, topic, None)
        for _, marker in markers:
            self._reader.learn(marker)
        self._commits_start = markers[-1][0] + 1 if markers else watermarks(self._connection, topic, _TIMEOUT_S)[0]
