"""Rules as expressions that run: compiled and checked against the columns of the events, then asked about each event. Pure.

CEL has no loops but those over lists of an expression, and these have a budget: every expression ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from cel_expr_python import cel
from google.protobuf.timestamp_pb2 import Timestamp

from tandem.examples.rules.rule import BadRuleError, Rule

Variables: TypeAlias = tuple[tuple[str, str], ...]
"""Columns of the events and their types, one of `TYPES`."""
Number: TypeAlias = "int | float"

TYPES: Final = {
    "bool": cel.Type("google.protobuf.BoolValue"),
    "int": cel.Type("google.protobuf.Int64Value"),
    "double": cel.Type("google.protobuf.DoubleValue"),
    "string": cel.Type("google.protobuf.StringValue"),
    "timestamp": cel.Type.TIMESTAMP,
}
"""What an expression is checked against. All but `timestamp` compare with null, too."""
_EVENT: Final = "event."
"""Before a column's name in an expression: CEL has names of its own, such as `type`."""
_NUMBERS: Final = ("INT", "DOUBLE")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STATUS: Final = re.compile(r"^[A-Z_]+: (ERROR: )?| \[[A-Z_]+\]$")
_FIRST_US: Final = -62_135_596_800_000_000
_BEHIND_US: Final = 253_402_300_800_000_000
"""Years 1 to 9999."""


class EvaluationError(ValueError):
    """An expression has no answer for an event; the message says why."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A rule that runs."""

    rule: Rule
    when: cel.Expression
    value: cel.Expression | None

    def matches(self, activation: cel.Activation) -> bool:
        """Whether the event takes part. Raises `EvaluationError`."""
        return bool(_answer(self.when, activation, ("BOOL",)))

    def amount(self, activation: cel.Activation) -> Number:
        """What of the event is added up or compared; 1 for a count. Raises `EvaluationError`."""
        if self.value is None:
            return 1
        found: Number = _answer(self.value, activation, _NUMBERS)
        if not math.isfinite(found):
            raise EvaluationError(f"{self.rule.value} is {found}, which is no number to go on with")
        return found


@dataclass(frozen=True, slots=True)
class Unfit:
    """A rule that held when the events had other columns, before an upgrade: no event has an answer."""

    rule: Rule
    reason: str

    def matches(self, activation: cel.Activation) -> bool:  # noqa: ARG002 - as `Compiled`
        """Raises `EvaluationError`."""
        raise EvaluationError(self.reason)

    def amount(self, activation: cel.Activation) -> Number:  # noqa: ARG002
        """Raises `EvaluationError`."""
        raise EvaluationError(self.reason)


def as_held(rule: Rule, variables: Variables) -> Compiled | Unfit:
    """A rule that was found good when it came."""
    try:
        return compiled(rule, variables)
    except BadRuleError as error:
        return Unfit(rule, str(error))


def compiled(rule: Rule, variables: Variables) -> Compiled:
    """The rule's expressions, checked: columns that there are, used as what they are. Raises `BadRuleError`."""
    when = _expression("when", rule.when, variables, ("BOOL",))
    return Compiled(rule, when, None if rule.value is None else _expression("value", rule.value, variables, _NUMBERS))


def activation(event: Mapping[str, Any], variables: Variables) -> cel.Activation:
    """An event's columns, for expressions to ask about. Times are numbers (Unix, us). Raises `EvaluationError`."""
    found = {
        _EVENT + name: _time(name, event[name]) if kind == "timestamp" else event[name] for name, kind in variables
    }
    return _unchecked(variables).Activation(found)


def can_be_named(column: str) -> bool:
    """Whether an expression can name a column."""
    return _NAME.fullmatch(column) is not None


@lru_cache(4_096)
def _expression(what: str, text: str, variables: Variables, kinds: tuple[str, ...]) -> cel.Expression:
    try:
        kind = _checked(variables).compile(text).return_type().name()
        # A value that is checked may be null when it comes, which the checked expression would not take.
        expression = _unchecked(variables).compile(text)
    except Exception as error:  # whatever the compiler raises about a text is the text's fault
        raise BadRuleError(f"{what}: {_in_a_line(error)}") from error
    if kind.upper().removesuffix("_WRAPPER") not in kinds:
        raise BadRuleError(f"{what}: it is of the type {kind.lower()}, not {' or '.join(kinds).lower()}")
    return expression


def _answer(expression: cel.Expression, about: cel.Activation, kinds: tuple[str, ...]) -> Any:
    try:
        answer = expression.eval(about)
        kind, value = answer.type().name(), answer.value()
    except Exception as error:
        raise EvaluationError(_in_a_line(error)) from error
    if kind not in kinds:
        raise EvaluationError(_in_a_line(value) if kind == "ERROR" else f"the answer is {kind.lower()}")
    return value


@lru_cache(16)
def _checked(variables: Variables) -> cel.Env:
    return cel.NewEnv(variables={_EVENT + name: TYPES[kind] for name, kind in variables})


@lru_cache(16)
def _unchecked(variables: Variables) -> cel.Env:
    return cel.NewEnv(variables={_EVENT + name: cel.Type.DYN for name, _ in variables})


def _time(name: str, unix_us: int | None) -> Timestamp | None:
    if unix_us is None:
        return None
    if not _FIRST_US <= unix_us < _BEHIND_US:
        raise EvaluationError(f"{name} is outside of the years 1 to 9999")
    return Timestamp(seconds=unix_us // 1_000_000, nanos=unix_us % 1_000_000 * 1_000)


def _in_a_line(error: object) -> str:
    """Without the status around CEL's words, and the picture of the place below them."""
    return _STATUS.sub("", str(error).partition("\n")[0])
