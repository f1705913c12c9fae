"""Schemas are checked without a JVM."""

from __future__ import annotations

import pytest

from tandem.manifest.ddl import DdlError, column_names, columns_alike


@pytest.mark.parametrize(
    ("ddl", "names"),
    [
        ("a STRING", ("a",)),
        ("a string, b Int", ("a", "b")),
        ("a STRING, -- a remark\n b /* b, too */ INT", ("a", "b")),
        ("a TIMESTAMP WITHOUT TIME ZONE, b TIME(3), c TIME, 1d INT", ("a", "b", "c", "1d")),
        ("a DECIMAL(10, 2) NOT NULL, b DECIMAL, c VARCHAR(5)", ("a", "b", "c")),
        ("a ARRAY<STRUCT<x: INT, y: MAP<STRING, ARRAY<DOUBLE>>>>, b DATE", ("a", "b")),
        ("a STRUCT<x INT COMMENT 'deep, here', y: STRUCT<>> NOT NULL COMMENT \"b>c\"", ("a",)),
        ("`my column` TIMESTAMP_NTZ, `a``b` BINARY", ("my column", "a`b")),
        ("a INTERVAL DAY TO SECOND, b INTERVAL YEAR", ("a", "b")),
        ("a STRING COLLATE UTF8_LCASE, date DATE, struct INT", ("a", "date", "struct")),
        ("a\n  STRING,\n  b BIGINT\n", ("a", "b")),
    ],
)
def test_a_schema_gives_its_columns(ddl: str, names: tuple[str, ...]) -> None:
    assert column_names(ddl) == names


@pytest.mark.parametrize(
    ("ddl", "message"),
    [
        ("", "it is empty"),
        ("a", "the type of a is missing"),
        ("a STRING,", "a column is missing at the end"),
        ("a STRING b INT", "a comma or the end was expected, not 'b'"),
        ("a TEXT", "unknown type TEXT, perhaps STRING"),
        ("a DUBLE", "unknown type DUBLE, perhaps DOUBLE"),
        ("a STRING, a INT", "two columns are named a"),
        ("a ARRAY", "'<' was expected, not the end"),
        ("a ARRAY<INT", "'>' was expected, not the end"),
        ("a MAP<STRING>", "',' was expected, not '>'"),
        ("a STRUCT<x: FOO>", "x has the unknown type FOO"),
        ("a STRUCT<x: INT, x: INT>", "two columns are named x"),
        ("a: STRING, b: INT", "there is a ':' after a, where a space belongs"),
        ("a DECIMAL(x)", "'x' in a's type is no whole number"),
        ("a DECIMAL(", "'' in a's type is no whole number"),
        ("a DECIMAL(1, 2, 3)", "write e.g. DECIMAL(10, 2)"),
        ("a VARCHAR", "write e.g. VARCHAR(20)"),
        ("a INT(3)", "a comma or the end was expected, not '('"),
        ("1 STRING", "a column's name was expected, not '1'"),
        ("é STRING", "put it in backquotes"),
        ("a STRING NOT", "'null' was expected"),
        ("a, b", "the type of a is missing"),
        ("{a: STRING}", "a column's name was expected, not '{'"),
    ],
)
def test_what_is_no_schema_is_explained(ddl: str, message: str) -> None:
    with pytest.raises(DdlError) as caught:
        column_names(ddl)

    assert message in str(caught.value)


def test_columns_that_differ_only_in_case_are_found_also_within_structs() -> None:
    assert columns_alike("id INT, name STRING, ID INT") == ("id", "ID")
    assert columns_alike("s STRUCT<x: INT, X: INT>") == ("x", "X")
    assert columns_alike("x INT, s STRUCT<X: INT>") is None
