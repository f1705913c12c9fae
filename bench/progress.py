"""How far a system is, and waiting for it: each wait is bounded, and ends at once when the system has stopped by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bench.metrics import Sample
from tandem.waiting import Deadline, wait_until


class Checked(Protocol):
    """Something that runs."""

    def check(self) -> None:
        """Raises if it has stopped by itself."""


def stands_by(sample: Sample) -> bool:
    """Whether it is a standby's."""
    return sample.get("tandem_replica_standby") == 1


def lag_epochs(sample: Sample) -> float:
    """Epochs between the log's head and a replica; infinite while it has not reached it for the first time.

    Of a standby: 0 if it has proved its state, infinite before.
    """
    if stands_by(sample):
        return 0.0 if sample.get("tandem_standby_verified_epoch") > 0 else float("inf")
    return sample.get("tandem_replica_lag_epochs") if sample.get("tandem_replica_ready") == 1 else float("inf")


def is_at_head(sample: Sample) -> bool:
    """Whether a replica has reached the log's head, and is not more than one epoch behind it."""
    return lag_epochs(sample) <= 1


def spend(running: Checked, seconds: float) -> None:
    """Let time pass; raises what `check` raises."""
    wait_for(running, lambda: False, seconds, 0.5)


def must_wait(
    running: Checked, condition: Callable[[], bool], deadline_s: float, what: str, every_s: float = 0.2
) -> None:
    """`wait_for`, which raises `RuntimeError` if the deadline passes."""
    if not wait_for(running, condition, deadline_s, every_s):
        raise RuntimeError(f"not within {deadline_s:.0f} s: {what}")


def wait_for(running: Checked, condition: Callable[[], bool], deadline_s: float, every_s: float = 0.2) -> bool:
    """Ask `condition()` until it holds or the deadline has passed; return its last answer. Raises what `check` raises."""

    def holds() -> bool:
        running.check()
        return condition()

    return wait_until(holds, Deadline(deadline_s), every_s)
