"""Rows that came, held against those that should have come, epoch by epoch. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from bench.workloads.base import Row

_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Differences:
    """Rows that are missing, that came though they should not (or once more), and keys of an epoch in another order.

    `first` : the first difference, in words.
    """

    missing: int = 0
    surplus: int = 0
    reordered: int = 0
    first: str = ""

    @property
    def none(self) -> bool:
        """Whether the rows are exactly those."""
        return not (self.missing or self.surplus or self.reordered)

    def __str__(self) -> str:
        counts = f"{self.missing} missing, {self.surplus} too many, {self.reordered} out of order"
        return f"{counts}: {self.first}" if self.first else counts


def differences(expected: Sequence[Sequence[Row]], got: Sequence[Sequence[Row]]) -> Differences:
    """All differences of all epochs; a changed row is one that is missing and one too many.

    Rows of a key have to be in their order; rows without a key may be in any.
    """
    missing = surplus = reordered = 0
    first = ""
    for epoch, (wanted, came) in enumerate(zip_longest(expected, got, fillvalue=())):
        less, more = Counter(wanted) - Counter(came), Counter(came) - Counter(wanted)
        missing, surplus = missing + less.total(), surplus + more.total()
        moved = [] if less or more else list(_moved(wanted, came))
        reordered += len(moved)
        first = first or _told(epoch, less, more, moved)
    return Differences(missing, surplus, reordered, first)


def _moved(wanted: Sequence[Row], came: Sequence[Row]) -> Iterator[bytes]:
    """The keys whose rows are in another order."""
    theirs = _by_key(came)
    for key, rows in _by_key(wanted).items():
        if rows != theirs[key]:
            yield key


def _by_key(rows: Sequence[Row]) -> dict[bytes, list[Row]]:
    found: dict[bytes, list[Row]] = {}
    for row in rows:
        if row.key is not None:
            found.setdefault(row.key, []).append(row)
    return found


def _told(epoch: int, less: Counter[Row], more: Counter[Row], moved: Sequence[bytes]) -> str:
    parts = [f"{what} {_shown(next(iter(rows)))}" for what, rows in (("without", less), ("with", more)) if rows]
    parts += [f"rows of {moved[0]!r} in another order"] if moved else []
    return f"epoch {epoch} is {' and '.join(parts)}" if parts else ""


def _shown(row: Row) -> str:
    text = f"{row.key!r}: {row.value!r}" + (f" {row.headers}" if row.headers else "")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
