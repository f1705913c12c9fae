"""What a replica does before it begins a generation with changes, while another run of the job goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tandem.protocol.other_run import QUIET_S, Standing
from tandem.protocol.values import Config, Offsets
from tandem.replica.other_run import OtherRun
from tandem.waits import Waits

CANDIDATE = Config(1, "digest", Offsets({}), "x.replica-0.bb")
REMEDY = "Stop it there"
PUBLISHED = Standing(5, "x.replica-0.aa", 2)
IDLE = Standing(3, "x.replica-0.aa", 1, registered=("replica-0",))
LATE = Standing(3, "x.replica-0.aa", 1, due=2, registered=("replica-0",))
ENDED = Standing(3, "x.replica-0.aa", 1)


class Elsewhere:
    """What is seen at each look, and a clock that only waiting moves."""

    def __init__(self, seen: Sequence[Standing], begun_at: int = 99) -> None:
        self.seen, self.begun_at = [*seen], begun_at
        self.looks, self.rests, self.now_s = 0, 0, 0.0
        self.waits = Waits(clock_s=lambda: self.now_s)
        self.task = self.waits.task()
        self.words: list[str] = []

    def look(self, generation: int | None) -> tuple[Standing, bool]:
        assert generation == (CANDIDATE.generation if self.looks else None)
        found = self.seen[min(self.looks, len(self.seen) - 1)], self.looks >= self.begun_at
        self.looks += 1
        return found

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.waits.look()
        self.words.append(self.waits.words)

    def rest(self) -> None:
        self.rests += 1

    def wait(self, start_s: float = 0.0) -> None:
        other = OtherRun(self.look, REMEDY, lambda: self.now_s, self.sleep)
        self.now_s += start_s
        other.wait_until_over(CANDIDATE, self.task, self.rest)


def test_nothing_is_waited_for_where_nobody_publishes() -> None:
    stopped = Elsewhere([ENDED])

    stopped.wait()

    assert stopped.now_s == 0


def test_it_goes_on_once_nobody_has_published_for_a_while() -> None:
    publishing = Elsewhere([ENDED, PUBLISHED])

    publishing.wait()

    assert QUIET_S <= publishing.now_s < QUIET_S + 5


def test_it_waits_for_one_that_is_idle_and_says_why_within_a_minute() -> None:
    idle = Elsewhere([IDLE] * 20 + [ENDED])

    idle.wait()

    assert idle.looks == 21
    assert idle.rests == 19, "its clients do not fall silent meanwhile"
    said = idle.words[-1]
    assert "another run of this job to end" in said
    assert "ZooKeeper knows replica-0 of it" in said
    assert REMEDY in said


def test_a_generation_that_another_candidate_has_begun_ends_the_wait() -> None:
    idle = Elsewhere([IDLE], begun_at=3)

    idle.wait()

    assert idle.looks == 4


def test_one_whose_epochs_take_longer_than_a_start_is_waited_for() -> None:
    slow = Elsewhere([LATE, LATE, LATE, LATE, replace(IDLE, due=3), *([IDLE] * 20), ENDED])

    slow.wait(start_s=10.0)

    assert slow.looks == 26


def test_one_that_is_stuck_with_an_epoch_is_waited_for_until_it_was_due_for_long() -> None:
    stuck = Elsewhere([LATE])

    stuck.wait(start_s=10.0)

    assert QUIET_S <= stuck.now_s < QUIET_S + 5
