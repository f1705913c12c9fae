"""A rule of the CRD in CEL, and the texts that rules are put together from.

The API server refuses rules that could cost too much. What costs next to nothing: `in` with a list or a map, `has`,
`startsWith` and `endsWith`. What is refused: `matches`, `contains` and `+` on the keys of a map or on `string(…)`, and `==`
of two types, for all of these have no bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from tandem.manifest import Duration

Path = tuple[str, ...]
"""The way to a value in the schema; `[]` stands for the items of a list, `{}` for the values of a map."""
Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]
"""Kubernetes knows FieldValueDuplicate too, but leaves out the message then."""

DURATION: Final[str] = TypeAdapter(Duration).json_schema()["pattern"]


@dataclass(frozen=True)
class Rule:
    """What the API server checks of the value at each of `paths`, and what it says if the expression is false.

    `field_path` names the field below the path that the error is shown at. `mirrors` are the functions of the runtime's
    rules (`tandem.manifest.rules`) that say the same.
    """

    id: str
    paths: tuple[Path, ...]
    expression: str
    message: str
    field_path: str = ""
    reason: Reason = "FieldValueInvalid"
    mirrors: tuple[str, ...] = ()

    @property
    def is_about_changes(self) -> bool:
        """Whether it compares with the object as it was, so that only updates are checked."""
        return re.search(r"\boldSelf\b", self.expression) is not None

    def as_kubernetes(self) -> dict[str, Any]:
        """The entry of `x-kubernetes-validations`."""
        entry: dict[str, Any] = {"rule": self.expression, "message": self.message}
        if self.field_path:
            entry["fieldPath"] = self.field_path
        if self.reason != "FieldValueInvalid":
            entry["reason"] = self.reason
        return entry


def path(dotted: str) -> Path:
    """`spec.sources[].topics[]` as a path."""
    return tuple(part for part in re.split(r"\.|(?=\[\])|(?=\{\})", dotted) if part)


def text(value: str) -> str:
    """A string literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def texts(values: Iterable[str]) -> str:
    """A list of string literals, sorted."""
    return f"[{', '.join(text(value) for value in sorted(values))}]"


def is_duration(name: str) -> str:
    """Whether a field can be read as a duration at all; if not, its pattern has said so."""
    return f"{name}.matches({text(DURATION)})"


def exactly_one(*names: str) -> str:
    """Whether exactly one of the fields is there."""
    return f"[{', '.join(f'has({name})' for name in names)}].exists_one(given, given)"
