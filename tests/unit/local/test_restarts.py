"""A process that ended is restarted as long as that can help, and never in a storm."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from tandem.local.restarts import Decision, Ending, RestartPolicy, Then, decide
from tandem.process.ending import EndKind
from tandem.process.info import ExitCode

POLICY = RestartPolicy(first_delay_s=0.5, max_delay_s=10.0, healthy_s=60.0, most_in_a_row=8)


def endings(exit_code: int, ran_s: float, times: int) -> list[Decision]:
    """The decisions about a process that ends `times` times in the same way."""
    decisions = [Decision(Then.RESTART)]
    for _ in range(times):
        decisions.append(decide(POLICY, Ending(exit_code, ran_s, decisions[-1].in_a_row)))
    return decisions[1:]


@pytest.mark.parametrize("exit_code", [-signal.SIGKILL, -signal.SIGSEGV, ExitCode.FAILED, 134])
def test_the_first_restart_is_at_once(exit_code: int) -> None:
    assert decide(POLICY, Ending(exit_code, ran_s=5.0, in_a_row=0)) == Decision(Then.RESTART, 0.0, 1)


def test_further_restarts_wait_longer_and_longer_and_then_there_are_none() -> None:
    decisions = endings(ExitCode.FAILED, ran_s=1.0, times=9)

    assert [decision.delay_s for decision in decisions[:8]] == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert [decision.then for decision in decisions] == [Then.RESTART] * 8 + [Then.GIVE_UP]


def test_a_process_that_was_healthy_starts_anew_in_the_count() -> None:
    decisions = endings(-signal.SIGKILL, ran_s=60.0, times=50)

    assert set(decisions) == {Decision(Then.RESTART, 0.0, 1)}


@pytest.mark.parametrize("exit_code", [ExitCode.REFUSED, ExitCode.USAGE])
@pytest.mark.parametrize("job_ran", [False, True])
def test_a_refusal_stops_the_job(exit_code: ExitCode, job_ran: bool) -> None:
    ending = Ending(exit_code, ran_s=2.0, in_a_row=0, kind=EndKind.REFUSED, job_ran=job_ran)

    assert decide(POLICY, ending).then is Then.STOP_JOB


@pytest.mark.parametrize("kind", [EndKind.DRAINED, EndKind.STOPPED])
def test_a_process_that_was_asked_to_end_stays_down(kind: EndKind) -> None:
    assert decide(POLICY, Ending(ExitCode.OK, ran_s=2.0, in_a_row=0, kind=kind)) == Decision(Then.STAY_DOWN)


def test_a_process_that_ends_without_having_been_asked_to_has_failed_whatever_its_exit_code_says() -> None:
    assert endings(ExitCode.OK, ran_s=1.0, times=9) == endings(ExitCode.FAILED, ran_s=1.0, times=9)


@pytest.mark.parametrize(("job_ran", "then"), [(False, Then.STOP_JOB), (True, Then.RESTART)])
def test_a_broker_that_does_not_answer_is_a_mistake_before_the_job_ran_and_an_outage_afterwards(
    job_ran: bool, then: Then
) -> None:
    ending = Ending(ExitCode.REFUSED, ran_s=10.0, in_a_row=0, kind=EndKind.UNREACHABLE, job_ran=job_ran)

    assert decide(POLICY, ending).then is then


@pytest.mark.parametrize(("job_ran", "then"), [(False, Then.STOP_JOB), (True, Then.RESTART)])
def test_input_that_is_lost_to_one_replica_does_not_stop_the_others_that_have_read_it(
    job_ran: bool, then: Then
) -> None:
    ending = Ending(ExitCode.REFUSED, ran_s=10.0, in_a_row=0, kind=EndKind.LOST_INPUT, job_ran=job_ran)

    assert decide(POLICY, ending).then is then
    assert decide(POLICY, replace(ending, in_a_row=2, job_ran=True)) == Decision(Then.GIVE_UP)


def test_a_replica_that_diverged_stays_down_without_taking_the_others_along() -> None:
    ending = Ending(ExitCode.REFUSED, ran_s=600.0, in_a_row=0, kind=EndKind.DIVERGED, job_ran=True)

    assert decide(POLICY, ending) == Decision(Then.GIVE_UP)


@pytest.mark.parametrize("kind", [EndKind.REFUSED, EndKind.CHANGED, EndKind.OTHER_JOB])
@pytest.mark.parametrize("exit_code", [ExitCode.REFUSED, ExitCode.USAGE])
def test_a_replica_that_starts_again_and_refuses_what_it_ran_with_before_leaves_the_others_alone(
    exit_code: ExitCode, kind: EndKind
) -> None:
    ending = Ending(exit_code, ran_s=9.0, in_a_row=0, kind=kind, job_ran=True, came_up=False, came_up_before=True)

    assert decide(POLICY, ending) == Decision(Then.GIVE_UP)
    assert decide(POLICY, replace(ending, came_up=True)).then is Then.STOP_JOB


def test_a_replica_that_finds_changed_surroundings_at_its_first_start_leaves_the_others_alone() -> None:
    ending = Ending(ExitCode.REFUSED, ran_s=9.0, in_a_row=0, kind=EndKind.CHANGED, job_ran=True, came_up=False)

    assert decide(POLICY, ending) == Decision(Then.GIVE_UP)
    assert decide(POLICY, replace(ending, job_ran=False)).then is Then.STOP_JOB
    assert decide(POLICY, replace(ending, came_up=True)).then is Then.STOP_JOB


def test_a_replica_that_came_too_late_to_begin_a_generation_starts_again_to_join_it() -> None:
    ending = Ending(ExitCode.REFUSED, ran_s=9.0, in_a_row=0, kind=EndKind.TOO_LATE)

    assert decide(POLICY, ending).then is Then.RESTART
    assert decide(POLICY, replace(ending, on_trial=True)).then is Then.GIVE_UP


def test_a_replica_that_is_superseded_stays_down_without_taking_the_others_along() -> None:
    ending = Ending(ExitCode.REFUSED, ran_s=600.0, in_a_row=0, kind=EndKind.SUPERSEDED, job_ran=True)

    assert decide(POLICY, ending) == Decision(Then.GIVE_UP)


@pytest.mark.parametrize("code", [ExitCode.REFUSED, ExitCode.FAILED, ExitCode.USAGE, -9])
def test_a_replica_on_trial_is_not_started_again_however_it_ended(code: int) -> None:
    ending = Ending(code, ran_s=1.0, in_a_row=0, job_ran=True, on_trial=True)

    assert decide(POLICY, ending) == Decision(Then.GIVE_UP)
