"""Tiny streams for each of Nexmark's queries, made by hand, with ties and edges; and the rows that answer them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bench.nexmark.events import BASE_MS

S = 1_000
LATER_MS = BASE_MS + 3_600 * S
"""When all of these streams is long over."""


@dataclass(frozen=True)
class Case:
    """Records of each epoch, the epochs' times (Unix, ms), and the answer, in its order if it has one."""

    epochs: Sequence[Sequence[bytes]]
    rows: Sequence[Mapping[str, Any]]
    times_ms: Sequence[int] = ()

    @property
    def values(self) -> list[bytes]:
        return [value for epoch in self.epochs for value in epoch]

    @property
    def processed_ms(self) -> dict[int, int]:
        """Of each bid, the time of its epoch."""
        times = self.times_ms or [BASE_MS] * len(self.epochs)
        return {bid: at for epoch, at in zip(self.epochs, times, strict=True) for bid in map(bid_id, epoch) if bid >= 0}


def person(id_: int, at: int = 0, state: str = "OR") -> bytes:
    return record("person", id=id_, name=f"name {id_}", city="Bend", state=state, dateTime=BASE_MS + at)


def auction(id_: int, at: int = 0, expires: int = S, seller: int = 1, category: int = 10) -> bytes:
    times = {"dateTime": BASE_MS + at, "expires": BASE_MS + expires}
    return record("auction", id=id_, initialBid=1, reserve=99, seller=seller, category=category, **times)


def bid(id_: int, at: int = 0, price: int = 1, auction: int = 1, bidder: int = 1) -> bytes:
    return record("bid", id=id_, auction=auction, bidder=bidder, price=price, dateTime=BASE_MS + at)


def record(kind: str, **fields: int | str) -> bytes:
    return json.dumps({kind: fields}).encode()


def bid_id(value: bytes) -> int:
    """Of a record; -1: it is no bid."""
    fields = json.loads(value).get("bid")
    return -1 if fields is None else int(fields["id"])


def window(start: int, seconds: int = 10) -> dict[str, int]:
    return {"start": BASE_MS + start * S, "end": BASE_MS + (start + seconds) * S}


def _euros(id_: int, price: str) -> dict[str, Any]:
    return {"id": id_, "auction": 1, "bidder": 1, "price": Decimal(price), "dateTime": BASE_MS}


def _local(auction: int, seller: int, state: str = "OR") -> dict[str, Any]:
    return {"name": f"name {seller}", "city": "Bend", "state": state, "id": auction}


def _highest(id_: int, at: int, price: int, start: int) -> dict[str, int]:
    return {"id": id_, "auction": 1, "bidder": 1, "price": price, "dateTime": BASE_MS + at, **window(start)}


def _won(id_: int, bid: int, bidder: int, price: int, at: int) -> dict[str, int]:
    times = {"dateTime": BASE_MS, "expires": BASE_MS + S, "bidDateTime": BASE_MS + at}
    return {"id": id_, "initialBid": 1, "reserve": 99, "seller": 1, "category": 10, "bid": bid} | {
        "bidder": bidder,
        "price": price,
        **times,
    }


def _session(bidder: int, bids: int, start: int, end: int) -> dict[str, int]:
    return {"bidder": bidder, "bids": bids, "start": BASE_MS + start, "end": BASE_MS + end}


def _average(by: str, key: int, auction: int, average: float) -> dict[str, float]:
    return {by: key, "auction": auction, "average": average}


