"""The first failure of a replica's threads is the one that it ends with."""

from __future__ import annotations

from tandem.engine.interface import StoppedError
from tandem.replica.failure import FirstFailure


def test_the_first_failure_counts() -> None:
    failure = FirstFailure()
    assert failure.error is None
    first = ValueError("first")
    failure.put(first)
    failure.put(ValueError("follows from that"))
    assert failure.error is first


def test_a_part_that_was_stopped_hides_nothing() -> None:
    failure = FirstFailure()
    failure.put(StoppedError())
    assert failure.error is None
    why = ValueError("why it was")
    failure.put(why)
    assert failure.error is why
