"""Rows in a real PostgreSQL: every value as it was, the newest row of a key, and refused rows apart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from integration.postgres_bench import MakeBench, keyed, write
from tandem.replica.table_access import TableUnreachableError

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120), pytest.mark.usefixtures("spark")]  # it reads DDL


US = pa.timestamp("us", tz="UTC")
VALUES: dict[str, tuple[pa.DataType, str, Sequence[Any]]] = {
    "boolean": (pa.bool_(), "boolean", [True, False, None]),
    "tinyint": (pa.int8(), "smallint", [-128, 127]),
    "bigint": (pa.int64(), "bigint", [-(2**63), 2**63 - 1, 2**53 + 1]),
    "bigint in a numeric": (pa.int64(), "numeric(19,0)", [Decimal(2**63 - 1)]),
    "float": (pa.float32(), "real", [0.5, float("inf"), float("-inf")]),
    "double": (pa.float64(), "double precision", [0.1, 1e-300, -0.0, 1.7976931348623157e308]),
    "decimal": (pa.decimal128(38, 18), "numeric(38,18)", [Decimal("12345678901234567890.000000000000000001")]),
    "small decimal": (pa.decimal128(38, 30), "numeric", [Decimal("1E-30"), Decimal("-0.5")]),
    "text": (pa.string(), "text", ["", "ünï ☃ 𝄞", 'a"\\\n\x01\u2028', "null", "{}"]),
    "short text": (pa.string(), "varchar(3)", ["abc"]),
    "bytes": (pa.binary(), "bytea", [b"", b"\x00\xff\\x"]),
    "day": (pa.date32(), "date", [date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 4)]),
    "moment": (
        US,
        "timestamptz",
        [datetime(1, 1, 1, 0, 0, 0, 1, UTC), datetime(9999, 12, 30, 23, 59, 59, 999999, UTC)],
    ),
    "local time": (pa.timestamp("us"), "timestamp", [datetime(1969, 12, 31, 23, 59, 59, 999999)]),  # noqa: DTZ001
    "texts": (pa.list_(pa.string()), "text[]", [[], ["a,b", None, '"{}', ""], None]),
    "numbers": (pa.list_(pa.int32()), "integer[]", [[1, None, -3]]),
    "many bytes": (pa.list_(pa.binary()), "bytea[]", [[b"\x00", b""]]),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was(bench: MakeBench, name: str) -> None:
    kind, column, values = VALUES[name]
    table = bench(f"id serial, v {column}")
    rows = pa.array([{"v": value} for value in values], pa.struct([("v", kind)]))

    assert table.writer().write(0, rows, range(len(values))) == {}

    found = table.content("v", "id")
    assert [bytes(v) if isinstance(v, memoryview) else v for v in found] == [*values]


@pytest.mark.parametrize("mode", [{}, {"mode": "upsert", "key": ["id"]}], ids=["append", "upsert"])
@pytest.mark.parametrize("column", ["json", "jsonb"])
def test_a_text_for_a_column_of_documents_is_the_document(bench: MakeBench, column: str, mode: dict[str, Any]) -> None:
    texts = ['{"a": [1]}', "[1]", "null", "1", '"text"', "no json", None]
    table = bench(f"id integer PRIMARY KEY, v {column}", **mode)
    rows = pa.array([{"id": number, "v": text} for number, text in enumerate(texts)])

    refused = table.writer().write(0, rows, range(len(texts)))

    assert list(refused) == [5]
    assert table.content("v", "id") == [{"a": [1]}, [1], None, 1, "text", None]


def test_a_text_that_is_too_long_by_spaces_alone_is_refused_as_others_are(bench: MakeBench) -> None:
    table = bench("id serial, v varchar(3), w varchar(2)[]")
    kind = pa.struct([("v", pa.string()), ("w", pa.list_(pa.string()))])
    rows = [
        {"v": "ab ", "w": ["a "]},
        {"v": "abc ", "w": None},
        {"v": "abcd", "w": None},
        {"v": "a", "w": ["b", "ab  "]},
    ]

    refused = table.writer().write(0, pa.array(rows, kind), range(len(rows)))

    assert set(refused) == {1, 2, 3}
    assert "it has a text of 4 characters, and the column holds 3" in refused[1]
    assert "value too long for type character varying(3)" in refused[2]
    assert table.content("v, w", "id") == [("ab ", ["a "])]


@pytest.mark.parametrize("column", ["json", "jsonb"])
def test_a_document_that_is_deeper_than_the_servers_stack_is_refused(bench: MakeBench, column: str) -> None:
    table = bench(f"v {column}")
    deep = "[" * 100_000 + "]" * 100_000

    refused = table.writer().write(0, pa.array([{"v": "[]"}, {"v": deep}, {"v": "{}"}]), range(3))

    assert list(refused) == [1]
    assert len(table.content("v::text", "1")) == 2


def test_times_beyond_what_python_knows_come_back(bench: MakeBench) -> None:
    table = bench("id serial, d date, t timestamptz")
    kind = pa.struct([("d", pa.int32()), ("t", pa.int64())])
    late_us = 253_402_300_800_000_000 + 1
    rows = pa.array([{"d": 2_932_897, "t": late_us}, {"d": -719_528, "t": -62_167_219_200_000_000}], kind)
    rows = rows.cast(pa.struct([("d", pa.date32()), ("t", US)]))

    assert table.writer().write(0, rows, [0, 1]) == {}

    utc = "to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US BC')"
    assert table.content(f"d::text, {utc}", "id") == [
        ("10000-01-01", "10000-01-01 00:00:00.000001 AD"),
        ("0001-01-01 BC", "0001-01-01 00:00:00.000000 BC"),
    ]


def test_not_a_number_comes_back(bench: MakeBench) -> None:
    table = bench("v double precision")
    table.writer().write(0, pa.array([{"v": float("nan")}], pa.struct([("v", pa.float64())])), [0])

    assert table.content("v::text", "1") == ["NaN"]


def test_odd_names_of_columns_are_taken(bench: MakeBench) -> None:
    table = bench('"Name 100% ""x""" integer PRIMARY KEY, "n" integer, "order" integer', mode="upsert", key=["order"])
    table.server.execute(f'CREATE UNIQUE INDEX ON {table.name} ("order")')
    kind = pa.struct([('Name 100% "x"', pa.int32()), ("n", pa.int32()), ("order", pa.int32())])

    assert table.writer().write(0, pa.array([{'Name 100% "x"': 1, "n": 2, "order": 3}], kind), [0]) == {}
    assert table.content('"Name 100% ""x""", n, "order"', "1") == [(1, 2, 3)]


