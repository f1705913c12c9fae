"""The folders of an incarnation: which are near, and which of its predecessors go."""

from __future__ import annotations

import json
from pathlib import Path

from tandem.engine.executors import CONF
from tandem.manifest import Manifest, parse
from tandem.manifest.models import default_checkpoint_directory
from tandem.replica.leftovers import remove_predecessors
from tandem.replica.spark_runtime import SparkRuntime

TREE = {
    "apiVersion": "tandem.dev/v1alpha1",
    "kind": "ReplicatedStreamJob",
    "metadata": {"name": "flights"},
    "spec": {
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": "kafka:9092"},
        "zookeeper": {"connect": "zookeeper:2181"},
        "sources": [{"name": "flights", "topics": ["flights"]}],
        "sinks": [{"name": "delays", "topic": "delays"}],
        "checkpoint": {"directory": "/far/away"},
    },
}
EXECUTORS = {CONF: json.dumps({"spark.master": "k8s://https://api:443", "spark.executor.instances": "1"})}


def near(environment: dict[str, str], folder: Path) -> Path:
    manifest = Manifest(parse(TREE), folder / "job.yaml", folder)
    return SparkRuntime(
        manifest, "replica-0", "flights.replica-0.aa", folder / "flights.replica-0.aa", environment
    ).near


def test_the_checkpoint_of_a_replica_with_executors_may_be_far_but_its_rows_are_not(tmp_path: Path) -> None:
    assert near({}, tmp_path) == tmp_path / "flights.replica-0.aa"
    assert near(EXECUTORS, tmp_path) == default_checkpoint_directory("flights") / "flights.replica-0.aa"


def test_only_earlier_incarnations_of_the_same_replica_are_removed(tmp_path: Path) -> None:
    for name in ("flights.replica-0.aa", "flights.replica-0.bb", "flights.replica-1.cc", "other.replica-0.dd"):
        (tmp_path / name).mkdir()
    (tmp_path / "flights.replica-0.txt").write_text("no folder")

    remove_predecessors(tmp_path / "flights.replica-0.bb")

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "flights.replica-0.bb",
        "flights.replica-0.txt",
        "flights.replica-1.cc",
        "other.replica-0.dd",
    ]
