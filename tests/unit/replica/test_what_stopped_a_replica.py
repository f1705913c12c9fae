"""A publisher that stops takes the engine with it: the replica ends with what stopped the publisher."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from prometheus_client import CollectorRegistry

from tandem.embedded.waiting import Deadline, wait_until
from tandem.kafka.tail import Record
from tandem.kafka.watching import Troubles
from tandem.manifest import Manifest, parse
from tandem.metrics import ReplicaMetrics
from tandem.protocol.codec import encode_marker, encode_proposal
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import Delivery, DivergedError, MissingMarkerError, Publication, SupersededError
from tandem.protocol.silence import SilenceBound
from tandem.protocol.values import Config, Cut, Marker, Positions
from tandem.replica.failovers import Failovers
from tandem.replica.identity import Membership
from tandem.replica.progress import CatchUp
from tandem.replica.publisher import Publisher, PublisherSettings, PublisherStoppedError
from tandem.replica.refused import RefusedRows
from tandem.replica.replica import Replica
from tandem.replica.reporter import Reporter
from tandem.topics import SinkTopics
from tandem.waits import Waits

CONFIG = Config(0, "c0ffee", Positions(), "replica-0")
ROWS = pa.table(
    {"sink": ["out"], "key": [None], "value": [b"mine"]},
    pa.schema([("sink", pa.string()), ("key", pa.binary()), ("value", pa.binary())]),
)
SINKS = SinkTopics({"out": "out"}, {"out": 1}, "letters", 1_000, "j")
LABELS = {"job_name": "j", "replica": "replica-0"}
DEADLINE_S = 20.0


class Bench:
    """A replica with its publisher, whose engine and logs do what the test says."""

    given = None

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.registry = CollectorRegistry()
        metrics = ReplicaMetrics(self.registry, "j", "replica-0")
        reporter = Reporter("j", "replica-0", "j.replica-0.1", self.registry)
        self.replica = Replica(manifest(folder), "replica-0", "j.replica-0.1", metrics, reporter, Waits())
        self.facts = {"the function masked (job.py:4)": "…"}
        self.moving_tables: frozenset[str] = frozenset()
        self.job: Any = self
        self._log: list[Record] = []
        self._offset = 0
        self._failure: BaseException | None = None
        self.waits = Waits(0.0)
        anything: Any = self
        self.publisher = Publisher(
            PublisherSettings("ordering", "commits"),
            RefusedRows(SINKS),
            Troubles(tuple, metrics.refused),
            Publication("j.replica-0.1", Decisions(), 0, Delivery.EXACTLY_ONCE, SilenceBound(20.0, 120.0)),
            anything,
            anything,
            anything,
            anything,
            CatchUp("replica-0", -1),
            metrics,
            Failovers(),
            task=self.waits.task(),
        )
        monkeypatch.setattr(self.replica, "_publisher", self.publisher)
        monkeypatch.setattr(self.replica, "_engine", self)
        monkeypatch.setattr(self.replica, "_membership", Membership(CONFIG), raising=False)
        monkeypatch.setattr(self.replica, "_refused", RefusedRows(SINKS), raising=False)
        monkeypatch.setattr("tandem.replica.replica.first_difference", lambda *_: "row 0 differs")
        self.replica._publishing.set()
        self.when_asked: Callable[[], None] = lambda: None
        self.publisher.start()

    def computes(self, epoch: int) -> None:
        """What the engine does with an epoch's rows."""
        try:
            self.replica._on_epoch(epoch, ROWS)
        except Exception as error:
            self._failure = error

    def reads(self, marker: Marker) -> None:
        """The publisher reads the cut of epoch 0, then this marker."""
        cut = Cut(0, Positions(), 0, 0, "orderer-0")
        values = (encode_proposal(CONFIG), encode_proposal(cut))
        news = [Record("ordering", offset, value, 0) for offset, value in enumerate(values)]
        self._log = [*news, Record("commits", 0, encode_marker(marker), 0)]
        assert wait_until(lambda: self.has_read or self.publisher.failure() is not None, Deadline(DEADLINE_S), 0.005)

    @property
    def has_read(self) -> bool:
        """Whether the publisher has taken in what there was, and goes on."""
        value = self.registry.get_sample_value("tandem_published_epoch", LABELS)
        return value == 0 and not self._log

    def diverged(self) -> float | None:
        return self.registry.get_sample_value("tandem_replica_diverged", LABELS)

    # What the replica asks of the engine, and the publisher of the logs, the appender and the producer.

    first_epoch: ClassVar[dict[str, int]] = {}

    def failure(self) -> BaseException | None:
        self.when_asked()
        return self._failure

    is_behind = False

    def poll(self, _timeout_s: float) -> list[Record]:
        news, self._log = self._log, []
        return news

    def append(self, _proposal: object) -> None: ...

    def close(self) -> None: ...


def manifest(folder: Path) -> Manifest:
    tree = {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": "j"},
        "spec": {
            "job": {"file": "job.py"},
            "zookeeper": {"connect": "localhost:1"},
            "kafka": {"bootstrapServers": "localhost:1"},
            "sources": [{"name": "events", "topics": ["in"]}],
            "sinks": [{"name": "out", "topic": "out"}],
        },
    }
    return Manifest(parse(tree), folder / "j.yaml", folder)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(tmp_path, monkeypatch)
    yield made
    made.publisher.stop()


def test_what_the_publication_of_a_computed_epoch_waits_for_is_told(bench: Bench) -> None:
    bench.computes(0)
    claim = "the publication of epoch 0: a claim of it in ordering, for 0 s"
    assert wait_until(lambda: bench.waits.words == claim, Deadline(DEADLINE_S), 0.005), bench.waits.words


ENDS = [
    (Marker(0, 0, "j.replica-1.1", "published", 1, 1, generation=1), SupersededError, "generation 1 publishes"),
    (Marker(0, 0, "j.replica-1.1", "published", 1, 1), DivergedError, "published by j.replica-1.1; row 0 differs"),
    (Marker(7, 0, "j.replica-1.1", "published", 1, 1), MissingMarkerError, "found that of 7"),
]


@pytest.mark.parametrize(("marker", "kind", "words"), ENDS)
def test_an_epoch_that_comes_too_late_does_not_hide_why_the_publisher_stopped(
    bench: Bench, marker: Marker, kind: type[Exception], words: str
) -> None:
    bench.computes(0)
    bench.reads(marker)
    bench.computes(1)
    assert isinstance(bench.failure(), PublisherStoppedError)

    with pytest.raises(kind, match=words):
        bench.replica.run_until(threading.Event())
    assert bench.diverged() == float(kind is DivergedError)


@pytest.mark.parametrize(("marker", "kind", "words"), ENDS)
def test_an_epoch_that_comes_while_the_replica_looks_does_not_hide_it_either(
    bench: Bench, marker: Marker, kind: type[Exception], words: str
) -> None:
    def both_stop() -> None:
        if bench.publisher.failure() is None:
            bench.reads(marker)
            bench.computes(1)

    bench.computes(0)
    bench.when_asked = both_stop

    with pytest.raises(kind, match=words):
        bench.replica.run_until(threading.Event())


def test_a_divergence_that_the_engine_finds_is_explained_too(bench: Bench) -> None:
    bench.reads(Marker(0, 0, "j.replica-1.1", "published", 1, 1))
    bench.computes(0)

    with pytest.raises(
        DivergedError, match=r"row 0 differs; likely cause: the function masked \(job.py:4\) may read the clock"
    ):
        bench.replica.run_until(threading.Event())
    assert bench.diverged() == 1
