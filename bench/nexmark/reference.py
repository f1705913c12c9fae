"""What a query has to answer to some records: computed by DuckDB from the records' JSON, by nothing that the jobs use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import duckdb
import pyarrow as pa

from bench.nexmark.answers import ANSWERS, WINNING

Row: TypeAlias = Mapping[str, Any]
"""A row of an answer, by its columns. A price in euros is a `Decimal`."""

_NUMBERS: Final = {
    "persons": ("id", "dateTime"),
    "auctions": ("id", "initialBid", "reserve", "dateTime", "expires", "seller", "category"),
    "bids": ("id", "auction", "bidder", "price", "dateTime"),
}
_TEXTS: Final = {"persons": ("name", "city", "state"), "auctions": (), "bids": ()}


def answer(
    query: str, values: Sequence[bytes], until_ms: int, processed_ms: Mapping[int, int] | None = None
) -> list[Row]:
    """The rows of `query` (`q1` to `q12`) to these records, in the order in which they have one.

    Queries 1 and 2 have the order of the records; 4, 5, 6, 7 and 9 that in which auctions close or windows end, then that
    of ids; the others have none.

    `values` : of the records, in their order. `until_ms` : windows, sessions and auctions that end later have no row yet.
    `processed_ms` : of each bid, by its id, the time of its epoch (Unix, ms); for query 12.
    """
    with duckdb.connect() as connection:
        for name, table in _tables(values, processed_ms or {}).items():
            connection.register(name, table)
        connection.execute(WINNING)
        sql = ANSWERS[query]
        found = connection.execute(sql, {"until": until_ms} if "$until" in sql else {})
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def rows_of(values: Sequence[bytes]) -> list[Row]:
    """The rows that a job has published, of its records' values."""
    rows = [json.loads(value, parse_float=Decimal) for value in values]
    return [{name: float(of) if name == "average" else of for name, of in row.items()} for row in rows]


def _tables(values: Sequence[bytes], processed_ms: Mapping[int, int]) -> dict[str, pa.Table]:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in _NUMBERS}
    for place, value in enumerate(values):
        for kind, record in json.loads(value).items():
            found[f"{kind}s"].append({**record, "place": place})
    tables = {name: pa.Table.from_pylist(records, _schema(name)) for name, records in found.items()}
    bids, times = list(processed_ms.keys()), list(processed_ms.values())
    return {**tables, "processed": pa.table({"bid": pa.array(bids, pa.int64()), "at": pa.array(times, pa.int64())})}


def _schema(name: str) -> pa.Schema:
    numbers, texts = (*_NUMBERS[name], "place"), _TEXTS[name]
    return pa.schema([(one, pa.int64()) for one in numbers] + [(one, pa.string()) for one in texts])
