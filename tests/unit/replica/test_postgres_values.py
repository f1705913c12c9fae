"""What PostgreSQL cannot hold is the fault of one row, which is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tandem.replica.postgres_fit import Column
from tandem.replica.postgres_rows import encode


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.list_(pa.timestamp("us"))])
def test_a_row_with_the_least_time_of_spark_is_refused_and_no_other(kind: pa.DataType) -> None:
    times = [[0], [-(2**63)]] if pa.types.is_list(kind) else [0, -(2**63)]
    rows = pa.StructArray.from_arrays([pa.array(times, kind)], ["at"])

    encoded = encode(rows, range(2))

    assert [index for index, _ in encoded.rows] == [0]
    assert encoded.refused == {1: "it has a time that PostgreSQL cannot hold"}


@pytest.mark.parametrize("kind", ["character varying(3)", "character varying(3)[]"])
def test_a_text_that_spaces_make_too_long_is_refused_and_not_shortened(kind: str) -> None:
    """The database refuses all others that are too long, in its own words."""
    texts = ["abc", "ab ", "äöü", "abc ", "   " * 3, "abcd", "abc d", "abc\t", None]
    values = [text if kind.endswith(")") else [text] for text in texts]
    rows = pa.StructArray.from_arrays([pa.array(values)], ["t"])

    encoded = encode(rows, range(len(texts)), widths={"t": Column(kind).width})

    assert {index: why.partition(":")[0] for index, why in encoded.refused.items()} == {
        3: "it has a text of 4 characters, and the column holds 3",
        4: "it has a text of 9 characters, and the column holds 3",
    }


@pytest.mark.parametrize("kind", ["text", "character varying", "numeric(10,2)", "character varying[]"])
def test_other_columns_have_no_width(kind: str) -> None:
    assert Column(kind).width is None
