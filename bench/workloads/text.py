"""Many values at once, as arrays of bytes: a row of the array is a record. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bench.workloads.base import Numbers

Bytes = npt.NDArray[np.uint8]


def digits(numbers: Numbers, width: int) -> Bytes:
    """Decimal numbers with leading zeros, shape (numbers, width)."""
    rest, rows = numbers.copy(), np.empty((len(numbers), width), np.uint8)
    for place in range(width - 1, -1, -1):
        rest, rows[:, place] = rest // 10, rest % 10
    return rows + np.uint8(ord("0"))


def constant(text: bytes, count: int) -> Bytes:
    """The same text in each row."""
    return np.broadcast_to(np.frombuffer(text, np.uint8), (count, len(text)))


def table(texts: Sequence[bytes]) -> Bytes:
    """Texts of one length, one a row, to be picked from by an array of their places."""
    return np.frombuffer(b"".join(texts), np.uint8).reshape(len(texts), -1)


def rows(parts: Sequence[Bytes], width: int = 0) -> list[bytes]:
    """The parts side by side, filled with `x` to `width` bytes if they are shorter; one value a row."""
    count, used = len(parts[0]), sum(part.shape[1] for part in parts)
    filling = [constant(b"x" * (width - used), count)] if width > used else []
    joined = np.concatenate([*parts, *filling], axis=1)
    data, length = joined.tobytes(), joined.shape[1]
    return [data[at : at + length] for at in range(0, len(data), length)]
