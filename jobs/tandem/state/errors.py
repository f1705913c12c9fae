"""Why state cannot be read or divided anew, in words for whoever asked."""

from __future__ import annotations


class StateError(Exception):
    """Base of the errors of this package."""


class NoStateError(StateError):
    """There is no state where it was looked for."""


class StatelessJobError(StateError):
    """The job keeps no state."""


class UnknownOperatorError(StateError):
    """The job has no operator of that id or name, or several."""


class UnknownPartError(StateError):
    """The operator has no such state variable, side or timers."""


class BadKeyError(StateError):
    """A key that cannot be one of the operator's."""


class RescaleError(StateError):
    """Spark refuses to divide this state anew."""
