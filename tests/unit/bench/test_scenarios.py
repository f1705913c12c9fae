"""Scenarios of the evaluation: what they may say, and why some things are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.evaluation.configurations import KNOWN, TANDEM, Combination, configuration_of, reasons_against
from bench.evaluation.loading import FOLDER, ScenarioError, load_scale, load_scenario, load_scenarios
from bench.evaluation.models import Scale, ScaleName
from bench.evaluation.plan import planned
from bench.literature import OF_THE_LITERATURE
from bench.plan import Run
from bench.systems import Place, manifest_of
from ruamel.yaml import YAML

from tandem.manifest import load

SCALES: tuple[ScaleName, ...] = ("smoke", "laptop", "paper")
CASE: dict[str, Any] = {"workloads": ["identity"], "configurations": ["leader"], "rates": [1000], "scales": ["smoke"]}


def written(tmp_path: Path, **changes: Any) -> Path:
    """A scenario with one case."""
    case = {key: value for key, value in {**CASE, **changes}.items() if value is not None}
    path = tmp_path / "one.yaml"
    with path.open("w") as file:
        YAML().dump({"name": "one", "about": "What?", "cases": [case]}, file)
    return path


def refused(tmp_path: Path, **changes: Any) -> str:
    with pytest.raises(ScenarioError) as error:
        load_scenario(written(tmp_path, **changes))
    return str(error.value)


def test_a_case_is_all_combinations_of_its_lists(tmp_path: Path) -> None:
    scenario = load_scenario(
        written(tmp_path, workloads=["identity", "count"], engines=["microBatch", "realTime"], lanes=[1, 2])
    )
    found = list(scenario.cases[0].combinations())
    assert len(found) == 8
    assert found[0] == Combination("identity", "leader", "microBatch", 1, "none")
    assert found[-1] == Combination("count", "leader", "realTime", 2, "none")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"configurations": ["spark-tuned"], "engines": ["realTime"]}, "spark-tuned is not Tandem and has no engines"),
        ({"configurations": ["flink-tuned"], "lanes": [2]}, "flink-tuned is not Tandem and has no lanes"),
        ({"configurations": ["spark-tuned"], "workloads": ["timed"]}, "only Tandem has causal services"),
        ({"configurations": ["flink-tuned"], "workloads": ["q3"]}, "has no SQL of it, but of identity, filter, count"),
        ({"configurations": ["spark-real-time"], "workloads": ["q8"]}, "real-time mode does not join streams"),
        ({"engines": ["realTime"], "workloads": ["q3"]}, "engine realTime cannot run q3"),
        ({"lanes": [2], "workloads": ["fixwindow"]}, "a lane cannot compute alone what is not grouped"),
        ({"lanes": [3]}, "the topics of the bench have 2 partitions"),
        ({"faults": ["kill-jobmanager"]}, "without high availability Flink's job is lost with its JobManager"),
        ({"faults": ["partition"]}, "fault partition cannot be run: the bench runs on one machine"),
        ({"configurations": ["flink-tuned"], "faults": ["chaos"]}, "flink-tuned is one process"),
        ({"configurations": ["flink-tuned"], "faults": ["kill-in-turn"]}, "flink-tuned is one process"),
        ({"configurations": ["passive"], "faults": ["kill"], "lanes": [2]}, "the lane that dies would take all of it"),
        ({"faults": ["slow-disk"]}, "fault slow-disk cannot be run: the processes of all systems share one disk"),
        ({"faults": ["flood"]}, "fault flood cannot be run: known are none, slow, kill"),
        ({"configurations": ["storm"]}, "there is no configuration storm: known are no-replication, passive, leader"),
        ({"workloads": ["sort"]}, "there is no workload sort: known are identity"),
        ({"checkpointMs": 20}, "checkpointMs is Flink's"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_reason(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    assert (text := refused(tmp_path, **changes)).startswith("one.yaml: cases[0]: ")
    assert reason in text


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"rates": None}, "cases[0].rates: Field required"),
        ({"rates": ["fast"]}, "cases[0].rates[0]: Input should be a valid integer"),
        ({"rates": [0]}, "cases[0].rates[0]: Input should be greater than 0"),
        ({"scales": ["huge"]}, "cases[0].scales[0]: Input should be 'smoke', 'laptop' or 'paper'"),
        ({"speed": 3}, "cases[0].speed: Extra inputs are not permitted"),
        ({"workloads": []}, "cases[0].workloads: Tuple should have at least 1 item"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(tmp_path: Path, changes: dict[str, Any], place: str) -> None:
    assert place in refused(tmp_path, **changes)


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("name: [")
    with pytest.raises(ScenarioError, match=r"one\.yaml: "):
        load_scenarios(tmp_path)


def test_two_files_cannot_have_the_same_scenario(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(written(tmp_path).read_text())
    with pytest.raises(ScenarioError, match="several files have the scenario one"):
        load_scenarios(tmp_path)


def test_a_scenario_that_is_not_there_is_refused() -> None:
    with pytest.raises(ScenarioError, match="there is no scenario nothing: known are"):
        load_scenarios(only=["nothing"])


def test_our_own_scenarios_and_scales_can_be_loaded() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {scenario.name for scenario in load_scenarios()}
    assert [load_scale(name).rounds for name in ("smoke", "laptop", "paper")] == [1, 1, 5]  # type: ignore[arg-type]


def test_our_own_scenarios_have_every_configuration() -> None:
    named = {name for scenario in load_scenarios() for case in scenario.cases for name in case.configurations}
    assert named == set(KNOWN) - {"flink-default-at-least-once"}


def test_the_literature_is_in_its_own_scenario_and_costs_the_laptop_twelve_runs() -> None:
    (scenario,) = load_scenarios(only=["literature"])
    of = {scale: planned([scenario], scale, load_scale(scale)) for scale in SCALES}
    assert (len(of["smoke"]), len(of["laptop"])) == (0, 12)
    assert {spec.rate for spec in of["laptop"]} == {1_000}
    assert {spec.workload for spec in of["paper"]} == set(OF_THE_LITERATURE)
    assert {spec.fault for spec in of["paper"]} == {"none", "kill"}
    systems = {"leader", "spark-tuned", "spark-real-time", "flink-tuned"}
    for workload in OF_THE_LITERATURE:
        lacking = {
            "sequences": systems - {"leader"},
            "suite-c": {"flink-tuned"},
            "mib3": {"spark-real-time"},
        }.get(workload, set())
        for fault in ("none", "kill"):
            runs = {one.configuration for one in of["paper"] if (one.workload, one.fault) == (workload, fault)}
            is_left_out = fault == "kill" and workload in {"mib1", "mib1-length-2", "mib1-length-4"}
            not_killed = {"spark-real-time"} if fault == "kill" else set()
            assert runs == (set() if is_left_out else systems - lacking - not_killed)


def test_the_trial_has_each_workload_of_the_literature_in_each_system_that_runs_it() -> None:
    (trial,) = load_scenarios(FOLDER.parent / "trial")
    runs = {(one.workload, one.configuration, one.engine) for one in planned([trial], "smoke", load_scale("smoke"))}
    systems: list[tuple[str, Any]] = [("leader", "microBatch"), ("leader", "realTime")]
    systems += [(name, None) for name in ("spark-tuned", "spark-real-time", "flink-tuned")]
    names = set(OF_THE_LITERATURE) - {"mib1-length-2", "mib1-length-4"}
    wanted = [Combination(name, *system, 1, "none") for name in names for system in systems]
    assert runs == {(w.workload, w.configuration, w.engine) for w in wanted if not list(reasons_against(w))}


def test_a_scale_is_strict() -> None:
    with pytest.raises(ValueError, match="warm_up"):
        Scale.model_validate({"warm_up": 1, "warmUp": 1})


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("engine", ["microBatch", "realTime"])
@pytest.mark.parametrize("name", sorted(set(TANDEM) - {"no-ordering"}))
def test_tandem_takes_the_manifest_of_every_combination(name: str, engine: Any, lanes: int, tmp_path: Path) -> None:
    what = Combination("count", name, engine, lanes, "none")
    place = Place("run-1", "localhost:9092", "localhost:2181", "in", "out", tmp_path, tmp_path / "memory")

    manifest = load(manifest_of(Run(configuration_of(what), "count", 0), place, 0))

    assert not list(reasons_against(what))
    assert (len(manifest.lanes), manifest.spec.engine) == (lanes, engine)
    assert (manifest.spec.snapshots is not None) == (name == "passive" or "standby" in name)
    assert manifest.spec.delivery == ("atLeastOnce" if name == "at-least-once" else "exactlyOnce")
