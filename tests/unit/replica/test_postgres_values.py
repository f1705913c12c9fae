"""What PostgreSQL cannot hold is the fault of one row, which is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tandem.replica.postgres_rows import encode


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.list_(pa.timestamp("us"))])
def test_a_row_with_the_least_time_of_spark_is_refused_and_no_other(kind: pa.DataType) -> None:
    times = [[0], [-(2**63)]] if pa.types.is_list(kind) else [0, -(2**63)]
    rows = pa.StructArray.from_arrays([pa.array(times, kind)], ["at"])

    encoded = encode(rows, range(2))

    assert [index for index, _ in encoded.rows] == [0]
    assert encoded.refused == {1: "it has a time that PostgreSQL cannot hold"}
