"""Which processes a job has follows from its manifest alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tandem.local import LocalJob
from tandem.local.plan import planned_processes, port_problems
from tandem.manifest import Manifest, ManifestError, parse

HERE = Path("/jobs")


def manifest(mode: str, replicas: int = 2, **spec: Any) -> Manifest:
    if mode == "none":
        spec["delivery"] = "atLeastOnce"
    tree = {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": "flights"},
        "spec": {
            "job": {"file": "job.py"},
            "replicas": replicas,
            **({"zookeeper": {"connect": "localhost:2181"}} if mode == "leader" else {}),
            "kafka": {"bootstrapServers": "localhost:9092"},
            "sources": [{"name": "events", "topics": ["in"]}],
            "sinks": [{"name": "out", "topic": "out"}],
            "ordering": {"mode": mode, "generators": 3},
            **spec,
        },
    }
    return Manifest(parse(tree), HERE / "flights.yaml", HERE)


@pytest.mark.parametrize("mode", ["leader", "none"])
def test_an_orderer_stands_beside_each_replica(mode: str) -> None:
    planned = planned_processes(manifest(mode))

    assert [(process.name, process.beside) for process in planned] == [
        ("replica-0", ""),
        ("replica-1", ""),
        ("orderer-0", "replica-0"),
        ("orderer-1", "replica-1"),
    ]


def test_a_standby_is_one_more_replica_and_has_an_orderer_too() -> None:
    planned = planned_processes(manifest("leader", replicas=1, standbys=1))

    assert [process.name for process in planned] == ["replica-0", "replica-1", "orderer-0", "orderer-1"]


def test_heartbeat_generators_are_as_many_as_the_manifest_says_and_stand_beside_no_replica() -> None:
    planned = planned_processes(manifest("heartbeat", replicas=1))

    assert [process.name for process in planned] == ["replica-0", "generator-0", "generator-1", "generator-2"]
    assert not any(process.beside for process in planned)


def test_a_command_line_names_the_program_the_process_and_what_it_stands_beside() -> None:
    replica, orderer = planned_processes(manifest("leader", replicas=1))

    assert replica.argv(HERE / "m.yaml", HERE / "run", "DEBUG")[1:] == (
        *("-m", "tandem.replica", "/jobs/m.yaml", "--name", "replica-0"),
        *("--run-directory", "/jobs/run", "--log-level", "DEBUG", "--metrics-port", "0"),
    )
    assert orderer.argv(HERE / "m.yaml", HERE / "run", "INFO")[1:] == (
        *("-m", "tandem.orderer", "/jobs/m.yaml", "--name", "orderer-0"),
        *("--run-directory", "/jobs/run", "--log-level", "INFO", "--replica", "replica-0"),
    )


def test_replicas_do_not_fight_for_the_metrics_port_of_the_manifest() -> None:
    planned = planned_processes(manifest("heartbeat", replicas=3, metrics={"port": 9100}))

    assert [process.metrics_port for process in planned[:3]] == [9100, 9101, 9102]


def test_a_command_line_names_files_by_paths_that_hold_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (replica, *_) = planned_processes(manifest("heartbeat", replicas=1))

    argv = replica.argv(Path("m.yaml"), Path("run"), "INFO")

    assert argv[3] == str(tmp_path / "m.yaml")
    assert argv[argv.index("--run-directory") + 1] == str(tmp_path / "run")


@pytest.mark.parametrize(
    ("port", "spec", "most"),
    [
        (65_535, {}, 65_534),
        (65_534, {"standbys": 1, "replicas": 2, "zookeeper": {"connect": "zk:2181"}}, 65_533),
        (65_533, {"lanes": 2}, 65_532),
    ],
)
def test_replicas_whose_ports_would_be_beyond_the_last_one_are_refused_by_the_field(
    port: int, spec: dict[str, Any], most: int, tmp_path: Path
) -> None:
    (problem,) = port_problems(manifest("heartbeat", metrics={"port": port}, **spec))

    assert problem.path == "spec.metrics.port"
    assert "there is no port 65536" in problem.message
    assert problem.remedy == f"Set it to {most} or less, or to 0: any free ports"
    assert port_problems(manifest("heartbeat", metrics={"port": most}, **spec)) == ()
    assert port_problems(manifest("heartbeat", metrics={"port": port, "enabled": False}, **spec)) == ()
    last = manifest("heartbeat", metrics={"port": port}, **spec).lanes[-1]
    with pytest.raises(ManifestError, match=r"spec\.metrics\.port"):
        LocalJob(last, tmp_path)