CASES: Mapping[str, Case] = {
    "q1": Case([[person(1), bid(7, price=1), bid(5, price=250)]], [_euros(7, "0.908"), _euros(5, "227")]),
    "q2": Case(
        [
            [bid(1, auction=123, price=5), bid(2, auction=124)],
            [bid(3, auction=246, price=4), bid(4, auction=123, price=5)],
        ],
        [{"auction": 123, "price": 5}, {"auction": 246, "price": 4}, {"auction": 123, "price": 5}],
    ),
    "q3": Case(
        [
            [person(1), auction(11, seller=1), auction(12, seller=2), auction(13, seller=9), auction(14, category=11)],
            [person(2, at=3_000 * S, state="CA"), person(3, at=3_000 * S, state="AZ"), auction(15, seller=3)],
            [auction(16, at=3_001 * S, seller=1)],
        ],
        [_local(11, 1), _local(12, 2, "CA"), _local(16, 1)],
    ),
    # For 1, a bid before it or after its end does not count; 3 has no bid in time; 1, 2 and 4 close together.
    "q4": Case(
        [
            [bid(1, at=99, price=900), auction(1, at=100), auction(2, category=11), auction(4), bid(2, auction=3)],
            [auction(3, at=200, expires=3 * S, category=11), bid(3, at=100, price=6), bid(4, at=S, price=8)],
            [bid(5, at=S + 1, price=900), bid(6, at=S, price=9, auction=2), bid(7, at=500, price=3, auction=4)],
            [auction(5, at=2 * S, expires=4 * S), bid(8, at=4 * S, price=1, auction=5)],
        ],
        [
            _average("category", 10, 1, 8.0),
            _average("category", 11, 2, 9.0),
            _average("category", 10, 4, 5.5),
            _average("category", 10, 5, 4.0),
        ],
    ),
    # 1 and 2 have two bids each; that for 3 is at the end of a window, which is not in it.
    "q5": Case(
        [
            [bid(1, at=S, auction=2), bid(2, at=S, auction=1)],
            [bid(3, at=1_999, auction=2), bid(4, at=0), bid(5, at=2 * S, auction=3)],
        ],
        [
            *({"auction": one, "bids": 2, **window(start)} for start in (-8, -6, -4, -2, 0) for one in (1, 2)),
            {"auction": 3, "bids": 1, **window(2)},
        ],
    ),
    # Twelve auctions of a seller, closing in the order of their ids, and one of another's.
    "q6": Case(
        [
            [auction(n, expires=S + n // 3) for n in range(1, 13)] + [auction(99, seller=2)],
            [bid(n, price=6 * n, auction=n) for n in range(12, 0, -1)] + [bid(99, price=5, auction=99)],
        ],
        [
            *(_average("seller", 1, n, sum(6 * k for k in range(max(1, n - 9), n + 1)) / min(n, 10)) for n in (1, 2)),
            _average("seller", 2, 99, 5.0),
            *(
                _average("seller", 1, n, sum(6 * k for k in range(max(1, n - 9), n + 1)) / min(n, 10))
                for n in range(3, 13)
            ),
        ],
    ),
    "q7": Case(
        [[bid(2, at=9_999, price=7), bid(1, at=0, price=7), bid(3, at=5 * S, price=6)], [bid(4, at=10 * S, price=8)]],
        [_highest(1, 0, 7, 0), _highest(2, 9_999, 7, 0), _highest(4, 10 * S, 8, 10)],
    ),
    "q8": Case(
        [
            [
                person(1, at=9_999),
                auction(11, at=10 * S, seller=1),
                person(2, at=10 * S),
                auction(12, at=10 * S, seller=2),
            ],
            [
                auction(13, at=11 * S, seller=2),
                auction(14, at=12 * S, seller=3),
                person(3, at=11 * S),
                person(4, at=12 * S),
            ],
        ],
        [{"id": 2, "name": "name 2", **window(10)}, {"id": 3, "name": "name 3", **window(10)}],
    ),
    # 1: the higher price, though later; 2: of equal prices the earlier; 3: of equal times the smaller id; 4: none in time.
    "q9": Case(
        [
            [auction(1), auction(2), auction(3), auction(4)],
            [bid(11, at=1, price=5), bid(12, at=2, price=6, bidder=2), bid(13, at=S + 1, price=9)],
            [bid(22, at=5, price=5, auction=2), bid(21, at=6, price=5, auction=2), bid(41, at=S + 1, auction=4)],
            [bid(33, at=7, price=5, auction=3, bidder=4), bid(32, at=7, price=5, auction=3, bidder=5)],
        ],
        [_won(1, 12, 2, 6, 2), _won(2, 22, 1, 5, 5), _won(3, 32, 5, 5, 7)],
    ),
    # A pause of ten seconds is none; one of a millisecond more is.
    "q11": Case(
        [[bid(1, at=0), bid(2, at=500, bidder=2)], [bid(3, at=10 * S), bid(4, at=20_001)]],
        [_session(1, 2, 0, 20 * S), _session(1, 1, 20_001, 30_001), _session(2, 1, 500, 10_500)],
    ),
    # By the epochs' times: the bids' own do not matter.
    "q12": Case(
        [[bid(1, at=77 * S), bid(2, at=0, bidder=2)], [bid(3, at=5)], [bid(4, at=0), bid(5, at=9, bidder=2)]],
        [
            {"bidder": 1, "bids": 2, **window(0)},
            {"bidder": 2, "bids": 1, **window(0)},
            {"bidder": 1, "bids": 1, **window(10)},
            {"bidder": 2, "bids": 1, **window(10)},
        ],
        [BASE_MS + 1, BASE_MS + 9_999, BASE_MS + 10 * S],
    ),
}
