"""What an active does with each marker that it has read, beside what its core decides."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tandem.core.effects import Marked
from tandem.kafka.watching import Troubles
from tandem.replica.shipping import StateShipping
from tandem.replica.states import States
from tandem.replica.steps import OUTPUT
from tandem.snapshots import Snapshotter
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter
from tandem.waits import Task


@dataclass(frozen=True, slots=True)
class Markers:
    """Of one incarnation; called by the thread of its loop.

    `sinking` : says what the oldest epoch waits for in its sinks. `snapshotter`: None of a job without snapshots.
    `clock_s` : the wall clock, s since 1970.
    """

    troubles: Troubles
    sinking: Task
    states: States
    shipping: StateShipping
    snapshotter: Snapshotter | None
    metrics: ReplicaMetrics
    reporter: Reporter
    clock_s: Callable[[], float] = time.time

    def marked(self, marked: Marked) -> None:
        """An epoch is published, by anybody: nothing of it is waited for any more."""
        self.troubles.over(OUTPUT)
        self.sinking.ends()
        if marked.epoch is not None and marked.marker.owner == self.reporter.incarnation:
            self.metrics.publish_latency.observe(max(0.0, self.clock_s() - marked.epoch.time_ms / 1000))

    def compared(self, epoch: int) -> None:
        """What is published up to `epoch` is what this replica has computed: others may go on from its state.

        That of a candidate is of a generation that may never begin: the store gets none of it.
        """
        self.states.compared(epoch)
        self.shipping.published(epoch)
        if self.snapshotter is not None and not self.reporter.candidate:
            self.snapshotter.offer_of_another(epoch)
