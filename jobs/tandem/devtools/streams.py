"""Which topic a source or a sink of a manifest means, and how many partitions it has when it is made."""

from tandem.manifest import Manifest
from tandem.topics.declared import DEAD_LETTER_SINK


class UnknownStreamError(ValueError):
    """The manifest has no such source, sink or topic; the message lists those that there are."""


def source_topic(manifest: Manifest, name: str, topic: str | None = None) -> str:
    """The topic of the source `name`: `topic`, or the first one. Raises `UnknownStreamError`."""
    topics = {source.name: source.topics for source in manifest.spec.sources}
    if name not in topics:
        raise UnknownStreamError(f"job {manifest.name} has no source {name}. Its sources: {', '.join(topics)}")
    if topic is not None and topic not in topics[name]:
        raise UnknownStreamError(f"source {name} has no topic {topic}. Its topics: {', '.join(topics[name])}")
    return topics[name][0] if topic is None else topic


def sink_topic(manifest: Manifest, name: str) -> str:
    """The topic of the sink `name`, or of the dead letters. Raises `UnknownStreamError`, also for a table."""
    topics = {sink.name: sink.topic for sink in manifest.spec.sinks if sink.topic is not None}
    topics[DEAD_LETTER_SINK] = manifest.model.topics.dead_letter
    if name in topics:
        return topics[name]
    is_table = any(sink.name == name for sink in manifest.spec.sinks)
    why = f"sink {name} is a table, not a topic" if is_table else f"job {manifest.name} has no sink {name}"
    raise UnknownStreamError(f"{why}. Its sinks in Kafka: {', '.join(topics)}")


def partitions_for(manifest: Manifest, asked: int) -> int:
    """How many partitions new topics of a job have: `asked`, or the next multiple of `spec.lanes`.

    A key stays in its lane only with a multiple, so with any other number the job refuses to start.
    """
    lanes = manifest.spec.lanes
    return -(-asked // lanes) * lanes
