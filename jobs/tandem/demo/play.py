"""The demo, act after act, each in scenes.

Every wait has a deadline, and ends at once when the user stops it or the job ends by itself.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tandem.demo.acts import Act
from tandem.demo.latency import has_settled, latencies, unpublished
from tandem.demo.plot import plot
from tandem.demo.recorder import Recorder
from tandem.demo.settings import Settings
from tandem.demo.show import SPARK_S, Show, View
from tandem.demo.stage import Servers, running
from tandem.demo.summary import Summary, Timeline, summarize
from tandem.examples.feeding import Feeder
from tandem.kafka.topics import Topics
from tandem.local import LocalJob
from tandem.local.observe import Observer
from tandem.local.status import JobStatus
from tandem.process.info import stop_on_signals
from tandem.topics.declared import ensure_topics
from tandem.verify.read import JobHistory, verify

LOOK_EVERY_S = 1.0
PRIMING_RECORDS = 20


class StoppedError(Exception):
    """The user has stopped the demo."""


class DemoError(Exception):
    """The demo could not be played to its end."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The outcome of an act, and what else is worth saying."""

    act: Act
    summary: Summary
    notes: tuple[str, ...] = ()


def clock_ms() -> float:
    """The one clock of creation and arrival."""
    return time.monotonic_ns() / 1e6


def play(settings: Settings, show: Show) -> Iterator[Ending]:
    """Play act after act; nothing is left running, however it ends. To be called from the main thread: it takes the signals.

    Raises `StoppedError`, `DemoError`, `EmbeddedError`, `LocalJobError` (a job ended by itself), `KafkaException`.
    """
    with running(show.waiting) as servers:
        for act in settings.acts:
            yield _played(act, servers, settings, show)


def _played(act: Act, servers: Servers, settings: Settings, show: Show) -> Ending:
    stopping = stop_on_signals()
    manifest = servers.set_for(act, settings.mode)
    job = LocalJob(manifest, settings.processes(act), pin_to_cores=can_pin())
    ensure_topics(Topics(servers.connection), job.manifest, "replica-0")
    with (
        Recorder(servers.connection, job.manifest.model, clock_ms) as recorder,
        _fed(act, servers, settings) as feeding,
        _running(job, show),
    ):
        return _Play(act, settings, show, stopping, _Cast(job, recorder, feeding, servers)).run()


def can_pin() -> bool:
    """Whether each of two replicas can have a core of its own, as they have a node of their own in earnest."""
    return hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1


class _Feeding:
    """The feeder on a thread of its own."""

    def __init__(self, feeder: Feeder) -> None:
        self.feeder = feeder
        self.failure: Exception | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    def prime(self, records: int) -> None:
        """Send a few, and return when Kafka has them."""
        self.feeder.run(self._stopping, records)

    def start(self) -> None:
        """Send all others."""
        self._thread.start()

    def stop(self) -> None:
        """Send no more, and wait until Kafka has what was sent."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            self.feeder.run(self._stopping)
        except Exception as error:
            self.failure = error


@contextmanager
def _fed(act: Act, servers: Servers, settings: Settings) -> Iterator[_Feeding]:
    feeding = _Feeding(Feeder(servers.connection.admin(), act.events(), act.paced, settings.rate, clock_ms))
    try:
        yield feeding
    finally:
        feeding.stop()


@contextmanager
def _running(job: LocalJob, show: Show) -> Iterator[None]:
    """The job's processes; at the end they get the time to stop, unless there is another Ctrl-C."""
    try:
        job.start()
        yield
    finally:
        impatient = stop_on_signals()
        show.waiting("all processes to stop")
        stopper = threading.Thread(target=job.stop, name="stopper")
        stopper.start()
        while stopper.is_alive():
            stopper.join(0.1)
            if impatient.is_set():
                job.kill_all()


@dataclass(frozen=True, slots=True)
class _Cast:
    """What runs during an act."""

    job: LocalJob
    recorder: Recorder
    feeding: _Feeding
    servers: Servers


