"""A rule: what a record of the control topic says. Pure."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Aggregation: TypeAlias = Literal["count", "sum", "min", "max"]
Expression = Annotated[str, Field(min_length=1, max_length=2_000)]


class BadRuleError(ValueError):
    """The record is no rule that can hold; the message says why."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class OneCustomer(_Frozen):
    """A scope: the events of one customer."""

    customer: Annotated[str, Field(min_length=1, max_length=200)]


class Rule(_Frozen):
    """What is counted, added up or compared, of which events.

    `scope` : "all", or one customer. Every customer has a total of its own in either case.
    `when` : CEL, a bool: which events of the scope take part.
    `value` : CEL, a number: what of an event is added up or compared; none for `count`.
    `window_seconds` : of event time, from the Unix epoch on; None: since the rule began.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")]
    scope: Literal["all"] | OneCustomer
    when: Expression
    aggregation: Aggregation
    value: Expression | None = None
    window_seconds: Annotated[int, Field(ge=1, le=31 * 86_400)] | None = Field(default=None, alias="windowSeconds")

    @model_validator(mode="after")
    def _has_its_value(self) -> Rule:
        if (self.value is None) != (self.aggregation == "count"):
            raise ValueError("count takes no value" if self.value is not None else f"{self.aggregation} needs a value")
        return self

    def is_for(self, customer: str) -> bool:
        """Whether events of this customer are in the scope."""
        return self.scope == "all" or self.scope.customer == customer

    @property
    def text(self) -> str:
        """As JSON: equal rules have equal texts."""
        return self.model_dump_json(by_alias=True)


def parse(value: bytes | str) -> Rule:
    """The rule of a record's value, JSON. Raises `BadRuleError`."""
    try:
        return Rule.model_validate_json(value)
    except ValidationError as error:
        raise BadRuleError("; ".join(_said(one["loc"], one["msg"]) for one in error.errors())) from error


def id_of(key: bytes | None) -> str | None:
    """The id that a record is about: its key. Raises `BadRuleError`: the key is no UTF-8."""
    try:
        return None if key is None else key.decode()
    except UnicodeDecodeError as error:
        raise BadRuleError("the record's key is no UTF-8") from error


def _said(place: tuple[int | str, ...], message: str) -> str:
    where = ".".join(map(str, place))
    return f"{where}: {message}" if where else message
