"""What a user may write as a key."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType, TimestampType

from tandem.state import BadKeyError
from tandem.state.keys import parse_key

WINDOW = StructType([StructField("start", TimestampType()), StructField("end", TimestampType())])
ONE = StructType([StructField("tailnum", StringType())])
HOURS = StructType(
    [StructField("window", WINDOW), StructField("carrier", StringType()), StructField("n", IntegerType())]
)
BYTES = StructType([StructField("key", BinaryType())])


@pytest.mark.parametrize(
    ("written", "key", "expected"),
    [
        (["N14228"], ONE, {"tailnum": "N14228"}),
        (['"N14228"'], ONE, {"tailnum": "N14228"}),
        (["tailnum=N14228"], ONE, {"tailnum": "N14228"}),
        (["7"], ONE, {"tailnum": "7"}),
        (["a=b"], BYTES, {"key": "a=b"}),
        (['"tailnum=b"'], ONE, {"tailnum": "tailnum=b"}),
        (["null"], ONE, {"tailnum": None}),
        (["carrier=UA", "n=3"], HOURS, {"carrier": "UA", "n": "3"}),
        (["carrier="], HOURS, {"carrier": ""}),
        (["carrier=a=b"], HOURS, {"carrier": "a=b"}),
        (['{"carrier": "UA", "n": 3}'], HOURS, {"carrier": "UA", "n": 3}),
        (
            ["window.start=2013-01-01 05:00", "carrier=UA"],
            HOURS,
            {"window": {"start": "2013-01-01 05:00"}, "carrier": "UA"},
        ),
    ],
)
def test_a_key_is_a_value_or_fields_or_json(written: list[str], key: StructType, expected: dict[str, Any]) -> None:
    assert parse_key(written, key) == expected


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (["UA"], r"UA is no key: write field=value or a JSON object, with window .*, carrier \(string\), n \(int\)"),
        (["carrier=UA", "3"], "3 is no key"),
        (["window.middle.x=1"], "has no field"),
        (["nowhere.start=1"], r"the key has no field nowhere.start: it has window"),
    ],
)
def test_what_is_no_key_tells_the_fields(written: list[str], reason: str) -> None:
    with pytest.raises(BadKeyError, match=reason):
        parse_key(written, HOURS)
