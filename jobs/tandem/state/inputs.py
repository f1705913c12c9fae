"""Where the inputs stood when a snapshot's epoch ended: what a savepoint remembers beside the state."""

from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import cut_at
from tandem.manifest import Manifest
from tandem.snapshots import Inputs, NoSnapshotError, SnapshotManifest


def inputs_of(job: Manifest, connection: KafkaConnection, snapshot: SnapshotManifest) -> Inputs:
    """The snapshot's cut tells. Raises `NoSnapshotError` if the job's ordering topic does not have that cut."""
    try:
        cut = cut_at(connection, job.model.topics.ordering, snapshot.log_offset)
    except ValueError as error:
        raise NoSnapshotError(
            f"{error}: {snapshot.name} is of another topic, or what it stands on is deleted"
        ) from error
    return Inputs.of(((source.name, source.topics) for source in job.spec.sources), cut)
