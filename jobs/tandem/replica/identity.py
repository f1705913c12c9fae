"""The job's identity in the ordering log: propose it, wait for it, and refuse to run under another one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping

from tandem.kafka.appender import ProposalAppender
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ReadTimeoutError
from tandem.kafka.history import first_config
from tandem.kafka.topics import Topics
from tandem.manifest import SourceSpec
from tandem.process import RefusedError
from tandem.protocol.values import Config, Positions


def agree_on_config(
    connection: KafkaConnection,
    appender: ProposalAppender,
    topic: str,
    mine: Config,
    timeout_s: float = 30.0,
) -> Config:
    """The config that the log accepted, proposing `mine` if there is none.

    Raises `RefusedError` if it is another one, `ReadTimeoutError`.
    """
    deadline = time.monotonic() + timeout_s
    accepted = first_config(connection, topic)
    if accepted is None:
        appender.append(mine)
    while accepted is None:
        if time.monotonic() > deadline:
            raise ReadTimeoutError(f"no config appeared in {topic} within {timeout_s:.0f} s")
        accepted = first_config(connection, topic)
    if accepted.digest != mine.digest:
        raise RefusedError(
            f"this replica's job is not the one that {topic} was begun with, by {accepted.proposer}: "
            f"{difference(mine.digest, accepted.digest)}. Run the same files and versions in every replica; to run a "
            "changed job, give it another metadata.name"
        )
    return accepted


def identity_of(parts: Mapping[str, str]) -> str:
    """A `Config.digest` that tells in which part another one differs."""
    return json.dumps(parts, sort_keys=True, separators=(",", ":"))


def difference(mine: str, accepted: str) -> str:
    """In which parts two identities differ, in words."""
    try:
        ours, theirs = dict(json.loads(mine)), dict(json.loads(accepted))
    except (ValueError, TypeError):
        return "it was written by another version of Tandem"
    differing = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    return "different are " + ", ".join(_WORDS.get(name, f"spec.{name}") for name in differing)


_WORDS = {
    "code": "the job's code (the bytes of spec.job.file or module)",
    "versions": "the versions of Python, PySpark, PyArrow, NumPy or pandas",
    "function": "spec.job.function",
    "options": "spec.job.options",
    "topics": "spec.kafka.topics",
    "parallelism": "spec.spark.parallelism",
    "conf": "spec.spark.conf (settings spark.sql.*)",
}


def starting_positions(topics: Topics, sources: Iterable[SourceSpec]) -> Positions:
    """Where each source begins when the job has never run. Raises `MissingTopicError`."""
    found: dict[str, Positions] = {}
    for source in sources:
        partitions = topics.partitions(source.topics)
        if source.starting_offsets == "earliest":
            found[source.name] = topics.beginnings(partitions)
        else:
            found[source.name] = topics.ends(partitions, source.isolation_level)
    return Positions({tp: offset for positions in found.values() for tp, offset in positions.items()})
