"""The simulated snapshot store and the nodes of slots behave as the real ones do where the product leans on it."""

from collections.abc import Callable
from typing import Any

import pytest

from simulation.scale import scaled_down
from simulation.schedule import Schedule
from simulation.standby import StandbyReplica
from simulation.store import SimulatedRemote, Stored
from simulation.tasks import Task
from simulation.world import World
from tandem.snapshots import SnapshotStoreError


class Bench:
    """A calm world of two replicas that do nothing by themselves."""

    def __init__(self) -> None:
        schedules = map(Schedule.redundant, range(1_000))
        self.world = World(next(s for s in schedules if s.alone and s.replicas == 2 and s.redundancy.tears == 0.0))
        self.replicas = [p for p in self.world.processes if isinstance(p, StandbyReplica)]
        for replica in self.replicas:
            replica.life, replica.alive = 1, True
        self.remote = SimulatedRemote(self.world.store, "me")

    def task(self, body: Callable[[], Any], done: Callable[[Any], None] = lambda _: None) -> Task:
        """Run code of the product in a task of the first replica."""

        def run(task: Task) -> Any:
            self.remote.task = task
            return body()

        return Task(self.replicas[0], run, done)

    def wait(self, ms: float = 50.0) -> None:
        """Let some time pass."""
        until = self.world.timeline.now + ms
        self.world.timeline.at(until, None, lambda: None)
        while self.world.timeline.now < until:
            self.world.timeline.step()


@pytest.fixture
def bench():
    with scaled_down():
        bench = Bench()
        yield bench
        for task in bench.world.tasks:
            task.kill()


def test_blocking_code_takes_simulated_time(bench: Bench) -> None:
    results: list[bytes] = []

    def body() -> bytes:
        bench.remote.put_bytes(b"content", "note")
        return bench.remote.read("note")

    bench.task(body, results.append)
    assert results == []
    bench.wait()
    assert results == [b"content"]


def test_a_process_that_dies_leaves_its_code_unfinished_but_what_it_sent_arrives(bench: Bench) -> None:
    def body() -> None:
        bench.remote.put_bytes(b"1", "first")
        bench.remote.put_bytes(b"2", "second")

    bench.task(body)
    bench.replicas[0].crash()
    bench.wait()
    assert set(bench.world.store.files) == {"first"}


def test_a_process_that_is_killed_runs_its_clean_up_and_nothing_else(bench: Bench) -> None:
    done = []

    def body() -> None:
        try:
            bench.remote.put_bytes(b"1", "first")
            done.append("went on")
        finally:
            done.append("cleaned up")

    bench.task(body).kill()
    assert done == ["cleaned up"]


def test_a_paused_process_goes_on_later(bench: Bench) -> None:
    results: list[bytes] = []
    bench.world.store.files["note"] = Stored(b"content", 0.0)
    bench.task(lambda: bench.remote.read("note"), results.append)
    bench.replicas[0].paused_until = 200.0
    bench.wait(190.0)
    assert results == []
    bench.wait(30.0)
    assert results == [b"content"]


def test_a_store_that_is_away_says_so(bench: Bench) -> None:
    results: list[str] = []

    def body() -> str:
        try:
            bench.remote.files("objects")
        except SnapshotStoreError:
            return "away"
        return "there"

    bench.world.store.down_until = 100.0
    bench.task(body, results.append)
    bench.wait()
    assert results == ["away"]


def test_a_slot_has_one_holder_and_is_free_when_its_session_ends(bench: Bench) -> None:
    ensemble, (a, b) = bench.world.ensemble, bench.replicas
    first, second = ensemble.watch(a), ensemble.watch(b)
    assert ensemble.create(first, "slots/0", b"a")
    assert not ensemble.create(second, "slots/0", b"b")
    ensemble.silent(first)
    bench.wait(bench.world.schedule.session_timeout_ms + 1)
    assert ensemble.values("slots") == {}


def test_a_slot_outlives_an_outage_of_zookeeper_unless_its_holder_does_not_come_back(bench: Bench) -> None:
    ensemble, (a, b) = bench.world.ensemble, bench.replicas
    first, second = ensemble.watch(a), ensemble.watch(b)
    ensemble.create(first, "slots/0", b"a")
    ensemble.create(second, "slots/1", b"b")
    b.crash()
    ensemble.silent(second)
    ensemble.outage(500.0)
    bench.wait(499.0)
    assert ensemble.values("slots") == {"0": b"a", "1": b"b"}
    bench.wait(bench.world.schedule.session_timeout_ms + 100)
    assert ensemble.values("slots") == {"0": b"a"}
