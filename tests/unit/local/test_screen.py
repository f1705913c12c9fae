"""The screen says who publishes, who leads, and what is wrong."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from tandem.local.page import job_page
from tandem.local.reported import orderer_status, replica_status
from tandem.local.rundir import ProcessState
from tandem.local.scrape import Histogram, Sample
from tandem.local.screen import processes_table, progress_line
from tandem.local.status import HeldBack, JobStatus, ReplicaStatus
from tandem.status.report import OrdererReport, ReplicaReport
from unit.local.job_samples import BEHIND, LEADER, PUBLISHING, STATUS


def screen(status: JobStatus) -> dict[str, str]:
    """The lines of the page by their first word, those of what somebody should see to with a `!` before it."""
    return {line.replace("! ", "!", 1).split()[0]: line.removeprefix("! ") for line in lines(status)}


def lines(status: JobStatus, width: int = 160) -> list[str]:
    out = Console(file=io.StringIO(), width=width, color_system=None)
    out.print(job_page(status))
    assert isinstance(out.file, io.StringIO)
    return [" ".join(line.split()) for line in out.file.getvalue().splitlines() if line.strip()]


def test_a_row_says_what_a_process_does() -> None:
    rows = screen(STATUS)

    assert rows["replica-0"] == "replica-0 running publishes 75% 1,204 0 ep 4,999 81 140 0 0"
    assert rows["orderer-0"].startswith("orderer-0 running leads 1,204")
    assert rows["Published"] == "Published up to epoch 1,203, last by replica-0"


def test_a_job_without_redundancy_says_so_first() -> None:
    gone = replace(BEHIND, state="given up", alive=False, reason="computed another digest")
    status = replace(STATUS, replicas=(PUBLISHING, gone))

    assert lines(status)[2] == "! WITHOUT REDUNDANCY: 1 of 2 replicas left, replica-1 is given up"
    assert "; WITHOUT REDUNDANCY: 1 of 2 replicas left, replica-1 is given up; replica-0 " in progress_line(status)
    assert not STATUS.warnings


def test_a_start_that_does_not_get_on_says_what_it_waits_for() -> None:
    starting = replace(BEHIND, waits=("the JVM, for 1 min",))

    assert "replica-1 waits for the JVM, for 1 min" in progress_line(replace(STATUS, replicas=(PUBLISHING, starting)))


def test_a_replica_that_is_behind_says_how_far() -> None:
    assert screen(STATUS)["replica-1"].startswith("replica-1 running catches up 1,100 104 ep")


def test_a_replica_that_comes_nearer_says_how_long_it_will_take() -> None:
    for seconds, words in ((11.2, "12s"), (150.0, "3m"), (6_000.0, "2h")):
        nearing = replace(BEHIND, catch_up_s=seconds)

        assert f"catches up {words} 1,100 104 ep" in screen(replace(STATUS, replicas=(nearing,)))["replica-1"]
        assert f"catches up {words}, 104 behind" in progress_line(replace(STATUS, replicas=(nearing,)))


def test_a_standby_says_so() -> None:
    standby = replace(PUBLISHING, share=0.0, active=False, ready=False, epoch=-1, standby=True)

    assert screen(replace(STATUS, replicas=(standby,)))["replica-0"].startswith("replica-0 running stands by")


def test_a_replica_that_is_ready_never_seems_to_start_however_little_there_is_to_compute() -> None:
    """A fresh job without input, a job's very first epoch, and state that was restored at the log's end."""
    for epoch, shown in ((-1, "–"), (0, "0"), (1204, "1,204")):
        idle = replace(PUBLISHING, share=0.0, epoch=epoch, rows_per_s=0.0, p50_ms=None, p99_ms=None, take_overs=0)

        assert (
            screen(replace(STATUS, replicas=(idle,)))["replica-0"]
            == f"replica-0 running follows {shown} 0 ep 0 – – 0 0"
        )
        assert "replica-0 follows" in progress_line(replace(STATUS, replicas=(idle,)))


def test_a_replica_that_starts_again_does_not_publish_because_its_predecessor_did() -> None:
    starting = Sample(report=ReplicaReport("replica-0", "flights.replica-0.ab", "starting"))
    state = ProcessState("replica-0", "replica", "running", 11)
    status = replica_status(state, "flights.replica-0.ab", starting, port=9400)

    assert screen(replace(STATUS, replicas=(status,)))["replica-0"].startswith("replica-0 running starts – –")


def test_a_process_that_does_not_answer_is_not_said_to_start() -> None:
    state = ProcessState("replica-0", "replica", "running", 11)

    silent = replica_status(state, "flights.replica-0.ab", None, port=9400)
    assert screen(replace(STATUS, replicas=(silent,)))["replica-0"].startswith("replica-0 running no answer")
    unasked = replica_status(state, "flights.replica-0.ab", None, port=0)
    assert screen(replace(STATUS, replicas=(unasked,)))["replica-0"].startswith("replica-0 running no metrics")
    just_begun = replica_status(state)
    assert screen(replace(STATUS, replicas=(just_begun,)))["replica-0"].startswith("replica-0 running starts")


def test_a_replica_that_ended_since_it_diverged_says_so_and_how() -> None:
    state = ProcessState("replica-1", "replica", "given up", reason="epoch 7: other rows\n…", end="diverged")
    rows = screen(replace(STATUS, replicas=(PUBLISHING, replica_status(state))))

    assert rows["!replica-1"] == "replica-1 given up: epoch 7: other rows"
    table = processes_table(replace(STATUS, replicas=(PUBLISHING, replica_status(state))))
    assert [str(cell) for cell in table.columns[2].cells][:2] == ["publishes 75%", "diverged"]


def test_an_orderer_that_leaves_looking_to_the_leader_shows_no_lag_of_its_own() -> None:
    before_the_first_epoch = Sample(report=OrdererReport("orderer-1"))
    state = ProcessState("orderer-1", "orderer", "running", 22)
    status = orderer_status(state, before_the_first_epoch)

    assert screen(replace(STATUS, orderers=(status,)))["orderer-1"] == "orderer-1 running – – 0"


def test_a_process_that_is_down_has_neither_role_nor_numbers() -> None:
    down = ReplicaStatus("replica-1", "restarting", 0, False, 3, "")

    assert screen(replace(STATUS, replicas=(PUBLISHING, down)))["replica-1"] == "replica-1 restarting – – – – – – 3"


def test_a_paused_process_keeps_no_role() -> None:
    paused = replace(PUBLISHING, state="paused")

    assert "publishes" not in screen(replace(STATUS, replicas=(paused, BEHIND)))["replica-0"]


def test_trouble_is_something_to_see_to() -> None:
    rows = screen(replace(STATUS, trouble="Kafka: broker transport failure"))

    assert rows["!Kafka:"] == "Kafka: broker transport failure"


def test_an_input_that_an_open_transaction_holds_back_is_named() -> None:
    held = HeldBack("events", 0, 1, 130.4)
    other = replace(LEADER, name="orderer-1", leading=False, held_back=(replace(held, seconds=12.0),))
    status = replace(STATUS, orderers=(replace(LEADER, held_back=(held,)), other))

    said = "events/0 waits: a transaction has been open at offset 1 for 130 s"
    assert screen(status)["!events/0"] == said
    assert said in progress_line(status)


def test_the_table_fits_a_terminal_of_eighty_columns() -> None:
    narrow = lines(replace(STATUS, replicas=(PUBLISHING, replace(BEHIND, catch_up_s=59.0))), width=80)

    assert "…" not in "".join(narrow)


def test_a_line_tells_the_same_in_brief() -> None:
    line = progress_line(STATUS)

    assert "flights: epoch 1203; replica-0 publishes 75% 4,999 rows/s, p50 81 ms, p99 140 ms; " in line
    assert line.endswith("replica-1 catches up, 104 behind; orderer-0 leads")


def test_a_line_before_the_first_epoch_says_so() -> None:
    starting = replace(PUBLISHING, share=0.0, active=False, ready=False, epoch=-1)
    line = progress_line(JobStatus("flights", 1_700_000_000.0, (starting,), ()))

    assert line.endswith("flights: nothing published yet; replica-0 starts")


def test_a_line_while_kafka_does_not_answer_says_what_the_replicas_know() -> None:
    away = JobStatus("flights", 1_700_000_000.0, (replace(PUBLISHING, published_epoch=7),), (), trouble="Kafka: down")
    unknown = replace(away, replicas=(replace(PUBLISHING, published_epoch=-1),))

    assert "flights: epoch 7; replica-0" in progress_line(away)
    assert "flights: newest epoch not known; replica-0" in progress_line(unknown)


def test_rates_and_quantiles_are_those_since_the_earlier_sample() -> None:
    state = ProcessState("replica-0", "replica", "running", 11)
    earlier = Sample({"tandem_rows_published_total": 1_000.0}, Histogram(((0.1, 0.0), (10.0, 50.0))))
    now = Sample({"tandem_rows_published_total": 6_000.0}, Histogram(((0.1, 20.0), (10.0, 70.0))))

    status = replica_status(state, "flights.replica-0.ab", now, earlier, elapsed_s=2.0)

    assert status.rows_per_s == 2_500.0
    assert status.p50_ms == 50.0


def test_what_kafka_does_not_take_is_shown_once_with_those_whom_it_concerns() -> None:
    words = "Kafka does not take the output: topic out does not exist any more"
    troubled = replace(STATUS, replicas=(replace(PUBLISHING, trouble=words), replace(BEHIND, trouble=words)))

    assert f"replica-0, replica-1: {words}" in " ".join(screen(troubled).values())
    assert progress_line(troubled).endswith(f"; replica-0, replica-1: {words}")
    assert words not in progress_line(STATUS)


def test_the_engine_and_why_it_was_chosen_are_said_once() -> None:
    words = "microBatch: the job has a Python UDF (normalize)"
    status = replace(STATUS, replicas=(replace(PUBLISHING, engine=words), replace(BEHIND, engine=words)))

    assert screen(status)["Engine"] == f"Engine {words}"
    assert "Engine" not in screen(STATUS)


def test_a_replica_says_which_engine_it_runs() -> None:
    state = ProcessState("replica-0", "replica", "running", 11)
    report = ReplicaReport("replica-0", "orders.replica-0.aa", "active", engine="realTime")

    assert replica_status(state, sample=Sample(report=report)).engine == "realTime"
    assert replica_status(state, sample=Sample()).engine == ""


def test_a_source_that_is_partitioned_otherwise_is_something_to_see_to() -> None:
    words = "source orders is not partitioned by the record's key: 'ann' is in orders/0 (lane 0) and orders/1 (lane 1)"
    status = replace(STATUS, replicas=(replace(PUBLISHING, scattered=words), replace(BEHIND, scattered=words)))

    assert screen(status)["!source"] == words
    assert progress_line(status).endswith(f"; {words}")
