"""What one of 25 seeds adds: replicas that do not compute the same, which must not publish side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from simulation.invariants import ChoosingChecker
from simulation.outputs import QUESTION, Row, compute
from simulation.replica import Replica
from simulation.schedule import Failure, Schedule
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Answers, EpochRange, Marker

if TYPE_CHECKING:
    from simulation.world import World

_NEVER = -1


@dataclass(frozen=True, slots=True)
class Difference:
    """The last replica's state goes wrong once, before the epoch `wrong_from`; or it runs another program from the start."""

    wrong_from: int = _NEVER

    @property
    def goes_wrong(self) -> bool:
        """Whether it runs the same program as the others."""
        return self.wrong_from != _NEVER

    def __str__(self) -> str:
        return f"one goes wrong at epoch {self.wrong_from}" if self.goes_wrong else "one runs another program"


def differing(plain: Schedule) -> Schedule:
    """The schedule with such a replica, and of its failures those after which replicas go on from the states of others.

    Between programs nothing fails: a replica that is refused there needs somebody to look at it.
    """
    rng = Random(plain.seed ^ 0xD1FF)
    wrong_from = _NEVER if rng.random() < 0.4 else rng.randrange(6)
    failures = () if wrong_from == _NEVER else tuple(filter(_hits_a_replica, plain.failures))
    difference = Difference(wrong_from)
    return replace(plain, delivery=Delivery.EXACTLY_ONCE, alone=False, failures=failures, difference=difference)


def _hits_a_replica(failure: Failure) -> bool:
    return failure.kind in {"crash", "pause"} and not failure.target.startswith("orderer")


class OtherProgram(Replica):
    """A replica that was started with other files or versions than the rest."""

    program = 2


class Faulty(Replica):
    """A replica in whose state a bit flips."""

    def compute(self, what: EpochRange, answers: Answers) -> tuple[int, list[list[Row]]]:
        """As everybody does, but for the bit."""
        difference = self.world.schedule.difference
        assert difference is not None
        if what.epoch == difference.wrong_from:
            self.state ^= 1
        return super().compute(what, answers)


def last_replica(difference: Difference | None) -> type[Replica]:
    """What the last replica of a schedule is."""
    if difference is None:
        return Replica
    return Faulty if difference.goes_wrong else OtherProgram


class FaultyChecker(ChoosingChecker):
    """Knows the right output and the wrong one: whichever is published first is the only one from there on."""

    def __init__(self, world: World, wrong_from: int) -> None:
        super().__init__(world)
        self._wrong_from = wrong_from
        self._wrong: dict[int, tuple[int, list[list[Row]]]] = {}
        self._shows_wrong = False

    def on_committed(self, marker: Marker) -> None:
        """Of the first epoch that differs: it says which one it is."""
        if marker.epoch == self._wrong_from and marker.epoch not in self._committed:
            self._shows_wrong = marker.digest == f"{self._wrongly(marker.epoch)[0]:x}"
            self._world.reached("who went wrong published first" if self._shows_wrong else "who went wrong was late")
        super().on_committed(marker)

    def digest_of(self, marker: Marker) -> str:
        """Of the one or the other."""
        return f"{self._wrongly(marker.epoch)[0]:x}" if self._is_wrong(marker) else super().digest_of(marker)

    def rows_of(self, marker: Marker) -> list[list[Row]]:
        """Of the one or the other."""
        return self._wrongly(marker.epoch)[1] if self._is_wrong(marker) else self.rows[marker.epoch]

    def _is_wrong(self, marker: Marker) -> bool:
        return self._shows_wrong and marker.epoch >= self._wrong_from

    def _wrongly(self, epoch: int) -> tuple[int, list[list[Row]]]:
        """State and rows of an epoch by who went wrong."""
        for number in range(self._wrong_from, epoch + 1):
            if number not in self._wrong:
                right = self._states[number - 1] if number else 0
                before = right ^ 1 if number == self._wrong_from else self._wrong[number - 1][0]
                answers = self.decisions.answer(number, QUESTION) if self._world.schedule.asks else ()
                assert answers is not None
                self._wrong[number] = compute(before, self.ranges[number], answers)
        return self._wrong[epoch]
