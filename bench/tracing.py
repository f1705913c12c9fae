"""Rows of the literature's workloads, traced to the record that caused them. Pure.

Most of these records have no time of creation in them, and their jobs are not changed for the bench: what a row tells is a
*code*, from which the record's number follows, and the feeder has kept when it made each record.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping

import numpy as np

from bench.analysis import Times
from bench.definition import Came
from bench.nexmark.draws import Numbers
from bench.nexmark.events import number_of_auction, number_of_person
from bench.records import PARTITIONS, Arrivals
from bench.workloads.latency import NUMBER_BYTES

UNKNOWN = -1
"""The code of a row that no record can have caused: it counts as one too many."""
EVENTS = 1_000
"""The code of a row of the sequences is the record's number times this, and how many events a visit had; 0: an alert."""
PRICES = 2**27
"""The code of a row of Nexmark's query 2 is the auction times this, and the price, until it is matched."""

FIRST = 200
"""Records of the first source for one of the second, where two have 1,000/s and 5/s."""

_EVENT: Mapping[bytes, Callable[[int], int]] = {
    b"bid": lambda id_: id_,
    b"auction": number_of_auction,
    b"person": number_of_person,
}
"""What the number of an event is, by the id of what it brings."""

Trace = Callable[[bytes | None, bytes | None], Came]


def of_map(_key: bytes | None, value: bytes | None) -> Came:
    """`events-0000000123 …`."""
    return _numbered(int((value or b"")[7:17]))


def of_union(_key: bytes | None, value: bytes | None) -> Came:
    """`first-0000000123 …` or `second-0000000004 …`; see `united`."""
    source, _, rest = (value or b"").partition(b"-")
    place, number = int(source == b"second"), int(rest[:10])
    return Came(united(place, number), 0, place * PARTITIONS + number % PARTITIONS)


def united(place: int, number: int) -> int:
    """The number among all records of that of a source (0 or 1): one of the second follows each `FIRST` of the first."""
    return (number + 1) * (FIRST + 1) - 1 if place else number + number // FIRST


def of_transform(_key: bytes | None, value: bytes | None) -> Came:
    """A payload in base64; it begins with its number."""
    return _numbered(int(b64decode((value or b"")[:16])))


def of_count(_key: bytes | None, value: bytes | None) -> Came:
    """`1,<payload>` in base64: each payload comes once, so another count is wrong."""
    count, _, payload = _begin(value).partition(b",")
    number = int(payload[:NUMBER_BYTES])
    return _numbered(number, is_right=count == b"1")


def of_join(key: bytes | None, value: bytes | None) -> Came:
    """`<found>,<payload>` in base64; the table has twice the key."""
    found, _, payload = _begin(value).partition(b",")
    number = int(payload[:NUMBER_BYTES])
    return _numbered(number, is_right=int(found) == 2 * int(key or b"0"))


def of_line(_key: bytes | None, value: bytes | None) -> Came:
    """`000000000123 …`."""
    return _numbered(int((value or b"")[:12]))


def of_group(key: bytes | None, value: bytes | None) -> Came:
    """`k0000017 000000000123 …`, with the first of these as the key."""
    line = value or b""
    return Came(int(line[9:21]) if line[:8] == key else UNKNOWN, 0, int(line[1:8]))


def of_sequence(key: bytes | None, value: bytes | None) -> Came:
    """`alert 123 leave-usage` or `visit 123 5`, of `user-17`."""
    kind, number, what = (value or b"").split(b" ")
    events = min(int(what), EVENTS - 1) if kind == b"visit" else 0
    return Came(int(number) * EVENTS + events, 0, int((key or b"")[5:]))


def of_event(_key: bytes | None, value: bytes | None) -> Came:
    """`{"bid":{"id":123,…`: an event of Nexmark, as it was sent."""
    kind, _, rest = (value or b"")[2:].partition(b'":{"id":')
    id_ = int(rest[: rest.index(b",")])
    return _numbered(_EVENT[kind](id_))


def of_bid(_key: bytes | None, value: bytes | None) -> Came:
    """A row of Nexmark's query 1: the bid's id is the event's number."""
    return _numbered(int(json.loads(value or b"")["id"]))


def of_price(_key: bytes | None, value: bytes | None) -> Came:
    """A row of Nexmark's query 2, which has no id."""
    row = json.loads(value or b"")
    return Came(int(row["auction"]) * PRICES + int(row["price"]), 0, 0)


def timed(arrivals: Arrivals, created: Times, step: int = 1) -> Arrivals:
    """The arrivals with the times of creation of the records that caused them. `step`: codes of one record.

    What no record can have caused is as old as its arrival.
    """
    numbers = arrivals["number"] // step
    known = (numbers >= 0) & (numbers < len(created))
    found = arrivals.copy()
    found["created_ns"] = arrivals["arrived_ns"]
    found["created_ns"][known] = created[numbers[known]]
    return found


def matched(arrivals: Arrivals, codes: Numbers, numbers: Numbers) -> Arrivals:
    """The arrivals with numbers in the place of codes that several records may have.

    `codes`, `numbers` : of the records that cause a row, ascending by number, shape (records,). Of equal codes the first to
    arrive is that of the first record, and so on; those beyond the last are `UNKNOWN`.
    """
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    came = np.argsort(arrivals["number"], kind="stable")
    wanted = arrivals["number"][came]
    place = np.arange(len(wanted)) - np.searchsorted(wanted, wanted) + np.searchsorted(ordered, wanted)
    is_one = place < np.searchsorted(ordered, wanted, side="right")
    of_row = np.full(len(wanted), UNKNOWN)
    of_row[is_one] = numbers[order[place[is_one]]]
    found = arrivals.copy()
    found["number"][came] = of_row
    found["key"] = np.where(found["number"] >= 0, found["number"] % PARTITIONS, 0)
    return found


def _numbered(number: int, is_right: bool = True) -> Came:
    """Of a record that went round the partitions."""
    return Came(number if is_right else UNKNOWN, 0, number % PARTITIONS)


def _begin(value: bytes | None) -> bytes:
    return b64decode((value or b"")[:32])
