"""What `tandem savepoint create` and `tandem upgrade` give a name: the newest state of the generation that a job runs."""

import os
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaException

from tandem.cli.stores import store_of
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import MissingTopicError, TandemKafkaError
from tandem.kafka.history import current_config, last_marker
from tandem.kafka.topics import Topics
from tandem.local.snapshot_inputs import inputs_of
from tandem.manifest import Manifest, SecretError
from tandem.protocol.values import Config
from tandem.snapshots import (
    Inputs,
    Listing,
    NoSnapshotError,
    Savepoint,
    Savepoints,
    SnapshotManifest,
    SnapshotStore,
    newest_snapshot,
    not_before_epoch,
)
from tandem.waiting import Deadline


class NothingPublishedError(NoSnapshotError):
    """The job has published nothing yet, so there is no state to keep."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A state that is to get a name. `inputs`: how far they were read then. `of`: the savepoint that has it, if one has."""

    generation: "Generation"
    snapshot: SnapshotManifest
    inputs: Inputs
    of: Savepoint | None = None

    def keep(self, name: str) -> Savepoint:
        """Give it the name. Raises what `Savepoints.create` raises."""
        savepoints = Savepoints(self.generation.store)
        if self.of is not None:
            return savepoints.copy(name, self.of)
        return savepoints.create(name, self.snapshot, self.inputs)


@dataclass(frozen=True, slots=True)
class Generation:
    """The newest generation of a job, or of a lane of one, and where its snapshots are. `published`: the last epoch."""

    job: Manifest
    connection: KafkaConnection
    store: SnapshotStore
    config: Config
    published: int

    @classmethod
    def of(cls, job: Manifest) -> "Generation":
        """Find it: within seconds, if Kafka does not answer.

        Raises `NothingPublishedError`, `NoStoreError`, `SecretError`, `TandemKafkaError`, `KafkaException`.
        """
        store, connection = store_of(job), connection_of(job)
        Topics(connection).partitions([topic for source in job.spec.sources for topic in source.topics])
        try:
            config = _config(job, connection)
        except MissingTopicError as error:
            raise NothingPublishedError(
                f"job {job.name} has never run on this Kafka: there is no state to keep"
            ) from error
        marker = last_marker(connection, job.model.topics.commits)
        if config is None or marker is None:
            raise NothingPublishedError(f"job {job.name} has published nothing yet: there is no snapshot of it")
        return cls(job, connection, store, config, marker.epoch)

    def newest(self) -> Chosen:
        """Its newest snapshot; before it has taken one, the state that it began with.

        Raises `NoSnapshotError`; `UnknownSavepointError`: what it began with is gone.
        """
        try:
            snapshot = newest_snapshot(self.store, lineages=self.config.lineages)
        except NoSnapshotError:
            if not self.config.savepoint:
                raise
            begun = Savepoints(self.store).get(self.config.savepoint)
            return Chosen(self, begun.snapshot, begun.inputs, begun)
        return self.chosen(snapshot)

    def not_before(self, epoch: int, deadline: Deadline) -> SnapshotManifest:
        """Its newest snapshot, once that includes `epoch`. Raises `NoSnapshotError`."""
        return newest_snapshot(self.store, not_before_epoch(epoch), deadline, lineages=self.config.lineages)

    def chosen(self, snapshot: SnapshotManifest) -> Chosen:
        """One of its snapshots. Raises `NoSnapshotError` if it is of another log."""
        return Chosen(self, snapshot, inputs_of(self.job, self.connection, snapshot))


def known_lineages(job: Manifest) -> tuple[str, ...] | None:
    """What the states come from that a job goes on with now; None: Kafka does not say, or nothing of the job is there."""
    try:
        config = _config(job, connection_of(job))
    except (TandemKafkaError, KafkaException, SecretError):
        return None
    return None if config is None else config.lineages


def connection_of(job: Manifest) -> KafkaConnection:
    """How to reach the job's brokers. Raises `SecretError`."""
    return KafkaConnection(job.kafka_properties(os.environ)).silent


def _config(job: Manifest, connection: KafkaConnection) -> Config | None:
    topics = job.model.topics
    Topics(connection).partitions([topics.ordering, topics.commits])
    return current_config(connection, topics.ordering, topics.commits)


_FIRST_AGAIN: Final = 2


def name_for(snapshot: SnapshotManifest, name: str, listing: Listing) -> str:
    """`name`, if it is free or is that of a savepoint of this very state, else the next one like it: `name-2`.

    A savepoint of the same name may be of a try that failed long ago, or of an earlier run of the job.
    """
    known = {one.name: (one.snapshot.epoch, one.snapshot.config_digest) for one in listing.savepoints}
    wanted, found, number = (snapshot.epoch, snapshot.config_digest), name, _FIRST_AGAIN
    while found in listing.names and known.get(found) != wanted:
        found, number = f"{name}-{number}", number + 1
    return found
