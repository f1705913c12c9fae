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
        ("a TIMESTAMP WITHOUT TIME ZONE, b TIME(3), c TIME, 1a INT", ("a", "b", "c", "1a")),
        ("a DECIMAL(10, 2) NOT NULL, b DECIMAL, c VARCHAR(5)", ("a", "b", "c")),
        ("a ARRAY<STRUCT<x: INT, y: MAP<STRING, ARRAY<DOUBLE>>>>, b DATE", ("a", "b")),
        ("a STRUCT<x INT COMMENT 'deep, here', y: STRUCT<>> NOT NULL COMMENT \"b>c\"", ("a",)),
        ("`my column` TIMESTAMP_NTZ, `a``b` BINARY", ("my column", "a`b")),
        ("a INTERVAL DAY TO SECOND, b INTERVAL YEAR", ("a", "b")),
        ("a STRING COLLATE UTF8_LCASE, date DATE, struct INT", ("a", "date", "struct")),
        ("a\n  STRING,\n  b BIGINT\n", ("a", "b")),
        ("a STRING COMMENT 'gross -- incl. VAT', b INT", ("a", "b")),
        ("a STRING COMMENT 'see /* x */', b INT", ("a", "b")),
        ("`a--b` STRING, `/*` INT, ```` INT", ("a--b", "/*", "`")),
        ("a STRING COMMENT 'it''s' \"a\" 'b', b INT COMMENT R'x\\d\\', c INT", ("a", "b", "c")),
        ("a /* x /* y */ z */ INT, b INT -- x \\\n still x", ("a", "b")),
        ("1e5x INT, 1e INT, 1e5l INT, 10_000 INT, 0x1F INT", ("1e5x", "1e", "1e5l", "10_000", "0x1F")),
        ("a DECIMAL(38, 38), b ARRAY<STRING COLLATE unicode_ai_ci>, c CHAR(3) COLLATE `de_RTRIM`", ("a", "b", "c")),
        ("a TIMESTAMP WITH LOCAL TIME ZONE, b TIME(3) WITHOUT TIME ZONE", ("a", "b")),
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
        ("1e5 INT", "not '1e5'; put it in backquotes"),
        ("1d INT", "not '1d'; put it in backquotes"),
        ("10L INT", "not '10L'; put it in backquotes"),
        ("a DECIMAL(5, 9)", "at most 38 digits, and no more behind the point than in all"),
        ("a DECIMAL(40, 2)", "at most 38 digits"),
        ("a VARCHAR(9999999999)", "has a number above 2147483647"),
        ("a INTERVAL SECOND TO DAY", "no interval that Spark knows; write e.g. INTERVAL SECOND"),
        ("a INTERVAL DAY TO", "write e.g. INTERVAL DAY TO HOUR"),
        ("a TIMESTAMP WITH TIME ZONE", "'local' was expected, not 'TIME'"),
        ("a TIMESTAMP WITHOUT", "'time' was expected, not the end"),
        ("a STRING COLLATE FOO", "a has the unknown collation FOO"),
        ("a STRING COLLATE UTF8_BINARY_CI", "a has the unknown collation UTF8_BINARY_CI"),
        ("a STRING COLLATE", "a has the unknown collation"),
        ("a INT COLLATE UNICODE", "a comma or the end was expected, not 'COLLATE'"),
        ("a INT COMMENT x", "the text behind COMMENT is missing, or is not in quotes"),
        ("a INT COMMENT", "the text behind COMMENT is missing"),
        ("a INT /* x /* y */", "a comment that begins with /* has no end"),
        ("a INT /*+ x */", "a comma or the end was expected, not '/'"),
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