# Upsert --------------------------------------------------------------------------------------------------------------


def test_the_last_row_of_a_key_counts_within_an_epoch_and_beyond(bench: MakeBench) -> None:
    table = bench("k text PRIMARY KEY, n bigint, kept text DEFAULT 'mine'", mode="upsert", key=["k"])
    writer = table.writer()
    writer.write(0, keyed(("a", 1), ("b", 1), ("a", 2)), range(3))
    table.server.execute(f"UPDATE {table.name} SET kept = 'changed' WHERE k = 'a'")

    writer.write(1, keyed(("b", 3), ("a", 4), ("c", 5), ("b", None)), range(4))

    assert table.content("k, n, kept", "k") == [("a", 4, "changed"), ("b", None, "mine"), ("c", 5, "mine")]


def test_a_row_without_its_key_is_refused(bench: MakeBench) -> None:
    table = bench("k text UNIQUE, n bigint", mode="upsert", key=["k"])

    refused = table.writer().write(0, keyed((None, 1), ("a", 2)), [4, 7])

    assert refused == {4: "its key column k is null"}
    assert table.content("k, n", "k") == [("a", 2)]


def test_keys_that_only_the_index_takes_for_one_are_written_one_after_the_other(bench: MakeBench) -> None:
    collation = (
        "CREATE COLLATION IF NOT EXISTS no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    try:
        bench("").server.execute(collation)
    except psycopg.Error:
        columns = "k text, n bigint"
        index = "CREATE UNIQUE INDEX ON {0} (k)"
    else:
        columns, index = "k text COLLATE no_case, n bigint", "CREATE UNIQUE INDEX ON {0} (k)"
    table = bench(columns, mode="upsert", key=["k"])
    table.server.execute(index.format(table.name))

    assert table.writer().write(0, keyed(("a", 1), ("a", 2), ("b", 3)), range(3)) == {}
    assert table.content("n") == [2, 3]


# Refused rows --------------------------------------------------------------------------------------------------------


def test_rows_that_are_refused_are_named_and_the_others_are_written_in_order(bench: MakeBench) -> None:
    table = bench("id serial, n integer CHECK (n <> 13)")
    values = [*range(40), 2**40, 13, *range(100, 140)]

    refused = write(table.writer(), 0, *values)

    assert table.content("n", "id") == [*range(13), *range(14, 40), *range(100, 140)]
    assert sorted(refused) == [13, 40, 41]
    assert refused[13].startswith(f'the database does not take it: new row for relation "{table.name}" violates check')
    assert "Failing row contains" in refused[13]
    assert "out of range" in refused[40]


REFUSING = {
    "a constraint that is checked at the commit": (
        "n bigint, CONSTRAINT c UNIQUE (n) DEFERRABLE INITIALLY DEFERRED",
        "",
        [1, 1, 2],
        [1],
    ),
    "a trigger": (
        "n bigint",
        "CREATE FUNCTION {0}_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.n = 1 THEN RAISE EXCEPTION 'no one'; "
        "END IF; RETURN NEW; END $$; CREATE TRIGGER t BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION {0}_f()",
        [0, 1, 2],
        [1],
    ),
    "a trigger with an SQLSTATE of its own": (
        "n bigint",
        "CREATE FUNCTION {0}_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.n = 1 THEN RAISE EXCEPTION 'no one' "
        "USING ERRCODE = '45000'; END IF; RETURN NEW; END $$; "
        "CREATE TRIGGER t BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION {0}_f()",
        [0, 1, 2],
        [1],
    ),
    "a trigger without a branch for a row": (
        "n bigint",
        "CREATE FUNCTION {0}_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN CASE NEW.n WHEN 0 THEN NULL; "
        "WHEN 2 THEN NULL; END CASE; RETURN NEW; END $$; "
        "CREATE TRIGGER t BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION {0}_f()",
        [0, 1, 2],
        [1],
    ),
    "a trigger that returns nothing for a row": (
        "n bigint",
        "CREATE FUNCTION {0}_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.n <> 1 THEN RETURN NEW; "
        "END IF; END $$; CREATE TRIGGER t BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION {0}_f()",
        [0, 1, 2],
        [1],
    ),
    "a trigger in another language": (
        "n bigint",
        "CREATE FUNCTION {0}_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.n = 1 THEN RAISE EXCEPTION 'no one' "
        "USING ERRCODE = '38000'; END IF; RETURN NEW; END $$; "
        "CREATE TRIGGER t BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION {0}_f()",
        [0, 1, 2],
        [1],
    ),
    "a partition that is not there": (
        "n bigint) PARTITION BY RANGE (n",
        "CREATE TABLE {0}_p PARTITION OF {0} FOR VALUES FROM (0) TO (10)",
        [1, 11, 2],
        [1],
    ),
    "NOT NULL": ("n bigint NOT NULL", "", [None, 1], [0]),
    "a foreign key": ("n bigint REFERENCES {0}_r", "", [1, 5], [1]),
}


@pytest.mark.parametrize("name", REFUSING)
def test_what_refuses_a_row_costs_no_other(bench: MakeBench, name: str) -> None:
    columns, more, values, wanted = REFUSING[name]
    made = bench("")
    if "{0}_r" in columns:
        made.server.execute(f"CREATE TABLE {made.name}_r (n bigint PRIMARY KEY); INSERT INTO {made.name}_r VALUES (1)")
    made.server.execute(f"CREATE TABLE {made.name} ({columns.format(made.name)})")
    if more:
        made.server.execute(more.format(made.name))

    refused = write(made.writer(), 0, *values)

    assert sorted(refused) == wanted
    assert made.content() == sorted(value for index, value in enumerate(values) if index not in wanted)


@pytest.fixture
def tenant(bench: MakeBench) -> str:
    """A user whom policies bind."""
    bench("n bigint").writer()  # makes Tandem's own table
    server, name = bench("").server, "tenant"
    if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", name):
        server.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{server.password}'")
    server.execute(f"GRANT ALL ON SCHEMA public TO {name}; GRANT ALL ON tandem_epochs TO {name}")
    return name


def test_a_row_that_no_policy_allows_costs_no_other(bench: MakeBench, tenant: str) -> None:
    table = bench("n bigint", user=tenant)
    table.server.execute(
        f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY; GRANT ALL ON {table.name} TO {tenant}; "
        f"CREATE POLICY p ON {table.name} FOR INSERT TO {tenant} WITH CHECK (n < 10)"
    )

    refused = write(table.writer(), 0, 1, 11, 2)

    assert list(refused) == [1]
    assert refused[1].startswith("the database does not take it: new row violates row-level security policy")
    assert table.content() == [1, 2]


def test_a_right_that_is_missing_is_no_fault_of_a_row(bench: MakeBench, tenant: str) -> None:
    table = bench("n bigint", user=tenant)

    with pytest.raises(TableUnreachableError, match="permission denied for table"):
        write(table.writer(), 0, 1)


def test_who_writes_an_epoch_again_learns_which_rows_were_refused(bench: MakeBench) -> None:
    table = bench("n bigint CHECK (n > 0)")
    refused = write(table.writer(), 0, 1, -1, 2)

    assert write(table.writer(), 0, 1, -1, 2) == refused
    assert sorted(refused) == [1]
    assert table.content() == [1, 2]
