"""The stateful operators of a job, and which part of the state of one is meant. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tandem.state.errors import UnknownOperatorError, UnknownPartError

SIDES: Final = ("left", "right")

_TWS: Final = "transformWithState"
_KINDS: Final = {
    "stateStoreSave": "aggregation",
    "StatefulStreamlineAggregate": "aggregation",  # of the real-time engine
    "sessionWindowStateStoreSaveExec": "session-windows",
    "symmetricHashJoin": "join",
    "dedupe": "dropDuplicates",
    "dedupeWithinWatermark": "dropDuplicatesWithinWatermark",
    "transformWithStateExec": _TWS,
    "transformWithStateInPandasExec": _TWS,
    "transformWithStateInPySparkExec": _TWS,
}


@dataclass(frozen=True, slots=True)
class Operator:
    """A stateful operator of a query: Spark's number and name for it, and the state variables of a `transformWithState`."""

    id: int
    name: str
    partitions: int
    variables: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What a user calls it."""
        return _KINDS.get(self.name, self.name)


@dataclass(frozen=True, slots=True)
class Part:
    """What is read at once: all of it, a side of a join, or a variable or the timers of a `transformWithState`."""

    side: str = ""
    variable: str = ""
    timers: bool = False

    @property
    def label(self) -> str:
        """Which part it is; empty if it is all of it."""
        return self.side or self.variable or ("timers" if self.timers else "")

    @property
    def options(self) -> Mapping[str, str]:
        """Of Spark's state reader."""
        if self.side:
            return {"joinSide": self.side}
        if self.variable:
            return {"stateVarName": self.variable}
        return {"readRegisteredTimers": "true"} if self.timers else {}


def find_operator(operators: Sequence[Operator], wanted: str) -> Operator:
    """The operator of that id, Spark's name or kind. Raises `UnknownOperatorError`, which tells those that there are."""
    found = [
        operator
        for operator in operators
        if wanted == str(operator.id) or wanted.lower() in (operator.name.lower(), operator.kind.lower())
    ]
    if len(found) == 1:
        return found[0]
    there = ", ".join(f"{operator.id} ({operator.kind})" for operator in found or operators)
    if found:
        raise UnknownOperatorError(f"several operators are called {wanted}: give the id of one of {there}")
    raise UnknownOperatorError(f"there is no operator {wanted}: there are {there}")


def all_parts(operator: Operator) -> tuple[Part, ...]:
    """Everything that an operator keeps, but for timers."""
    if operator.kind == "join":
        return tuple(Part(side=side) for side in SIDES)
    return tuple(Part(variable=name) for name in operator.variables) or (Part(),)


def parts_of(
    operator: Operator, side: str | None = None, variable: str | None = None, timers: bool = False
) -> tuple[Part, ...]:
    """What to read of an operator; both sides of a join, and the only variable, need not be given.

    Raises `UnknownPartError`.
    """
    this = f"operator {operator.id} ({operator.kind})"
    if side is not None and operator.kind != "join":
        raise UnknownPartError(f"{this} is no join: it has no sides")
    if (variable is not None or timers) and operator.kind != _TWS:
        raise UnknownPartError(f"{this} has no state variables and no timers: only a {_TWS} has")
    if operator.kind == "join":
        if side is not None and side not in SIDES:
            raise UnknownPartError(f"{side} is no side of a join: give left or right")
        return tuple(Part(side=one) for one in SIDES if side in (None, one))
    if operator.kind != _TWS:
        return (Part(),)
    if timers:
        if variable is not None:
            raise UnknownPartError("state variables and timers are read one at a time: give only one")
        return (Part(timers=True),)
    there = ", ".join(operator.variables) or "none"
    if variable is None:
        if len(operator.variables) != 1:
            raise UnknownPartError(f"{this} has several state variables: name one of {there} with --variable")
        return (Part(variable=operator.variables[0]),)
    if variable not in operator.variables:
        raise UnknownPartError(f"{this} has no state variable {variable}: it has {there}")
    return (Part(variable=variable),)
