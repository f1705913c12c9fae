"""The book of rules as a stateful operator of Spark: what is kept is in Spark's state, so in the job's snapshots, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessor, StatefulProcessorHandle

from tandem.examples.rules import book
from tandem.examples.rules.book import Book, Control, Event, Held, Of, Place, Settings

OUTPUT: Final = "sink STRING, key STRING, value STRING"


class RulesProcessor(StatefulProcessor):
    """One bucket of customers, with all rules.

    Rows have `seq`, their order in the epoch; `epoch`; `place`; and either `control` or `event`. Structs come as dicts.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark before the first row."""
        rules = handle.getMapState("rules", "id STRING", "text STRING, since BIGINT")
        totals = handle.getMapState("totals", "rule STRING, customer STRING", "text STRING")
        self._book = Book(_Rules(rules), _Totals(totals), self._settings)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        """One bucket's records of one epoch."""
        in_order: list[Any] = sorted(rows, key=lambda row: row.seq)
        controls = [_control(row) for row in in_order if row.control is not None]
        events = [Event(row.event, Place(**row.place)) for row in in_order if row.event is not None]
        # Every bucket has all rules: one of them says which records are none.
        yield from map(_spark_row, self._book.epoch(in_order[0].epoch, controls, events, says_bad=key[0] == 0))

    def close(self) -> None:
        """Nothing to release."""


def _control(row: Any) -> Control:
    return Control(**row.control, place=Place(**row.place))


def _spark_row(row: book.Row) -> Row:
    return Row(**row._asdict())


class _Rules:
    def __init__(self, state: MapState) -> None:
        self._state = state

    def get(self, key: str) -> Held | None:
        found = self._state.getValue((key,))
        return None if found is None else Held(*found)

    def put(self, key: str, value: Held) -> None:
        self._state.updateValue((key,), tuple(value))

    def remove(self, key: str) -> None:
        self._state.removeKey((key,))

    def items(self) -> list[tuple[str, Held]]:
        return [(key[0], Held(*value)) for key, value in self._state.iterator()]


class _Totals:
    def __init__(self, state: MapState) -> None:
        self._state = state

    def get(self, key: Of) -> str | None:
        found = self._state.getValue(tuple(key))
        return None if found is None else str(found[0])

    def put(self, key: Of, value: str) -> None:
        self._state.updateValue(tuple(key), (value,))

    def remove(self, key: Of) -> None:
        self._state.removeKey(tuple(key))

    def items(self) -> list[tuple[Of, str]]:
        return [(Of(*key), value[0]) for key, value in self._state.iterator()]
