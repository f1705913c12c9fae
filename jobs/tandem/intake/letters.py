"""The dead letter of an input record: where it stands in Kafka, why it was not processed, and what it holds.

A letter's value is one JSON object, its key that of the record:

==================  =============================================================================================
`source`            of the manifest
`topic`, `partition`, `offset`  where the record stands
`timestamp`         ISO 8601, UTC; Kafka's number (Unix, ms) where it is no date of the years 1 to 9999
`reason`            why the record was not processed
`value`             as text; bytes that are no UTF-8 show as U+FFFD
`valueBase64`       the exact bytes, only where they are no UTF-8
`truncated`         true if the value or the key was cut, so that the letter fits into `maxRecordBytes`
`valueBytes`, `keyBytes`  how long what was cut had been
==================  =============================================================================================
"""

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_UNIX: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS: Final = -62_135_596_800_000
_LAST_MS: Final = 253_402_300_799_999
"""Years 1 to 9999."""
_REASON_CHARACTERS: Final = 2_000
LEAST_BYTES: Final = 1_000
"""A letter without a value has about so many bytes at most; a smaller limit is not kept."""


@dataclass(frozen=True, slots=True)
class InputRecord:
    """A record of an input, with the source that it belongs to. `timestamp_ms`: Unix, as Kafka has it."""

    source: str
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


def letter(record: InputRecord, reason: str, most_bytes: int) -> tuple[bytes | None, bytes]:
    """Key and value of the record's dead letter, of `most_bytes` together at most."""
    most_bytes = max(most_bytes, LEAST_BYTES)
    key, cut_key = record.key, {}
    if key is not None and len(key) > most_bytes // 4:
        key, cut_key = key[: most_bytes // 4], {"keyBytes": len(key)}
    room = most_bytes - len(key or b"")
    kept = None if record.value is None else len(record.value)
    while True:
        text = _letter(record, reason, kept, cut_key)
        if len(text) <= room:
            return key, text
        if kept:
            kept = min(kept - 1, kept * room // len(text))
        elif len(reason) > 1:
            reason = reason[: len(reason) // 2]
        else:
            return key, text


def _letter(record: InputRecord, reason: str, kept: int | None, cut_key: dict[str, int]) -> bytes:
    fields: dict[str, Any] = {
        "source": record.source,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": _time(record.timestamp_ms),
        "reason": reason if len(reason) <= _REASON_CHARACTERS else f"{reason[:_REASON_CHARACTERS]} …",
    }
    if record.value is not None and kept is not None:
        fields |= value_fields(record.value, kept)
    if cut_key:
        fields |= {"truncated": True} | cut_key
    # Python's texts may hold halves of characters (`\ud800` in JSON), which no UTF-8 has.
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def value_fields(value: bytes, kept: int) -> dict[str, Any]:
    """The fields of a letter that say a value, of which the first `kept` bytes are shown."""
    part = value[:kept]
    cut = {"truncated": True, "valueBytes": len(value)} if kept < len(value) else {}
    try:
        return {"value": _whole_characters(part).decode() if cut else part.decode()} | cut
    except UnicodeDecodeError:
        exact = base64.b64encode(part).decode()
        return {"value": part.decode(errors="replace"), "valueBase64": exact} | cut


def _whole_characters(text: bytes) -> bytes:
    """Without the first bytes of a character whose others were cut off."""
    for length in range(1, min(4, len(text) + 1)):
        first = text[-length]
        if first >= 0xC0:
            needed = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            return text[:-length] if length < needed else text
        if first < 0x80:
            break
    return text


def _time(timestamp_ms: int) -> str | int:
    if not _FIRST_MS <= timestamp_ms <= _LAST_MS:
        return timestamp_ms
    time = _UNIX + timedelta(milliseconds=timestamp_ms)
    return time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
