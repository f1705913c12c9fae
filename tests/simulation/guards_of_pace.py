"""The rules that make the output come, each removed: without it the simulation waits in vain, or for too long."""

from dataclasses import replace

from simulation.deviation import Deviation
from simulation.guards import Guard
from simulation.running import SILENCE_BOUND_MS
from simulation.schedule import Schedule
from tandem.core.asking import Asking
from tandem.core.orderer import OrdererCore
from tandem.protocol.pace import Pace
from tandem.protocol.publication import Publication
from tandem.protocol.values import Claim


class ClaimsOnce(Publication):
    """Never proposes a claim again, whether or not the log shows it."""

    def is_lost(self, proposed_ms: float, now_ms: float) -> bool:  # noqa: ARG002
        return False


class AnswersOnce(Asking):
    """Never proposes an answer again, whether or not the log shows it."""

    def is_lost(self, proposed_ms: float, now_ms: float) -> bool:  # noqa: ARG002
        return False


class CutsOnce(OrdererCore):
    """Never proposes a cut again, whether or not the log shows it."""

    def is_lost(self, proposed_ms: float, now_ms: float) -> bool:  # noqa: ARG002
        return False


class TrustsItsClock(OrdererCore):
    """Gives an epoch the time of its own clock, although that may be before the time of the epoch before."""

    def epoch_time_ms(self, wall_ms: int, now_ms: float) -> int:  # noqa: ARG002
        return wall_ms


class NeverMorePatient(Publication):
    """Gives whoever took over no more time than the first owner."""

    def patience_ms(self, claim: Claim) -> float:
        return super().patience_ms(replace(claim, attempt=0))


class WaitsForTheElection(Pace):
    """Proposes as leader only."""

    def wants_cut(self, now_ms: float, leading: bool) -> bool:
        return leading and super().wants_cut(now_ms, leading)


def _breathless(seed: int) -> Schedule:
    """The schedule of a seed with bounds that are too short for fencing, reading and publishing."""
    return replace(Schedule.plain(seed), least_bound_ms=4.0, most_bound_ms=8.0)


def _has_lost(schedule: Schedule) -> bool:
    return schedule.lost > 0.0


def _has_long_sessions(schedule: Schedule) -> bool:
    return schedule.alone and not schedule.heartbeat and schedule.session_timeout_ms > 2 * SILENCE_BOUND_MS


GUARDS_OF_PACE = (
    Guard(
        "others propose when the leader is silent",
        Deviation(pace=WaitsForTheElection),
        unsafe=False,
        where=_has_long_sessions,
    ),
    Guard(
        "who took over gets more time",
        Deviation(publication=NeverMorePatient),
        unsafe=False,
        schedule=_breathless,
    ),
    Guard(
        "a claim that the log does not show is proposed again",
        Deviation(publication=ClaimsOnce),
        unsafe=False,
        where=_has_lost,
    ),
    Guard(
        "an answer that the log does not show is proposed again",
        Deviation(asking=AnswersOnce),
        unsafe=False,
        where=_has_lost,
    ),
    Guard(
        "a cut that the log does not show is proposed again",
        Deviation(orderer=CutsOnce),
        unsafe=False,
        where=_has_lost,
    ),
    Guard("the time of epochs never goes back", Deviation(orderer=TrustsItsClock)),
)
