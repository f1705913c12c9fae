"""What a sink cannot hold is refused with sink, column, type and remedy; what it can hold is let in."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CalendarIntervalType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    UserDefinedType,
    VarcharType,
    VariantType,
    YearMonthIntervalType,
)

from tandem.engine.sink_types import check_kafka, check_table
from tandem.jobapi.errors import JobError
from tandem.manifest import SinkSpec

KINDS = ["parquet", "delta"]
INT = IntegerType()
OUT = SinkSpec(name="out", topic="out")
HELD: list[DataType] = [
    *(kind() for kind in (BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType)),
    *(kind() for kind in (StringType, BinaryType, DateType, TimestampType, TimestampNTZType)),
    DecimalType(38, 18),
    StructType().add("a", INT).add("b", ArrayType(StringType())),
    MapType(StringType(), ArrayType(StructType().add("x", DateType()))),
]


class Point(UserDefinedType):
    """A type of a user's own."""

    @classmethod
    def sqlType(cls) -> DataType:  # noqa: N802 - Spark's name
        return ArrayType(DoubleType())


NOT_HELD: list[tuple[DataType, str, str]] = [
    (YearMonthIntervalType(), "INTERVAL YEAR TO MONTH", "with extract()"),
    (DayTimeIntervalType(), "INTERVAL DAY TO SECOND", "with extract()"),
    (CalendarIntervalType(), "INTERVAL", "Cast it to STRING"),
    (VariantType(), "VARIANT", "to_json()"),
    (NullType(), "VOID", "Cast it to the type"),
    (TimeType(), "TIME(6)", "Cast it to STRING"),
    (CharType(5), "CHAR(5)", "Cast it to STRING"),
    (VarcharType(5), "VARCHAR(5)", "Cast it to STRING"),
    (StringType("UTF8_LCASE"), "STRING COLLATE UTF8_LCASE", "the collation UTF8_BINARY"),
    (Point(), "UDT", "Select the fields"),
]


def row(kind: DataType, name: str = "x") -> StructType:
    return StructType().add("n", INT).add(name, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("held", HELD, ids=str)
def test_a_type_that_comes_back_as_it_was_is_let_in(held: DataType, kind: str) -> None:
    check_table("archive", kind, row(held))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("refused", "name", "remedy"), NOT_HELD, ids=lambda one: str(one))
def test_a_type_that_would_change_or_crash_is_refused_with_sink_column_type_and_remedy(
    refused: DataType, name: str, remedy: str, kind: str
) -> None:
    with pytest.raises(JobError) as error:
        check_table("archive", kind, row(refused))

    assert str(error.value).startswith(f"sink archive: column `x` is {name}, and a {kind} table would not give it back")
    assert remedy in str(error.value)


@pytest.mark.parametrize(
    ("nested", "column"),
    [
        (StructType().add("d", DayTimeIntervalType()), "x.d"),
        (ArrayType(VariantType()), "x.element"),
        (MapType(StringType(), ArrayType(NullType())), "x.value.element"),
        (MapType(CharType(3), INT), "x.key"),
    ],
    ids=str,
)
def test_it_is_found_however_deep_it_lies(nested: DataType, column: str) -> None:
    with pytest.raises(JobError, match=f"column `{column}` is "):
        check_table("archive", "parquet", row(nested))


def test_names_that_differ_only_in_case_are_refused_in_structs_too() -> None:
    with pytest.raises(JobError, match=r"the job selects several fields of one name \(n, N\)"):
        check_table("archive", "parquet", row(INT, "N"))
    with pytest.raises(JobError, match=r"column `x` has several fields of one name \(a, A\)"):
        check_table("archive", "parquet", row(StructType().add("a", INT).add("A", INT)))


def test_a_struct_without_fields_and_a_row_without_columns_are_refused() -> None:
    with pytest.raises(JobError, match="column `x` is a struct without fields"):
        check_table("archive", "delta", row(StructType()))
    with pytest.raises(JobError, match="the job selects no column"):
        check_table("archive", "parquet", StructType())


def test_a_time_without_zone_in_a_map_is_refused_for_delta_alone() -> None:
    times = row(MapType(INT, TimestampNTZType()))

    check_table("archive", "parquet", times)
    with pytest.raises(JobError, match=r"column `x.value` is TIMESTAMP_NTZ in a map"):
        check_table("archive", "delta", times)


# Kafka ---------------------------------------------------------------------------------------------------------------

HEADERS = ArrayType(StructType().add("key", StringType()).add("value", BinaryType()))


def kafka(**columns: DataType) -> StructType:
    schema = StructType().add("value", BinaryType())
    for name, kind in columns.items():
        schema = schema.add(name, kind)
    return schema


def test_the_columns_of_sparks_kafka_sink_are_let_in() -> None:
    check_kafka(OUT, kafka(key=StringType(), partition=INT, headers=HEADERS, extra=VariantType()), False)
    check_kafka(OUT, kafka(partition=LongType(), topic=StringType()), False)


@pytest.mark.parametrize(
    ("schema", "names_topic", "said"),
    [
        (StructType().add("key", StringType()), False, "no column `value`"),
        (kafka(key=INT), False, "column `key` is int. Cast it to STRING or BINARY"),
        (kafka(partition=StringType()), False, "column `partition` is string. Cast it to INT"),
        (kafka(partition=DoubleType()), False, "column `partition` is double. Cast it to INT"),
        (
            kafka(headers=MapType(StringType(), BinaryType())),
            False,
            "it must be ARRAY<STRUCT<key: STRING, value: BINARY>>",
        ),
        (
            kafka(headers=ArrayType(StructType().add("value", BinaryType()).add("key", StringType()))),
            False,
            "column `headers` is array<struct<value:binary,key:string>>",
        ),
        (kafka(topic=StringType()), True, "one sink for each topic and return a dict"),
    ],
    ids=range(7),
)
def test_other_columns_are_refused_with_the_remedy(schema: StructType, names_topic: bool, said: str) -> None:
    with pytest.raises(JobError) as error:
        check_kafka(OUT, schema, names_topic)

    assert str(error.value).startswith("sink out: ")
    assert said in str(error.value)
