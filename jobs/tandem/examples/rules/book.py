"""The rules that hold and what they have counted: how an epoch's records change them, and what comes of it. Pure.

The records of an epoch are taken in two steps, each in the order of the epoch: first what changes the rules, then the
events. So a rule holds for every event of the epoch that brings it, and of those that follow.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol, TypeVar

from tandem.examples.rules.expressions import (
    Compiled,
    EvaluationError,
    Unfit,
    Variables,
    activation,
    as_held,
    compiled,
)
from tandem.examples.rules.rule import BadRuleError, Rule, id_of, parse
from tandem.examples.rules.totals import Total, Totals, taken

RESULTS, REJECTED = "results", "rejected"
"""Sinks."""
_MOST_CHARACTERS = 2_000
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)

K = TypeVar("K")
V = TypeVar("V")


class Kept(Protocol[K, V]):
    """What is kept from epoch to epoch."""

    def get(self, key: K) -> V | None:
        """None: there is none."""

    def put(self, key: K, value: V) -> None:
        """Keep it from now on."""

    def remove(self, key: K) -> None:
        """Keep it no longer."""

    def items(self) -> Iterable[tuple[K, V]]:
        """All, in any order."""


class Held(NamedTuple):
    """A rule that holds, as its text, and the epoch from which on it does."""

    text: str
    since: int


class Of(NamedTuple):
    """Whose totals."""

    rule: str
    customer: str


class Place(NamedTuple):
    """Where a record stands in Kafka."""

    source: str
    topic: str
    partition: int
    offset: int
    time_ms: int


@dataclass(frozen=True, slots=True)
class Control:
    """A record of the control topic; its key is a rule's id, its value the rule, or None: the rule ends."""

    key: bytes | None
    value: bytes | None
    place: Place


@dataclass(frozen=True, slots=True)
class Event:
    """`columns` : those of the schema; times are numbers (Unix, us)."""

    columns: Mapping[str, Any]
    place: Place


class Row(NamedTuple):
    """What goes to a sink."""

    sink: str
    key: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class Settings:
    """`variables` : what expressions may ask. `lateness_s` : see `totals.taken`. `most_rules` : that hold at a time."""

    variables: Variables
    lateness_s: int = 60
    most_rules: int = 1_000


@dataclass(frozen=True, slots=True)
class Book:
    """`rules` : id → rule. `totals` : whose → them, as text."""

    rules: Kept[str, Held]
    totals: Kept[Of, str]
    settings: Settings

    def epoch(
        self, number: int, controls: Iterable[Control], events: Iterable[Event], says_bad: bool = True
    ) -> Iterator[Row]:
        """Take in the records of an epoch; see `change` and `meet`. `says_bad` : it says what is no rule."""
        for row in self.change(controls, number):
            if says_bad or row.sink != REJECTED:
                yield row
        yield from self.meet(events)

    def change(self, controls: Iterable[Control], epoch: int) -> Iterator[Row]:
        """Take in rules, in their order. A rule that ends or becomes another one loses its totals.

        Yields the records that are no rules, and a tombstone for each total that is lost.
        """
        held = dict(self.rules.items())
        before = dict(held)
        ended: set[str] = set()
        for control in controls:
            try:
                id_, rule = self._read(control)
                if rule is not None and id_ not in held and len(held) >= self.settings.most_rules:
                    raise BadRuleError(f"{len(held)} rules hold already, as many as may (option mostRules)")
            except BadRuleError as error:
                yield rejected(control.place, str(error), _text(control.key), _text(control.value))
                continue
            if id_ in held and (rule is None or held[id_].text != rule.text):
                ended.add(id_)
                del held[id_]
            if rule is not None and id_ not in held:
                held[id_] = Held(rule.text, epoch)
        for id_ in sorted(before.keys() - held.keys()):
            self.rules.remove(id_)
        for id_ in sorted(held):
            if held[id_] is not before.get(id_):
                self.rules.put(id_, held[id_])
        yield from self._forget(ended)

    def meet(self, events: Iterable[Event]) -> Iterator[Row]:
        """Take in events, in their order: each meets the rules of its customer, in the order of their ids.

        Yields the events for which a rule has no answer, and then each total that has changed, as it is now.
        """
        rules = _Ordered(self.rules.items(), self.settings.variables)
        totals: dict[Of, Totals] = {}
        changed: dict[tuple[Of, int], Total] = {}
        for event in events:
            customer = event.columns["customer"]
            if customer is None:
                yield _rejected(event, "it has no customer")
                continue
            asked = None
            for rule in rules.of(customer):
                of = Of(rule.rule.id, customer)
                try:
                    asked = activation(event.columns, self.settings.variables) if asked is None else asked
                    if rule.matches(asked):
                        before = totals[of] if of in totals else Totals.of(self.totals.get(of) or "[null, []]")
                        amount = rule.amount(asked)
                        totals[of], start = taken(
                            before, rule.rule, amount, event.columns["time"], self.settings.lateness_s
                        )
                        changed[of, start] = totals[of].by_window[start]
                except EvaluationError as error:
                    yield _rejected(event, str(error), rule.rule.id)
        for of, found in totals.items():
            self.totals.put(of, found.text)
        for (of, start), total in sorted(changed.items()):
            yield _result(of, rules.held[of.rule], start, total)

    def _read(self, control: Control) -> tuple[str, Rule | None]:
        id_ = id_of(control.key)
        if id_ is None:
            raise BadRuleError("the record has no key: it is the rule's id")
        if control.value is None:
            return id_, None
        rule = parse(control.value)
        if rule.id != id_:
            raise BadRuleError(f"the record's key is not the rule's id, {rule.id}")
        compiled(rule, self.settings.variables)
        return id_, rule

    def _forget(self, ended: set[str]) -> Iterator[Row]:
        for of in sorted(of for of, _ in self.totals.items() if of.rule in ended) if ended else ():
            self.totals.remove(of)
            yield Row(RESULTS, _key(of), None)


