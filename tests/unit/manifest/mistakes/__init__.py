"""Mistakes that a user could make in a manifest: each is the good manifest with one thing replaced."""

from unit.manifest.mistakes.job import JOB
from unit.manifest.mistakes.kafka import KAFKA
from unit.manifest.mistakes.lanes import LANES
from unit.manifest.mistakes.mark import HERE, Mistake
from unit.manifest.mistakes.running import RUNNING
from unit.manifest.mistakes.sinks import SINKS
from unit.manifest.mistakes.streams import STREAMS
from unit.manifest.mistakes.tables import TABLES

BAD: dict[str, Mistake] = {**JOB, **KAFKA, **STREAMS, **TABLES, **LANES, **SINKS, **RUNNING}

LINES_OF_PARENTS = {
    "no name": "metadata:",
    "no code": "  job:",
    "no brokers": "  kafka:",
    "json without a schema": "    - name: flights",
    "a table without a path": "      parquet:",
    "a table within another": "        path: /data/out",
    "a leader without ZooKeeper": "spec:",
    "an output to a topic of Tandem": "    topics: {}",
}
"""For what is not there to be marked: the line of what would contain it, or of what it clashes with."""

__all__ = ["BAD", "HERE", "LINES_OF_PARENTS"]
