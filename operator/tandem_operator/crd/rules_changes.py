"""Rules about what may not change while a job lives: where a change would lose its place in the log, or its state.

Other changes make a new generation of the job (docs/how-to/upgrade-a-job.md). `spark.parallelism` may change: a job
without state runs on; one with state refuses it, with the remedy, and is rolled back.
"""

from __future__ import annotations

from typing import Final

from tandem_operator.crd.cel import Rule, path
from tandem_operator.crd.rules_streams import own_topic

_OWN: Final = ("ordering", "commits", "deadLetter", "checkpoints")

CHANGES: Final[tuple[Rule, ...]] = (
    Rule(
        "ordering-stays",
        (path("spec.ordering"),),
        "(self.mode == 'none') == (oldSelf.mode == 'none')",
        "mode none cannot be changed to another, nor another to none: without ordering, replicas have no common "
        "place in the inputs to go on from. Give the changed job another metadata.name",
        field_path=".mode",
        reason="FieldValueForbidden",
    ),
    Rule(
        "delivery-stays",
        (path("spec"),),
        "self.delivery == oldSelf.delivery",
        "cannot change: what one guarantee left open, another would lose or publish twice. Give the changed job "
        "another metadata.name",
        field_path=".delivery",
        reason="FieldValueForbidden",
    ),
    Rule(
        "lanes-stay",
        (path("spec"),),
        "has(self.laneOf) == has(oldSelf.laneOf) && (self.lanes == oldSelf.lanes || "
        "(!has(self.laneOf) && has(self.snapshots) && has(oldSelf.snapshots)))",
        "the number of lanes changes only where the job has snapshots, in which the states are found. "
        "Add spec.snapshots first, and change lanes when that runs; or give the changed job another metadata.name",
        field_path=".lanes",
        reason="FieldValueForbidden",
    ),
    Rule(
        "own-topics-stay",
        ((),),
        " && ".join(f"{own_topic(name)} == {own_topic(name, 'oldSelf')}" for name in _OWN),
        "the names of Tandem's own topics cannot change: the job would begin again, and publish what is published. "
        "Put back the old names, or give the changed job another metadata.name",
        field_path=".spec.kafka.topics",
        reason="FieldValueForbidden",
    ),
    Rule(
        "inputs-stay",
        (path("spec"),),
        "self.sources.all(source, source.topics.all(topic, oldSelf.sources.exists(old, topic in old.topics))) && "
        "oldSelf.sources.all(old, old.topics.all(topic, self.sources.exists(source, topic in source.topics)))",
        "the topics that a job reads cannot change: the log holds positions of these. Give the changed job another "
        "metadata.name",
        field_path=".sources",
        reason="FieldValueForbidden",
    ),
    Rule(
        "snapshot-store-stays",
        (path("spec"),),
        "!has(oldSelf.snapshots) || (has(self.snapshots) && self.snapshots.store == oldSelf.snapshots.store) || "
        "(self.suspend && oldSelf.suspend)",
        "the snapshot store cannot change while the job runs: its replicas would not find their state. Set suspend: "
        "true, copy the job's folder to the new store, change spec.snapshots, and set suspend: false",
        field_path=".snapshots",
        reason="FieldValueForbidden",
    ),
)
