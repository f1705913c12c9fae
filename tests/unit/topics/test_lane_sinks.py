"""Sinks whose rows stay in their lane's partitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.kafka.errors import TopicMismatchError
from tandem.manifest import load
from tandem.topics.declared import kept_by_lanes

MANIFEST = """\
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: orders}
spec:
  job: {file: job.py}
  lanes: LANES
  kafka: {bootstrapServers: "localhost:9092"}
  zookeeper: {connect: "localhost:2181"}
  sources: [{name: orders, topics: [orders]}]
  sinks: [{name: copies, topic: copies, partitionBy: lane}, {name: counts, topic: counts}]
"""
Kept = Callable[[int, int], frozenset[str]]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    def of(lanes: int, partitions: int) -> frozenset[str]:
        path = tmp_path / "job.yaml"
        path.write_text(MANIFEST.replace("LANES", str(lanes)))
        return kept_by_lanes(load(path), {"copies": partitions, "counts": 1})

    return of


def test_only_the_sinks_that_say_so_are_kept_apart(kept: Kept) -> None:
    assert kept(4, 8) == {"copies"}
    assert kept(1, 3) == frozenset(), "without lanes a row goes where its key says"


def test_a_topic_whose_partitions_cannot_be_shared_out_is_refused(kept: Kept) -> None:
    with pytest.raises(TopicMismatchError, match="copies has 6 partitions, which is no multiple of spec"):
        kept(4, 6)
