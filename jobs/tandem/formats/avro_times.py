"""Times that a record has in another unit than the reader's schema: fastavro, given no logical types, would read the number.

Registries call schemas compatible that differ in nothing but a logical type. So where they do, the times keep theirs, under
a name of Tandem's, and fastavro hands each of them to `_read` with both schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fastavro.read import LOGICAL_READERS

from tandem.formats.framing import UndecodableError

_MARK: Final = "tandem-"
_CLOCK, _INSTANT, _DAY = "a time of day", "a timestamp", "a date"
_MEANT: Final = {
    ("long", "timestamp-millis"): (_INSTANT, 10**3),
    ("long", "timestamp-micros"): (_INSTANT, 10**6),
    ("long", "timestamp-nanos"): (_INSTANT, 10**9),
    ("long", "local-timestamp-millis"): (_INSTANT, 10**3),
    ("long", "local-timestamp-micros"): (_INSTANT, 10**6),
    ("long", "local-timestamp-nanos"): (_INSTANT, 10**9),
    ("int", "time-millis"): (_CLOCK, 10**3),
    ("long", "time-micros"): (_CLOCK, 10**6),
    ("int", "date"): (_DAY, 1),
}
"""Type and logical type → what it is, and how many units are in a second. A local time is read as one of UTC, and back."""
_BY_NAME: Final = {name: meant for (_, name), meant in _MEANT.items()}


def is_time(schema: Mapping[str, Any]) -> bool:
    """Whether a schema is that of a time or a date."""
    kind, name = schema.get("type"), schema.get("logicalType")
    return isinstance(kind, str) and isinstance(name, str) and (kind, name) in _MEANT


def times_in(tree: Any) -> Iterator[str]:
    """The logical types of all times in a schema's JSON."""
    if isinstance(tree, list):
        for one in tree:
            yield from times_in(one)
    elif isinstance(tree, Mapping):
        if is_time(tree):
            yield str(tree["logicalType"])
        for name, one in tree.items():
            if name != "default":
                yield from times_in(one)


def marked(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a time, as fastavro hands its values to `_read`."""
    return {**schema, "logicalType": _MARK + str(schema["logicalType"])}


def _read(value: int, writer: Any, reader: Any) -> int | float:
    """A time that `writer` describes as a number of the reader's unit; a plain number for a reader that asks for one.

    Raises `UndecodableError` where one of them is no such time.
    """
    written, read = _name(writer), _name(reader)
    if read is not None and written is not None and read != written:
        (what, units), (wanted, needed) = _BY_NAME[written], _BY_NAME[read]
        if what != wanted:
            raise UndecodableError(f"it has {written}, {what}, where the reader's schema has {read}, {wanted}")
        return value * needed // units
    kind = reader.get("type") if isinstance(reader, Mapping) else reader
    return float(value) if kind in ("float", "double") else value


def _name(schema: Any) -> str | None:
    name = schema.get("logicalType") if isinstance(schema, Mapping) else None
    return name.removeprefix(_MARK) if isinstance(name, str) and name.startswith(_MARK) else None


LOGICAL_READERS.update({f"{kind}-{_MARK}{name}": _read for kind, name in _MEANT})
