"""How a registry's serialisers frame a record: a zero byte, the schema's id, then what the schema describes. Pure.

Source: Confluent's wire format, which other registries' clients write too.
"""

from typing import Final

MAGIC: Final = 0
_HEAD: Final = 5
_MOST_SHIFT: Final = 28


class UndecodableError(ValueError):
    """A record's bytes are not what its source says; the text says why, for a reader of the dead letter."""


class UnencodableError(ValueError):
    """A row's value cannot be written by its sink's schema; the text says why, for a reader of the dead letter."""


def unframed(content: bytes) -> tuple[int, bytes]:
    """The schema's id, and what follows it. Raises `UndecodableError`."""
    if not content:
        raise UndecodableError("it is empty, where a zero byte and a schema's id should stand")
    if content[0] != MAGIC:
        raise UndecodableError(
            f"it does not begin with a zero byte and a schema's id, but with {content[:4].hex(' ')}: no registry's "
            "serialiser has written it"
        )
    if len(content) < _HEAD:
        raise UndecodableError(f"it has {len(content)} bytes, and a zero byte and a schema's id have {_HEAD}")
    return int.from_bytes(content[1:_HEAD]), content[_HEAD:]


def framed(schema_id: int, payload: bytes) -> bytes:
    """A record's content, with the id of its schema before it."""
    return b"\0" + schema_id.to_bytes(4) + payload


def message_path(payload: bytes) -> tuple[list[int], bytes]:
    """Which message of its file a Protobuf payload is, as indexes from the outermost one on; and what follows.

    The indexes are varints in zigzag order behind their count; a single zero stands for the first message. Raises
    `UndecodableError`.
    """
    count, at = _number(payload, 0)
    if count == 0:
        return [0], payload[at:]
    path = []
    for _ in range(count):
        index, at = _number(payload, at)
        path.append(index)
    return path, payload[at:]


def framed_path(path: list[int]) -> bytes:
    """The inverse of `message_path`."""
    return b"\0" if path == [0] else b"".join(_varint(2 * number) for number in (len(path), *path))


def _number(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(payload) and shift <= _MOST_SHIFT:
        value |= (payload[at] & 0x7F) << shift
        at += 1
        if payload[at - 1] < 0x80:
            if value & 1:
                break
            return value >> 1, at
        shift += 7
    raise UndecodableError("it does not say which message of its schema it is")


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