class _Play:
    """The scenes of an act, and what is shown meanwhile."""

    def __init__(self, act: Act, settings: Settings, show: Show, stopping: threading.Event, cast: _Cast) -> None:
        self._act, self._settings, self._show, self._stopping = act, settings, show, stopping
        self._job, self._recorder = cast.job, cast.recorder
        self._feeding, self._servers = cast.feeding, cast.servers
        self._feeder = cast.feeding.feeder
        self._observer = Observer.of(cast.job)
        self._replicas = tuple(name for name in cast.job.names if name.startswith("replica-"))
        self._started_ms = math.nan

    def run(self) -> Ending:
        """All scenes. Raises what `play` raises."""
        s = self._settings
        self._must("starting Spark in both replicas", self._all_up, s.start_deadline)
        # A new JVM takes many seconds for its first epoch: no backlog shall grow meanwhile.
        self._feeding.prime(PRIMING_RECORDS)
        self._must("computing the first epoch", _all_ready, s.start_deadline)
        self._feeding.start()
        began_ms = clock_ms()
        self._must("warming up", lambda status: self._warm(status, clock_ms() - began_ms), s.warm_up_deadline)
        self._started_ms = clock_ms()
        self._watch("two replicas at work", lambda _: self._elapsed_s() >= s.kill_at, s.kill_at + 1)
        victim, old_pid, killed_ms = self._kill()
        back = self._watch(
            f"{victim} was killed; the other goes on",
            lambda status: _is_back(status, victim, old_pid),
            s.return_deadline,
        )
        returned_ms = clock_ms() if back else math.nan
        end_s = max(s.seconds, self._elapsed_s() + s.after_return)
        self._watch("two replicas at work again", lambda _: self._elapsed_s() >= end_s, end_s)
        ended_ms = clock_ms()
        self._feeding.stop()
        self._watch("the last records", lambda _: not self._missing(), s.drain_deadline)
        return self._conclude(Timeline(self._started_ms, ended_ms, killed_ms, returned_ms, victim))

    def _all_up(self, _status: JobStatus) -> bool:
        return all(map(self._job.is_up, self._replicas))

    def _warm(self, status: JobStatus, after_ms: float) -> bool:
        """A JVM gets faster for minutes: warm is who does not any more, or has had its time, and has published."""
        least_s, most_s = self._settings.warm_up(self._act)
        if after_ms < least_s * 1_000 or not _all_ready(status):
            return False
        arrivals = [epoch.arrived_ms for epoch in self._recorder.epochs()]
        return bool(arrivals) and (has_settled(arrivals, clock_ms()) or after_ms > most_s * 1_000)

    def _elapsed_s(self) -> float:
        return 0.0 if math.isnan(self._started_ms) else (clock_ms() - self._started_ms) / 1_000

    def _missing(self) -> int:
        return unpublished(self._feeder.created_ms, self._recorder.epochs())

    def _kill(self) -> tuple[str, int, float]:
        """SIGKILL for the replica that published last; its supervisor starts it again at once."""
        newest = self._recorder.newest
        assert newest is not None, "epochs were published during the warm-up"  # noqa: S101
        pid = self._job.process(newest.owner).pid
        killed_ms = clock_ms()
        self._job.kill(newest.owner)
        return newest.owner, pid, killed_ms

    def _must(self, scene: str, condition: Callable[[JobStatus], bool], deadline_s: float) -> None:
        if not self._watch(scene, condition, deadline_s):
            logs = self._settings.processes(self._act)
            raise DemoError(f"{self._act.name}, {scene}: not done within {deadline_s:.0f} s. The logs are in {logs}")

    def _watch(self, scene: str, condition: Callable[[JobStatus], bool], deadline_s: float) -> bool:
        """Show how things stand until `condition` holds; False if it does not within `deadline_s`."""
        deadline = time.monotonic() + deadline_s
        while True:
            status = self._observer.look()
            self._show.update(self._view(scene, status))
            if condition(status):
                return True
            if time.monotonic() >= deadline:
                return False
            if self._stopping.wait(LOOK_EVERY_S):
                raise StoppedError
            self._job.check()
            if self._feeding.failure is not None:
                raise self._feeding.failure

    def _view(self, scene: str, status: JobStatus) -> View:
        now, epochs = clock_ms(), self._recorder.epochs()
        recent = [epoch for epoch in reversed(epochs) if epoch.arrived_ms > now - SPARK_S * 1_000]
        return View(
            scene=f"{self._act.name}: {scene}",
            done=min(1.0, self._elapsed_s() / self._settings.seconds),
            fed=self._feeder.records_sent,
            published=sum(epoch.range.ends.records_since(epoch.range.starts) for epoch in epochs),
            recent=latencies(self._feeder.created_ms, recent),
            now_ms=now,
            status=status,
            events=self._job.events(),
        )

    def _conclude(self, timeline: Timeline) -> Ending:
        self._show.waiting("the verifier, which reads everything back")
        report = verify(self._servers.connection, JobHistory.of(self._job.manifest), wait_s=10.0)
        created, epochs = self._feeder.created_ms, self._recorder.epochs()
        summary = summarize(created, epochs, timeline, report)
        path, about = self._settings.plot(self._act), self._act.about
        plot(path, about, latencies(created, epochs), epochs, self._replicas, timeline, summary)
        notes = []
        if math.isnan(timeline.returned_ms):
            notes.append(f"{timeline.victim} did not catch up within {self._settings.return_deadline:.0f} s")
        return Ending(self._act, summary, tuple(notes))


def _all_ready(status: JobStatus) -> bool:
    return all(replica.ready and replica.lag_epochs <= 2 for replica in status.replicas)


def _is_back(status: JobStatus, name: str, old_pid: int) -> bool:
    replica = status.replica(name)
    return replica.state == "running" and replica.pid not in (0, old_pid) and replica.ready and replica.lag_epochs <= 2
