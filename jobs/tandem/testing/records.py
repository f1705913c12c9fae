"""A test's records, as it writes them, and as Kafka would have them. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple, TypeAlias

Text: TypeAlias = "str | bytes | None"


@dataclass(frozen=True, slots=True)
class Record:
    """An input record of a test.

    `value` : a mapping, which is written as a JSON object; text, which is written as UTF-8; bytes; None: a tombstone.
    `key` : text, bytes or None.
    `timestamp_ms` : Unix, as Kafka has it; None: the time of the record's epoch.
    `partition` : of its topic; offsets are counted in each.
    `headers` : pairs of a name and text, bytes or None.
    `topic` : one of the source's topics; "": the first of them.
    """

    value: Mapping[str, Any] | Text = None
    key: Text = None
    timestamp_ms: int | None = None
    partition: int = 0
    headers: Sequence[tuple[str, Text]] | None = None
    topic: str = ""


class Placed(NamedTuple):
    """A record where it stands in Kafka."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...] | None


def record_of(given: object, where: str) -> Record:
    """What a test wrote, as a record: it may give one, only its value, or a pair of key and value.

    `where` names it in errors. Raises `TypeError`.
    """
    if isinstance(given, Record):
        return given
    if isinstance(given, tuple):
        if len(given) != 2:
            raise TypeError(f"{where} is a tuple of {len(given)}. Give (key, value), or a Record")
        return Record(key=given[0], value=given[1])
    if given is None or isinstance(given, Mapping | str | bytes):
        return Record(given)
    raise TypeError(
        f"{where} is a {type(given).__name__}. Give a dict, text, bytes, None for a tombstone, (key, value), or a Record"
    )


def placed(record: Record, topic: str, offset: int, time_ms: int, where: str) -> Placed:
    """A record at its place, with bytes for its parts. Raises `TypeError`."""
    headers = record.headers
    return Placed(
        topic,
        record.partition,
        offset,
        _bytes(record.key, f"the key of {where}"),
        _value(record.value, where),
        time_ms if record.timestamp_ms is None else record.timestamp_ms,
        None if headers is None else tuple((name, _bytes(one, f"a header of {where}")) for name, one in headers),
    )


def _value(value: object, where: str) -> bytes | None:
    if not isinstance(value, Mapping):
        return _bytes(value, f"the value of {where}")
    try:
        return json.dumps(dict(value), ensure_ascii=False, default=_as_json).encode(errors="backslashreplace")
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where} cannot be written as JSON: {error}. Give its text") from error


def _as_json(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"JSON has no {type(value).__name__}")


def _bytes(value: object, what: str) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    if value is None or isinstance(value, bytes):
        return value
    raise TypeError(f"{what} is a {type(value).__name__}. Give text, bytes or None")
