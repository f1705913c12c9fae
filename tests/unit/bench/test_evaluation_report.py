"""The folder of an evaluation, and the report that is made from it alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bench.evaluation.folder import Folder, FolderError
from bench.evaluation.loading import load_scale, load_scenarios
from bench.evaluation.plan import RunSpec, planned, to_do
from bench.evaluation.record import Delivery, KillSeen, Plan, RunRecord, Usage, Wire
from bench.evaluation.report import write_report
from bench.evaluation.results import result_of
from bench.evaluation.watching import Watch, WireMark, cores_between, log_bytes
from bench.records import ARRIVAL, Arrivals

S = 1_000_000_000
START_NS = 1_700_000_000 * S
SPECS = planned(load_scenarios(only=["smoke"]), "smoke", load_scale("smoke"))
STEADY = SPECS[0]
KILLED = next(spec for spec in SPECS if spec.kills)


def arrivals(seconds: float, gap: tuple[float, float] = (0, 0), latency_ms: float = 20.0) -> Arrivals:
    """A hundred records/s; none arrives in `gap`, s from the start."""
    arrived_s = np.arange(0, seconds, 0.01)
    arrived_s = arrived_s[(arrived_s < gap[0]) | (arrived_s >= gap[1])]
    made = np.zeros(len(arrived_s), ARRIVAL)
    made["number"] = np.arange(len(made))
    made["arrived_ns"] = START_NS + (arrived_s * S).astype(np.int64)
    made["created_ns"] = made["arrived_ns"] - int(latency_ms * 1e6)
    return made


def record(spec: RunSpec, seconds: float, kills: Sequence[KillSeen] = ()) -> RunRecord:
    return RunRecord(
        spec=spec,
        command="python -m bench.evaluation --scale smoke",
        started="2026-11-27T12:00:00+00:00",
        took_s=60.0,
        start_ns=START_NS,
        end_ns=START_NS + int(seconds * S),
        kills=tuple(kills),
        trouble="",
        delivery=Delivery(sent=1_000, lost=0, duplicated=7, reordered=0),
        usage=Usage(at_s=(1, 2), cores=(0.5, 1.5), around=(0.2, 0.2), foreign=(0.0, 0.1), memory=(400, 600)),
        wire=Wire(input=100, output=200, other=50, loopback=3_000_000),
        machine={"cores": 2, "processor": "a processor"},
        versions={"pyspark": "4.3.0", "commit": "abcdef"},
    )


def kill_at(at_s: float, until_s: float) -> KillSeen:
    return KillSeen(
        at_ns=START_NS + int(at_s * S), victim="replica-0", until_ns=START_NS + int(until_s * S), at_head_s=9.5
    )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """With the plan of the smoke scale."""
    made = Folder(tmp_path)
    made.begin(Plan(command="make evaluation", scale="smoke", about={"smoke": "Does it work?"}, runs=tuple(SPECS)))
    return made


def test_latencies_come_back_as_they_were(folder: Folder) -> None:
    folder.keep(record(STEADY, 10), arrivals(10))
    assert (folder.arrivals(STEADY) == arrivals(10)).all()


def test_a_run_that_was_kept_is_done_and_the_others_are_to_do(folder: Folder) -> None:
    folder.keep(record(STEADY, 10), arrivals(10))
    assert to_do(SPECS, folder.done()) == [spec for spec in SPECS if spec != STEADY]


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_run_of_which_a_file_is_missing_is_not_done(folder: Folder, ending: str) -> None:
    folder.keep(record(STEADY, 10), arrivals(10))
    (folder.path / "runs" / f"{STEADY.id}.{ending}").unlink()
    assert folder.done() == {}


def test_half_a_record_is_no_run(folder: Folder) -> None:
    folder.keep(record(STEADY, 10), arrivals(10))
    path = folder.path / "runs" / f"{STEADY.id}.json"
    path.write_text(path.read_text()[:100])
    assert folder.done() == {}


def test_a_run_that_fails_is_to_do_until_it_is_kept(folder: Folder) -> None:
    folder.keep_failure(STEADY, "RuntimeError: no output")
    assert folder.failures() == {STEADY.id: "RuntimeError: no output"}
    assert STEADY in to_do(SPECS, folder.done())
    folder.keep(record(STEADY, 10), arrivals(10))
    assert folder.failures() == {}


def test_logs_of_a_run_that_fails_are_kept_until_it_succeeds(folder: Folder, tmp_path: Path) -> None:
    logs = tmp_path / "place"
    (logs / "run-0").mkdir(parents=True)
    (logs / "run-0" / "replica-0.log").write_text("why")
    with pytest.raises(RuntimeError, match="no output"), folder.logs_kept(STEADY, logs):
        raise RuntimeError("no output")
    kept = folder.path / "failed" / STEADY.id
    assert (kept / "run-0" / "replica-0.log").read_text() == "why"
    folder.keep(record(STEADY, 10), arrivals(10))
    assert not kept.exists()


def test_a_plan_of_some_scenarios_keeps_the_others(folder: Folder) -> None:
    folder.begin(Plan(command="", scale="smoke", about={"more": "What?"}, runs=(STEADY,)), partly=True)
    assert folder.plan().about == {"smoke": "Does it work?", "more": "What?"}
    assert {spec.id for spec in folder.plan().runs} == {spec.id for spec in SPECS}


def test_a_folder_has_one_scale(folder: Folder) -> None:
    with pytest.raises(FolderError, match="has runs of scale smoke: choose another folder for paper"):
        folder.begin(Plan(command="", scale="paper", about={}, runs=()))


def test_a_folder_without_a_plan_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="has no plan"):
        write_report(Folder(tmp_path))


def test_the_outage_of_a_kill_is_the_gap_in_its_output() -> None:
    kill = kill_at(20, 26)
    result = result_of(record(KILLED, 26, [kill]), arrivals(26, gap=(20.0, 21.5)))
    (found,) = result.kills
    assert found.outage == pytest.approx(1_510, abs=15)
    assert found.before == pytest.approx(10, abs=2)
    assert found.catch_up_s == pytest.approx(1.5, abs=0.6)
    assert result.series.kills_at_s == (20.0,)
    assert not [at_s for at_s in result.series.at_s if 20.25 < at_s < 21.25]


def test_an_outage_that_outlasts_the_time_of_its_kill_is_measured_to_its_end() -> None:
    result = result_of(record(KILLED, 40, [kill_at(20, 36)]), arrivals(40, gap=(20.0, 35.0)))
    assert result.kills[0].outage == pytest.approx(15_010, abs=15)


def test_an_outage_that_does_not_end_lasts_until_it_was_not_followed_any_more() -> None:
    result = result_of(record(KILLED, 40, [kill_at(20, 38)]), arrivals(20))
    assert result.kills[0].outage == pytest.approx(18_010, abs=15)


def test_the_outage_of_a_lane_is_not_hidden_by_another() -> None:
    specs = planned(load_scenarios(only=["lanes"]), "laptop", load_scale("laptop"))
    (spec,) = (one for one in specs if one.kills and one.engine == "realTime")
    rows = np.concatenate([arrivals(40, gap=(20.0, 21.5)), arrivals(40)])
    rows["key"][len(rows) - 4_000 :] = 1
    kill = kill_at(20, 36).model_copy(update={"victim": "lane-0/replica-1"})

    (found,) = result_of(record(spec, 26, [kill]), rows[np.argsort(rows["arrived_ns"], kind="stable")]).kills

    assert found.outage == pytest.approx(1_510, abs=15)
    assert found.others == pytest.approx(10, abs=2)


def test_a_gap_while_the_killed_one_starts_again_is_shown_beside_the_outage() -> None:
    (found,) = result_of(record(KILLED, 50, [kill_at(20, 45)]), arrivals(50, gap=(38.0, 38.5))).kills
    assert (found.outage, found.until_back) == (pytest.approx(10, abs=2), pytest.approx(510, abs=15))


def test_of_replicas_that_agree_on_nothing_the_first_copy_of_a_row_counts() -> None:
    spec = STEADY.model_copy(update={"configuration": "no-ordering"})
    late = arrivals(10)
    late["arrived_ns"] += S
    result = result_of(record(spec, 11), np.concatenate([arrivals(10), late]))
    assert result.latency is not None
    assert (result.latency.records, result.latency.max) == (1_000, 20.0)


def test_latency_is_that_of_the_window() -> None:
    all_of_it = np.concatenate([arrivals(10), arrivals(20, gap=(0, 10), latency_ms=900)])
    result = result_of(record(STEADY, 10), all_of_it)
    assert result.latency is not None
    assert (result.latency.records, result.latency.p50, result.latency.max) == (1_000, 20.0, 20.0)
    assert (result.cores, result.memory, result.other_share) == (1.0, 500.0, 0.25)


def test_a_run_without_output_has_no_latency() -> None:
    result = result_of(record(STEADY, 10), arrivals(0))
    assert result.latency is None
    assert result.longest_gap == 10_000


def test_the_report_has_tables_plots_machine_versions_and_commands(folder: Folder) -> None:
    for spec in SPECS:
        kills = [kill_at(20, 26)] if spec.kills else []
        folder.keep(record(spec, 26, kills), arrivals(26, gap=(20.0, 21.5) if kills else (0, 0)))

    text = write_report(folder).read_text()

    assert "All 3 runs are done." in text
    assert "python -m bench.evaluation --scale smoke" in text
    assert "processor a processor" in text
    assert "commit abcdef" in text
    assert "| spark-tuned | 1 | 20 | 20 | 20 | 20 | 20 | 20 | 10 | 100 | 0 | 7 | 0 | 0.05 |" in text
    assert "| leader | 1 | 1510 | 1510 | 10 |" in text
    pictures = {path.name for path in folder.path.glob("*.png")}
    assert pictures == {
        *("latency.png", "outages.png", "usage.png"),
        *("compared-identity-1000-kill.png", "series-identity-1000-kill-leader.png"),
    }
    assert all(f"({name})" in text for name in pictures)


def test_the_report_has_targets_and_the_growth_of_memory_over_a_long_window(folder: Folder) -> None:
    long = record(STEADY, 600)
    usage = Usage(at_s=(0, 300, 600), cores=(1, 1, 1), memory=(500, 510, 520), parts={"replica-0": (500, 510, 520)})
    folder.keep(long.model_copy(update={"usage": usage}), arrivals(10))

    text = write_report(folder).read_text()

    assert "| lost, duplicated or reordered by Tandem, exactly once, in 1 runs | 0 | 7.00 | NO |" in text
    assert f"| {STEADY.id} | replica-0 | 500 | 520 | +120.0 |" in text


def test_the_report_says_what_was_not_drained_and_which_runs_have_fewer_faults(folder: Folder) -> None:
    late = Delivery(sent=1_000, lost=5, duplicated=0, reordered=0, drained=False)
    folder.keep(record(STEADY, 10).model_copy(update={"delivery": late}), arrivals(10))
    folder.keep(record(KILLED, 26).model_copy(update={"trouble": "RuntimeError: no"}), arrivals(26))

    text = write_report(folder).read_text()

    assert "| 5 (not drained) | 0 | 0 |" in text
    assert f"fewer faults than planned: 1 runs\n\n- `{KILLED.id}`: RuntimeError: no" in text


def test_the_report_says_which_runs_are_missing_and_why(folder: Folder) -> None:
    folder.keep(record(STEADY, 10), arrivals(10))
    folder.keep_failure(KILLED, "RuntimeError: no output after 240 s\nand more")

    text = write_report(folder).read_text()

    assert "## Missing: 2 of 3 runs" in text
    assert f"- `{KILLED.id}`: RuntimeError: no output after 240 s\n" in text
    assert "- `identity.spark-tuned.1000.none.1`: not run yet" in text


def test_a_run_under_other_settings_is_missing_in_the_report(folder: Folder) -> None:
    folder.keep(record(STEADY.model_copy(update={"window_s": 1.0}), 10), arrivals(10))
    assert "## Missing: 3 of 3 runs" in write_report(folder).read_text()


def test_what_is_kept_names_no_machine(folder: Folder) -> None:
    folder.keep(record(STEADY, 10), arrivals(10))
    kept = json.loads((folder.path / "runs" / f"{STEADY.id}.json").read_text())
    assert set(kept["machine"]) == {"cores", "processor"}


def test_a_process_that_is_new_counts_whole_and_one_that_ended_not() -> None:
    assert cores_between({1: 10.0, 2: 5.0}, {1: 11.0, 3: 0.5}, 1.0) == 1.5


def test_memory_is_noted_by_part_and_one_that_comes_later_had_none() -> None:
    watch = Watch(dict, list)
    watch._note_memory({"replica-0": 100.0})
    watch._note_memory({"replica-0": 110.0, "replica-1": 50.0})
    watch._note_memory({"replica-1": 60.0})
    usage = watch.usage()
    assert usage.memory == (100.0, 160.0, 60.0)
    assert usage.parts == {"replica-0": (100.0, 110.0, 0.0), "replica-1": (0.0, 50.0, 60.0)}


def test_bytes_are_counted_by_topic(tmp_path: Path) -> None:
    for folder, size in {"run-1-in-0": 10, "run-1-in-1": 20, "run-1-out-0": 40, "run-1.ordering-0": 5}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "00000000000000000000.log").write_bytes(b"x" * size)
        (tmp_path / folder / "00000000000000000000.index").write_bytes(b"x" * 1_000)
    logs = log_bytes(tmp_path)
    assert logs == {"run-1-in": 30, "run-1-out": 40, "run-1.ordering": 5}
    wire = WireMark({"run-1-in": 10, "run-1.ordering": 9}, 100).until(WireMark(logs, 150), ["run-1-in"], "run-1-out")
    assert wire == Wire(input=20, output=40, other=0, loopback=50)
