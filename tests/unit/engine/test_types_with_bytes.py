"""Which types Spark's `mode` cannot count alike in every replica."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, BinaryType, DataType, LongType, MapType, StringType, StructField, StructType

from tandem.engine.plan_check import holds_bytes

BYTES, TEXT = BinaryType(), StringType()


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        (BYTES, True),
        (ArrayType(BYTES), True),
        (StructType([StructField("a", LongType()), StructField("b", BYTES)]), True),
        (MapType(TEXT, ArrayType(BYTES)), True),
        (TEXT, False),
        (StructType([StructField("binary", TEXT, metadata={"comment": "binary"})]), False),
    ],
)
def test_bytes_are_found_however_deep_they_lie(kind: DataType, holds: bool) -> None:
    assert holds_bytes(kind.json()) == holds
