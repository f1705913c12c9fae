"""A schema that Tandem takes, Spark takes too, with the same columns; and the other way round."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tandem.manifest.collations import is_collation
from tandem.manifest.ddl import DdlError, column_names

pytestmark = pytest.mark.thorough

_NAMES = (
    *("a", "B", "_1", "1a", "1e", "1e5", "1d", "10L", "1bd", "1e5x", "1e5l", "5", "select", "comment", "not", "é"),
    *("`é`", "`a--b`", "`a``b`", "`a`` `", "````", "'a'", '"a"', "a.b", "a-b", "$a"),
)
_TYPES = (
    *("INT", "String", "DOUBLE", "DATE", "VOID", "TEXT", "INT(3)", "STRING(5)", "`INT`", "VARIANT", "TIME", "TIME(3)"),
    *("DECIMAL", "DECIMAL(0)", "DECIMAL(38, 38)", "DECIMAL(39)", "DECIMAL(5,9)", "DECIMAL(40, 2)", "DECIMAL()"),
    *("DECIMAL(1,2,3)", "NUMERIC (5)", "CHAR(0)", "CHAR", "VARCHAR(9)", "VARCHAR(2147483647)", "VARCHAR(2147483648)"),
    *("INTERVAL", "TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITHOUT TIME ZONE"),
    *(
        "TIMESTAMP WITHOUT LOCAL TIME ZONE",
        "TIMESTAMP LOCAL",
        "TIMESTAMP_NTZ",
        "TIMESTAMP_LTZ",
        "TIME WITHOUT TIME ZONE",
    ),
    *("STRING COLLATE UNICODE_CI", "STRING COLLATE FOO", "STRING COLLATE de_AI_RTRIM", "CHAR(3) COLLATE UNICODE"),
    *("INT COLLATE UNICODE", "STRING COLLATE `utf8_lcase`", "STRING COLLATE"),
)
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "WEEK")
_ENDS = (
    *("", " NOT NULL", " NULL", " NOT", " NOT NULL NOT NULL", " COMMENT 'x'", " COMMENT x", " COMMENT", " COMMENT ''"),
    *(" COMMENT 'a -- b'", " COMMENT 'a /* b */'", " COMMENT 'it''s'", " COMMENT 'a' \"b\"", " COMMENT R'x\\d'"),
    *(" COMMENT r'x\\'", " COMMENT 'x\\'", " COMMENT 'it\\'s'", " COMMENT 'x' NOT NULL", " NOT NULL COMMENT 'x'"),
    *(
        " -- x",
        " -- x\n",
        " -- x \\\n y",
        " /* x */",
        " /* /* x */ */",
        " /* /* x */",
        " /*+ x */",
        " DEFAULT 5",
        ";",
        "\u00a0",
    ),
)
_INTERVALS = st.builds("INTERVAL {} TO {}".format, st.sampled_from(_UNITS), st.sampled_from(_UNITS))
_LEAVES = st.one_of(st.sampled_from(_TYPES), _INTERVALS, st.sampled_from(_UNITS).map("INTERVAL {}".format))


def _nested(types: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    field = st.builds(
        "{}{}{}{}".format, st.sampled_from(_NAMES), st.sampled_from((":", " ", " : ")), types, st.sampled_from(_ENDS)
    )
    return st.one_of(
        st.builds("ARRAY<{}>".format, types),
        st.builds("MAP<{}, {}>".format, types, types),
        st.lists(field, max_size=2).map(lambda fields: f"STRUCT<{', '.join(fields)}>"),
    )


_COLUMNS = st.builds(
    "{} {}{}".format, st.sampled_from(_NAMES), st.recursive(_LEAVES, _nested, max_leaves=3), st.sampled_from(_ENDS)
)
_PLAIN = tuple(f"{name} INT" for name in _NAMES) + tuple(f"a {kind}, b INT" for kind in _TYPES)
_ENDED = tuple(f"a STRING{end}, b INT" for end in _ENDS) + tuple(f"a STRING{end}" for end in _ENDS)
_BETWEEN = tuple(f"a INTERVAL {begin} TO {end}" for begin in _UNITS for end in _UNITS)


def ours(ddl: str) -> tuple[str, ...] | None:
    """The columns that Tandem finds in a schema; None: it refuses it."""
    try:
        return column_names(ddl)
    except DdlError as error:
        return () if "two columns are named" in str(error) else None


def sparks(spark: SparkSession, ddl: str) -> tuple[str, ...] | None:
    """Those that Spark finds. Twice the same column is refused by Tandem only, on purpose: none then."""
    try:
        found = spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl).json()
    except (PySparkException, Py4JJavaError):
        return None
    schema = StructType.fromJson(json.loads(found))
    return tuple(schema.names)


def test_each_part_of_a_schema_is_taken_as_spark_takes_it(spark: SparkSession) -> None:
    cases = (*_PLAIN, *_ENDED, *_BETWEEN)

    assert {ddl: ours(ddl) for ddl in cases} == {ddl: sparks(spark, ddl) for ddl in cases}


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(columns=st.lists(_COLUMNS, min_size=1, max_size=3))
def test_generated_schemas_are_taken_as_spark_takes_them(spark: SparkSession, columns: list[str]) -> None:
    ddl = ", ".join(columns)

    found = ours(ddl)

    assert found == () or found == sparks(spark, ddl)


def test_collations_are_those_of_spark(spark: SparkSession) -> None:
    known = {row[0] for row in spark.sql("SELECT name FROM collations()").collect()}

    assert len(known) > 1_000
    assert {name for name in known if not is_collation(name)} == set()
