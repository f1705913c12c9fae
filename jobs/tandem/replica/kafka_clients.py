"""What a replica reads and writes in Kafka: the job's topics, its clients, and its place in both logs when it begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tandem.checkpoint.position import EnginePosition
from tandem.intake.fetcher import EpochFetcher
from tandem.kafka.batches import MakeLimits, OnThrottled
from tandem.kafka.client import KafkaConnection
from tandem.kafka.epoch_producer import EpochProducer
from tandem.kafka.history import config_at, current_config, decisions_after, last_marker, markers_back_to, watermarks
from tandem.kafka.plain_producer import PlainProducer
from tandem.kafka.tail import LogTail
from tandem.kafka.transactions import TransactionalProducer
from tandem.manifest import Manifest
from tandem.process.info import RefusedError
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import MissingMarkerError
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Config, Marker
from tandem.replica.log_events import LogEvents
from tandem.replica.past import PastEpochs
from tandem.topics.declared import LogTopics, isolation_levels, names_for

_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Place:
    """`decisions` up to the engine's position, and where to read on: topic → offset.

    `publisher` : the incarnation that published the epoch of that position; "": there is none.
    """

    decisions: Decisions
    head: int
    starts: Mapping[str, int]
    publisher: str = ""


def find_place(connection: KafkaConnection, ordering_topic: str, commits_topic: str, position: EnginePosition) -> Place:
    """The place of a replica whose engine stands at `position`: every marker after it will be read, and compared.

    Raises `MissingMarkerError` if the commits topic does not reach back to `position`; `RefusedError` if that is of another
    log, or from before a change of the number of lanes.
    """
    beginning, _ = watermarks(connection, commits_topic, _TIMEOUT_S)
    if position.epoch < 0:
        log_beginning, _ = watermarks(connection, ordering_topic, _TIMEOUT_S)
        return Place(Decisions(), 0, {ordering_topic: log_beginning, commits_topic: beginning})
    markers = markers_back_to(connection, commits_topic, position.epoch)
    found = [(offset, marker) for offset, marker in markers if marker.epoch == position.epoch]
    if not found:
        raise MissingMarkerError(f"{commits_topic} has no marker of epoch {position.epoch}, at which the state stands")
    offset, marker = found[0]  # one that came late, after a pause, may stand behind markers that are still to be read
    check_same_log(ordering_topic, position, marker)
    check_same_lanes(connection, ordering_topic, position, [marker for _, marker in markers])
    decisions = decisions_after(connection, ordering_topic, marker)
    starts = {ordering_topic: position.log_offset + 1, commits_topic: offset + 1}
    return Place(decisions, position.epoch + 1, starts, marker.owner)


def check_same_log(ordering_topic: str, position: EnginePosition, marker: Marker) -> None:
    """Raise `RefusedError` if a state stands in another log than the one of `marker`, which is of the same epoch.

    A savepoint outlives the job's topics. The epochs of a new log have the same numbers, and other records.
    """
    if marker.log_offset != position.log_offset:
        raise RefusedError(
            f"the state of epoch {position.epoch:,} is of another log: its cut stood at offset {position.log_offset:,}, and "
            f"in {ordering_topic} that of this epoch stands at {marker.log_offset:,}. The job's topics were deleted, or "
            "Kafka was set up again, after the state was saved, so its epochs had other records. Choose a savepoint that "
            "was made since (tandem savepoint list), or none"
        )


def check_same_lanes(
    connection: KafkaConnection, ordering_topic: str, position: EnginePosition, markers: Iterable[Marker]
) -> None:
    """Raise `RefusedError` if the number of lanes has changed since a state: the log then goes on with other inputs.

    Between such changes it may even have stood still, while other logs had the job. `markers`: those after the state.
    """
    # A change publishes an epoch without a row; see `protocol.lanes.marker`.
    empty = (one for one in markers if one.epoch > position.epoch and not one.digest and not one.rows)
    for offset in sorted({one.config_offset for one in empty}):
        config = config_at(connection, ordering_topic, offset)
        if config.moved and config.base > position.epoch:
            raise RefusedError(
                f"the state of epoch {position.epoch:,} is from before a change of spec.lanes: with generation "
                f"{config.generation}, which began with epoch {config.base:,}, {ordering_topic} goes on as the log of "
                f"{'the only lane' if config.lanes <= 1 else f'lane {config.lane} of {config.lanes}'}. Another division of "
                "the inputs was read into the state of then. Choose a savepoint that was made since (tandem savepoint "
                "list), or none; to begin again from the old one, give the job another metadata.name, with no savepoint"
            )


@dataclass(frozen=True, slots=True)
class KafkaClients:
    """`logs`: the ordering and the commits topic. `inputs`: topic → isolation level."""

    connection: KafkaConnection
    logs: LogTopics
    inputs: Mapping[str, str]
    delivery: Delivery

    @classmethod
    def of(cls, manifest: Manifest, replica: str, environment: Mapping[str, str]) -> KafkaClients:
        """Those of `replica`; secrets are in `environment`."""
        return cls(
            KafkaConnection(manifest.kafka_properties(environment)),
            names_for(manifest, replica),
            isolation_levels(manifest),
            Delivery(manifest.spec.delivery),
        )

    def fetcher(self, after: EnginePosition) -> EpochFetcher:
        """Reads the epochs after a position, and their input. Raises `MissingMarkerError`."""
        place = self.place_at(after)
        # A job that begins needs its log from the first record: one that was cut off is an error, and no beginning.
        start = place.starts[self.logs.ordering] if after.epoch >= 0 else 0
        events = LogEvents(LogTail(self.connection, {self.logs.ordering: start}), self.logs)
        return EpochFetcher(self.connection, self.inputs, PastEpochs(after, place.decisions, events))

    def producer(self, incarnation: str, limits: MakeLimits, on_throttled: OnThrottled) -> EpochProducer:
        """Publishes epochs, as the job's `delivery` wants it."""
        if self.delivery is Delivery.EXACTLY_ONCE:
            return TransactionalProducer(self.connection, incarnation, limits, on_throttled)
        return PlainProducer(self.connection, limits, on_throttled)

    def newest_published(self) -> EnginePosition:
        """Where the last marker stands. Raises `ReadTimeoutError`."""
        marker = self.newest_marker()
        return EnginePosition() if marker is None else EnginePosition(marker.epoch, marker.log_offset)

    def newest_marker(self) -> Marker | None:
        """The last marker; None: nothing is published. Raises `ReadTimeoutError`."""
        return last_marker(self.connection, self.logs.commits)

    def newest_config(self) -> Config | None:
        """The config of the job's newest generation; None: it never ran. Raises `TandemKafkaError`."""
        return current_config(self.connection, self.logs.ordering, self.logs.commits)

    def place_at(self, position: EnginePosition) -> Place:
        """The place in both logs of a replica whose engine stands at `position`. Raises `MissingMarkerError`."""
        return find_place(self.connection, self.logs.ordering, self.logs.commits, position)

    def events(self, place: Place, topics: Iterable[str]) -> LogEvents:
        """Reads `topics`, of the two logs, on from a place."""
        return LogEvents(LogTail(self.connection, {topic: place.starts[topic] for topic in topics}), self.logs)
