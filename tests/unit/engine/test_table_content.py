"""What a table holds behind an epoch's records."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from tandem.engine.tables.content import changed, columns_of, content_schema, empty, fold

COLUMNS = pa.schema([("id", pa.int32()), ("name", pa.string())])
SCHEMA = content_schema(COLUMNS)
Record = tuple[int | None, bytes | None]
"""The key column, None for a tombstone; and the record's key."""

RECORDS = st.lists(
    st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from([b"", b"a", b"b", b"c"])), max_size=12
)


def table(records: list[Record], first: int = 0) -> pa.Table:
    """Records as rows; each is named by its number."""
    rows = [
        {
            "id": key,
            "name": None if key is None else f"r{first + number}",
            "_tandem_key": None if key is None else f'{{"id":{key}}}',
            "_tandem_record_key": record_key,
        }
        for number, (key, record_key) in enumerate(records)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def by_hand(records: list[Record], most: int = 1_000) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows, by the order of their last change, and the records that had no room."""
    rows: list[tuple[int, bytes | None, str]] = []
    refused = []
    for number, (key, record_key) in enumerate(records):
        left = [row for row in rows if row[0] != key and (record_key is None or row[1] != record_key)]
        if key is not None:
            if len(left) == len(rows) and len(rows) >= most:
                refused.append(number)
                continue
            left.append((key, record_key, f"r{number}"))
        rows = left
    return [{"id": key, "name": name} for key, _, name in rows], refused


@given(RECORDS, st.lists(st.integers(0, 12), max_size=3), st.integers(1, 3))
@example([(0, None), (1, None), (2, None)], [], 2)
@example([(0, b"a"), (1, b"a"), (0, b"b")], [1], 1)
def test_a_table_holds_the_latest_row_of_every_key_wherever_epochs_end(
    records: list[Record], cuts: list[int], most: int
) -> None:
    content, refused = empty(COLUMNS), []
    ends = [*sorted(min(cut, len(records)) for cut in cuts), len(records)]
    for start, end in zip([0, *ends], ends, strict=False):
        folded = fold(content, table(records[start:end], start), most)
        assert folded.content.equals(changed(content, folded.changes)), "what is kept gives the same table"
        content = folded.content
        refused += [start + place for place in folded.refused]
    rows, without_room = by_hand(records, most)
    assert columns_of(content).to_pylist() == rows
    assert refused == without_room
    assert content.num_rows <= most


def test_a_record_replaces_the_row_that_came_with_its_key() -> None:
    content = fold(empty(COLUMNS), table([(1, b"a"), (2, b"b")]), 10).content
    folded = fold(content, table([(3, b"a")], 2), 10)
    assert columns_of(folded.content).to_pylist() == [{"id": 2, "name": "r1"}, {"id": 3, "name": "r2"}]


def test_a_tombstone_without_a_row_changes_nothing() -> None:
    content = fold(empty(COLUMNS), table([(1, b"a"), (2, None)]), 10).content
    assert fold(content, table([(None, b"x")]), 10).content.equals(content)


def test_a_full_table_takes_what_replaces_a_row_and_refuses_a_new_one() -> None:
    content = fold(empty(COLUMNS), table([(1, b"a"), (2, b"b")]), 2).content
    folded = fold(content, table([(3, b"c"), (1, b"a"), (None, b"b"), (3, b"c")], 2), 2)
    assert folded.refused == (0,)
    assert columns_of(folded.content).to_pylist() == [{"id": 1, "name": "r3"}, {"id": 3, "name": "r5"}]
