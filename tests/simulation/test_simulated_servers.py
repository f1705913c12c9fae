"""The simulated Kafka and ZooKeeper behave as the real ones do where the protocol leans on it."""

import pytest

from simulation.kafka import Coordinator, Partition
from simulation.orderer import Orderer
from simulation.schedule import Schedule
from simulation.world import World


class Bench:
    """A coordinator with two partitions, and its own small world; rows are strings."""

    def __init__(self) -> None:
        self.world = World(Schedule.plain(1))
        self.coordinator = Coordinator(self.world)
        self.left, self.right = Partition("left", lambda _: None), Partition("right", lambda _: None)

    def producer(self, tid: str) -> int:
        """The number of a newly initialised producer, however often that has to be tried."""
        while (number := self.coordinator.initialise(tid, tid)) is None:
            self.wait()
        return number

    def produce(self, tid: str, number: int, *rows: str) -> bool:
        """Produce to both partitions."""
        return self.coordinator.produce(tid, number, [(self.left, rows), (self.right, rows)])

    def wait(self, ms: float = 50.0) -> None:
        """Let some time pass."""
        until = self.world.timeline.now + ms
        self.world.timeline.at(until, None, lambda: None)
        while self.world.timeline.now < until:
            self.world.timeline.step()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_rows_are_visible_once_their_transaction_is_committed(bench: Bench) -> None:
    a = bench.producer("a")
    bench.produce("a", a, "row")
    bench.wait()
    assert bench.left.visible == []
    assert bench.coordinator.commit("a", a)
    bench.wait()
    assert bench.left.visible == bench.right.visible == ["row"]


def test_a_commit_is_not_visible_everywhere_at_once(bench: Bench) -> None:
    a = bench.producer("a")
    bench.produce("a", a, "row")
    bench.coordinator.commit("a", a)
    seen = set()
    while len(bench.left.visible) + len(bench.right.visible) < 2:
        bench.world.timeline.step()
        seen.add((len(bench.left.visible), len(bench.right.visible)))
    assert seen & {(0, 1), (1, 0)}


def test_an_open_transaction_hides_what_comes_after_it(bench: Bench) -> None:
    a, b = bench.producer("a"), bench.producer("b")
    bench.produce("a", a, "first")
    bench.produce("b", b, "second")
    bench.coordinator.commit("b", b)
    bench.wait()
    assert bench.left.visible == []
    assert bench.left.stable_end == 0
    bench.coordinator.commit("a", a)
    bench.wait()
    assert bench.left.visible == ["first", "second"]


def test_initialising_an_id_aborts_its_transaction_and_has_to_be_tried_again(bench: Bench) -> None:
    a = bench.producer("a")
    bench.produce("a", a, "row")
    assert bench.coordinator.initialise("a", "b") is None
    assert bench.producer("a") > a
    assert bench.left.visible == []
    assert bench.left.stable_end == bench.left.end


def test_a_fenced_producer_learns_of_it_at_the_commit(bench: Bench) -> None:
    a = bench.producer("a")
    bench.coordinator.initialise("a", "b")
    assert bench.produce("a", a, "row")
    assert not bench.coordinator.commit("a", a)
    bench.wait()
    assert bench.left.end == 0


def test_a_fence_that_meets_a_commit_waits_for_it(bench: Bench) -> None:
    a = bench.producer("a")
    bench.produce("a", a, "row")
    bench.coordinator.commit("a", a)
    assert bench.coordinator.initialise("a", "b") is None
    bench.producer("a")
    assert bench.left.visible == ["row"]


def test_the_next_transaction_waits_until_the_last_one_is_ended(bench: Bench) -> None:
    a = bench.producer("a")
    bench.produce("a", a, "row")
    bench.coordinator.commit("a", a)
    assert not bench.produce("a", a, "next")
    bench.wait()
    assert bench.produce("a", a, "next")


def test_an_abandoned_transaction_is_aborted_after_its_time_out(bench: Bench) -> None:
    a = bench.producer("a")
    bench.produce("a", a, "row")
    bench.wait(bench.world.schedule.transaction_timeout_ms + 100)
    assert bench.left.stable_end == bench.left.end
    assert not bench.coordinator.commit("a", a)


def test_a_paused_leader_believes_in_itself_until_it_hears_of_its_successor() -> None:
    schedule = next(s for s in map(Schedule.plain, range(1_000)) if not s.heartbeat and not s.failures)
    world = World(schedule)
    for process in world.processes:
        process.start()
    orderers = [process for process in world.processes if isinstance(process, Orderer)]

    def until(time: float) -> None:
        world.timeline.at(time, None, lambda: None)
        while world.timeline.now < time:
            world.timeline.step()

    until(50.0)
    (old,) = [orderer for orderer in orderers if orderer.leading]
    (new,) = [orderer for orderer in orderers if not orderer.leading]
    old.paused_until = 400.0
    world.ensemble.silent(old.session)
    until(390.0)
    assert old.leading
    assert new.leading
    world.timeline.at(400.0, None, world.ensemble.heard, old.session)
    until(450.0)
    assert not old.leading
    assert new.leading