class _Ordered:
    """Rules as events meet them."""

    def __init__(self, held: Iterable[tuple[str, Held]], variables: Variables) -> None:
        self.held = dict(sorted(held))
        self._for_all: list[Compiled | Unfit] = []
        self._for_one: dict[str, list[Compiled | Unfit]] = defaultdict(list)
        for one in self.held.values():
            rule = as_held(parse(one.text), variables)
            if rule.rule.scope == "all":
                self._for_all.append(rule)
            else:
                self._for_one[rule.rule.scope.customer].append(rule)

    def of(self, customer: str) -> list[Compiled | Unfit]:
        own = self._for_one.get(customer)
        return self._for_all if own is None else sorted([*self._for_all, *own], key=lambda rule: rule.rule.id)


def rejected(place: Place, reason: str, key: str | None, value: str | None, **more: str) -> Row:
    """A record that was not taken, as Tandem's dead letters are."""
    cut = value is not None and len(value) > _MOST_CHARACTERS
    said = {
        "source": place.source,
        "topic": place.topic,
        "partition": place.partition,
        "offset": place.offset,
        "timestamp": _iso_ms(place.time_ms),
        "reason": reason,
        **more,
        "value": value[:_MOST_CHARACTERS] if cut and value is not None else value,
        **({"truncated": True} if cut else {}),
    }
    return Row(REJECTED, key, _json(said))


def _rejected(event: Event, reason: str, rule: str | None = None) -> Row:
    columns = {name: value for name, value in event.columns.items() if value is not None}
    more = {} if rule is None else {"rule": rule}
    return rejected(event.place, reason, event.columns["customer"], _json(columns), **more)


def _result(of: Of, held: Held, start: int, total: Total) -> Row:
    rule = parse(held.text)
    window = {} if rule.window_seconds is None else {"window": _iso_s(start), "windowSeconds": rule.window_seconds}
    said = {"rule": of.rule, "customer": of.customer, "since": held.since, **window}
    return Row(RESULTS, _key(of), _json({**said, "events": total.events, rule.aggregation: total.value}))


def _key(of: Of) -> str:
    """A rule's id has no slash."""
    return f"{of.rule}/{of.customer}"


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="replace")


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _iso_s(unix_s: int) -> str:
    return (_UNIX + timedelta(seconds=unix_s)).isoformat().replace("+00:00", "Z")


def _iso_ms(unix_ms: int) -> str | int:
    try:
        return (_UNIX + timedelta(milliseconds=unix_ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return unix_ms
