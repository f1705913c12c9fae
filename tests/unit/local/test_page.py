"""The screen of a job: is it safe, what is wrong, how far is it? In eighty columns, and with letters of ASCII if need be."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tandem.core.failovers import Failover
from tandem.local.page import job_page, verdict
from tandem.local.reported import last_failover
from tandem.local.scrape import Sample
from tandem.local.status import FailoverStatus, JobStatus, OrdererStatus, ReplicaStatus
from tandem.local.trend import BAR_S, Trend
from tandem.status.page import show
from tandem.status.report import ReplicaReport
from unit.local.job_samples import LEADER, NOW_S, PUBLISHING

FIRST = replace(PUBLISHING, take_overs=1, engine="microBatch: the job has a Python UDF (normalize)")
SECOND = replace(FIRST, name="replica-1", share=0.25, restarts=2, take_overs=0)
LEADS = replace(LEADER, input_lag_records=12)
FOLLOWS = replace(LEADS, name="orderer-1", leading=False, input_lag_records=None)
STATUS = JobStatus(
    "flights",
    NOW_S,
    (FIRST, SECOND),
    (LEADS, FOLLOWS),
    "replica-0",
    1203,
    mode="leader",
    delivery="exactlyOnce",
    failover=FailoverStatus(1100, "replica-1", "replica-0", 86, NOW_S - 12),
)


def shown(
    status: JobStatus, trend: Trend | None = None, width: int = 80, encoding: str = "utf-8", terminal: bool = True
) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    out = Console(file=stream, width=width, color_system=None, force_terminal=terminal, no_color=True)
    show(out, job_page(status, trend))
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return "\n".join(line.rstrip() for line in stream.buffer.getvalue().decode(encoding).splitlines())


def seen() -> Trend:
    made = Trend()
    for number, p99 in enumerate((100.0, 100.0, 1000.0, 140.2)):
        slow = replace(FIRST, p99_ms=p99)
        made.add(replace(STATUS, at=NOW_S + number * BAR_S, replicas=(slow,)))
    return made


WHOLE = """\
flights  microBatch · leader · exactlyOnce
Safe: a failure of any one replica is masked

                                                                  Taken
Process   State   Role          Epoch Behind Rows/s p50 ms p99 ms  over Restarts
────────────────────────────────────────────────────────────────────────────────
replica-0 running publishes 75% 1,204   0 ep  4,999     81    140     1        0
replica-1 running publishes 25% 1,204   0 ep  4,999     81    140     0        2

orderer-0 running leads         1,204 12 rec                                   0
orderer-1 running               1,204      –                                   0

