"""Where the inputs stood when a snapshot's epoch ended: what a savepoint remembers beside the state."""

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError
from tandem.kafka.history import cut_at
from tandem.manifest import Manifest
from tandem.snapshots import Inputs, NoSnapshotError, SnapshotManifest


def inputs_of(job: Manifest, connection: KafkaConnection, snapshot: SnapshotManifest) -> Inputs:
    """The snapshot's cut says so. Raises `NoSnapshotError` if the job's ordering topic does not have that cut."""
    topic = job.model.topics.ordering
    try:
        cut = cut_at(connection, topic, snapshot.log_offset)
    except (ValueError, LostInputError) as error:
        raise NoSnapshotError(
            f"{error}: {snapshot.name} is of another topic, or what it stands on is deleted"
        ) from error
    if cut.epoch != snapshot.epoch:
        raise NoSnapshotError(
            f"{topic}/0: the cut at offset {snapshot.log_offset} is of epoch {cut.epoch}, not {snapshot.epoch}: "
            f"{snapshot.name} is of another topic, which was deleted"
        )
    return Inputs.of(((source.name, source.topics) for source in job.spec.sources), cut)