Published  up to epoch 1,203, last by replica-0
Lag        12 records are in no epoch yet; all that compute are at the head
Failover   12 s ago: replica-1 → replica-0, a gap of 86 ms, at epoch 1,100
Engine     microBatch: the job has a Python UDF (normalize)
Latency    p50     81 ms                           ▇▇▇▇ 0 to 100 ms
           p99    140 ms                           ▁▁█▂ 0 to 1,000 ms
           of the rows published in the last 2 min, the worst of every 4 s"""


def test_a_whole_job_on_eighty_columns() -> None:
    assert shown(STATUS, seen()) == WHOLE


def test_a_terminal_without_utf_8_gets_letters_that_it_has() -> None:
    text = shown(STATUS, seen(), encoding="ascii")

    assert "flights  microBatch | leader | exactlyOnce\n" in text
    assert "replica-1 > replica-0, a gap of 86 ms" in text
    assert " __#. 0 to 1,000 ms\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_without_colours_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def escapes(**more: object) -> bool:
        out = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard", **more)  # type: ignore[arg-type]
        show(out, job_page(STATUS))
        assert isinstance(out.file, io.StringIO)
        return "\x1b[1;32m" in out.file.getvalue()

    assert escapes()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not escapes()


def test_what_somebody_should_see_to_stands_above_the_table() -> None:
    gone = replace(SECOND, state="given up", alive=False, active=False, reason="computed another digest")
    lines = shown(replace(STATUS, replicas=(FIRST, gone))).splitlines()

    assert lines[1:4] == [
        "NOT SAFE: only replica-0 could publish",
        "! WITHOUT REDUNDANCY: 1 of 2 replicas left, replica-1 is given up",
        "! replica-1 given up: computed another digest",
    ]


def test_a_long_message_is_folded_on_a_terminal_and_one_line_in_a_pipe() -> None:
    troubled = replace(STATUS, trouble=" ".join(["Kafka: words"] * 20))

    assert max(map(len, shown(troubled).splitlines())) <= 80
    assert f"! {troubled.trouble}\n" in shown(troubled, terminal=False, width=160)


def test_before_the_first_epoch_there_is_nothing_to_tell() -> None:
    idle = replace(FIRST, share=0.0, epoch=-1, p50_ms=None, p99_ms=None, engine="")
    text = shown(replace(STATUS, replicas=(idle,), publisher=None, published_epoch=None, failover=None), Trend())

    assert "flights  leader · exactlyOnce\n" in text
    assert "Published  nothing yet" in text
    assert "Failover   none seen" in text
    assert "Latency" not in text


def test_the_one_that_is_farthest_behind_is_named() -> None:
    slow = replace(SECOND, ready=False, lag_epochs=104, lag_records=52_000)

    assert "replica-1 is 104 epochs behind (52,000 records)" in shown(replace(STATUS, replicas=(FIRST, slow)))


STANDBY = replace(SECOND, active=False, ready=False, standby=True, share=0.0)
STARTS = replace(SECOND, ready=False, active=False)


@pytest.mark.parametrize(
    ("replicas", "orderers", "words"),
    [
        ((FIRST, SECOND), (LEADS, FOLLOWS), "Safe: a failure"),
        ((FIRST, STANDBY), (LEADS, FOLLOWS), "Safe: a failure"),
        ((FIRST, replace(STANDBY, trouble="its code raises")), (LEADS, FOLLOWS), "only replica-0 could publish"),
        ((FIRST, STARTS), (LEADS, FOLLOWS), "NOT SAFE: only replica-0 could publish"),
        ((FIRST, replace(SECOND, answers=False)), (LEADS, FOLLOWS), "NOT SAFE: only replica-0 could publish"),
        ((FIRST, replace(SECOND, state="paused")), (LEADS, FOLLOWS), "NOT SAFE: only replica-0 could publish"),
        ((STARTS, STARTS), (LEADS, FOLLOWS), "NOT SAFE: no replica is at the head"),
        ((FIRST,), (LEADS,), "NOT SAFE: with one replica, a failure holds up the output until the restart"),
        ((FIRST, replace(SECOND, diverged=True)), (LEADS, FOLLOWS), "NOT SAFE: replicas computed different rows"),
        ((FIRST, SECOND), (FOLLOWS, FOLLOWS), "NOT SAFE: no orderer leads"),
        ((FIRST, SECOND), (LEADS, replace(FOLLOWS, state="restarting")), "NOT SAFE: only orderer-0 could order"),
    ],
)
def test_it_is_safe_only_if_any_one_could_be_lost(
    replicas: tuple[ReplicaStatus, ...], orderers: tuple[OrdererStatus, ...], words: str
) -> None:
    assert words in verdict(replace(STATUS, replicas=replicas, orderers=orderers)).words


def test_output_that_kafka_does_not_take_is_not_safe_and_no_answer_is_not_known() -> None:
    troubled = replace(FIRST, trouble="Kafka does not take the output")

    assert "NOT SAFE" in verdict(replace(STATUS, replicas=(troubled, SECOND))).words
    assert verdict(replace(STATUS, trouble="Kafka: down")).state == "unknown"


def test_the_last_failover_is_the_newest_that_any_replica_knows_of() -> None:
    def sample(epoch: int | None) -> Sample:
        seen = None if epoch is None else Failover(epoch, "flights.replica-1.ab", "flights.replica-0.cd", 86, 1_000_500)
        return Sample(report=ReplicaReport("replica-0", "flights.replica-0.cd", "active", failover=seen))

    newest = FailoverStatus(9, "replica-1", "replica-0", 86, 1000.5)
    assert last_failover([sample(7), sample(9), sample(None), Sample()]) == newest
    assert last_failover([sample(None)]) is None
