"""What is written to a real PostgreSQL: every value as it was, each epoch once, and refused rows apart."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql.types import StructType, _parse_datatype_string

from integration.postgres_server import PASSWORD, PostgresServer
from tandem.manifest import PostgresSink
from tandem.replica import postgres_writer
from tandem.replica.postgres import PostgresTable, check_fit, prepare, refuse_earlier_runs
from tandem.replica.postgres_sql import application_name
from tandem.replica.postgres_writer import LaterGenerationError, PostgresWriter
from tandem.replica.table_access import TableUnreachableError
from tandem.replica.tables import TableError
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120), pytest.mark.usefixtures("spark")]  # it reads DDL


class Bench:
    """A table of a test's own, and who writes to it."""

    def __init__(self, server: PostgresServer, columns: str, **sink: Any) -> None:
        self.server, self.name = server, f"t_{uuid.uuid4().hex[:8]}"
        if columns:
            server.execute(f"CREATE TABLE {self.name} ({columns})")
        given = {**server.sink(self.name, **sink)}
        made = PostgresSink.model_validate(given)
        self.table = PostgresTable("s", made, made.options({"PG_PASSWORD": PASSWORD}, Path(), "s"), self.name)

    def writer(self, generation: int = 0, at: Callable[[str], None] = lambda _: None) -> PostgresWriter:
        prepare([self.table])
        return PostgresWriter(self.table, generation, at)

    def content(self, what: str = "n", order: str = "n") -> list[Any]:
        rows = self.server.execute(f"SELECT {what} FROM {self.name} ORDER BY {order}")
        return [row[0] if len(row) == 1 else row for row in rows]

    def epoch(self) -> int:
        (row,) = self.server.execute("SELECT epoch FROM tandem_epochs WHERE job = %s", self.name)
        return int(row[0])


MakeBench = Callable[..., Bench]


@pytest.fixture
def bench(postgres: PostgresServer) -> MakeBench:
    return lambda columns, **sink: Bench(postgres, columns, **sink)


def numbers(*values: int | None) -> pa.StructArray:
    return pa.array([{"n": value} for value in values], pa.struct([("n", pa.int64())]))


def write(writer: PostgresWriter, epoch: int, *values: int | None) -> dict[int, str]:
    return dict(writer.write(epoch, numbers(*values), range(len(values))))


# Values --------------------------------------------------------------------------------------------------------------

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
    "json": (pa.string(), "jsonb", []),
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

KEYED = pa.struct([("k", pa.string()), ("n", pa.int64())])


def keyed(*rows: tuple[str | None, int | None]) -> pa.StructArray:
    return pa.array([{"k": key, "n": number} for key, number in rows], KEYED)


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


def test_who_writes_an_epoch_again_learns_which_rows_were_refused(bench: MakeBench) -> None:
    table = bench("n bigint CHECK (n > 0)")
    refused = write(table.writer(), 0, 1, -1, 2)

    assert write(table.writer(), 0, 1, -1, 2) == refused
    assert sorted(refused) == [1]
    assert table.content() == [1, 2]


# Once ----------------------------------------------------------------------------------------------------------------


def test_an_epoch_is_written_once_whoever_comes(bench: MakeBench) -> None:
    table = bench("n bigint")
    one, other = table.writer(), table.writer()
    for epoch, value in enumerate((1, 2, 3)):
        write(one, epoch, value)
        write(other, epoch, value)
    write(one, 0, 1)

    assert table.content() == [1, 2, 3]
    assert table.epoch() == 2


def test_two_owners_at_once_write_an_epoch_once(bench: MakeBench) -> None:
    table = bench("n bigint")
    writers = [table.writer() for _ in range(4)]
    for epoch in range(10):
        together = threading.Barrier(len(writers))

        def run(writer: PostgresWriter, epoch: int = epoch, together: threading.Barrier = together) -> None:
            together.wait(10)
            write(writer, epoch, *range(100 * epoch, 100 * epoch + 100))

        threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

    assert table.content() == list(range(1000))


def test_a_deposed_owner_of_an_earlier_generation_writes_nothing(bench: MakeBench) -> None:
    table = bench("n bigint")
    old, new = table.writer(generation=0), table.writer(generation=1)
    write(old, 0, 1)
    write(new, 1, 2)

    with pytest.raises(LaterGenerationError, match=r"generation 1 writes the postgres table public\.t_"):
        write(old, 2, 3)
    assert table.content() == [1, 2]


def test_an_owner_that_sleeps_in_its_transaction_does_not_stop_its_successor_and_commits_nothing(
    bench: MakeBench,
) -> None:
    table = bench("n bigint")
    asleep, awake = threading.Event(), threading.Event()

    def sleeps(step: str) -> None:
        if step.startswith("the commit"):
            asleep.set()
            awake.wait(60)

    found: list[BaseException] = []

    def run() -> None:
        try:
            write(old, 0, 7)
        except BaseException as error:
            found.append(error)

    old = table.writer(at=sleeps)
    thread = threading.Thread(target=run)
    thread.start()
    assert asleep.wait(30)

    successor = table.writer()
    for _ in range(2):  # it waits for the lock once, and ends the session that holds it
        try:
            write(successor, 0, 7)
            break
        except TableUnreachableError as error:
            assert "lock timeout" in str(error)  # noqa: PT017
    awake.set()
    thread.join(30)

    assert table.content() == [7]
    assert isinstance(found[0], TableUnreachableError)
    assert write(old, 0, 7) == {}
    assert table.content() == [7]


@pytest.mark.parametrize("step", ["is connected to", "the lock of", "which takes", "the commit of"])
def test_a_session_that_is_cut_off_at_any_step_leaves_all_or_nothing(bench: MakeBench, step: str) -> None:
    table = bench("n bigint")
    cut: list[str] = []
    armed: list[bool] = []

    def cuts(at: str) -> None:
        if armed and step in at and not cut:
            cut.append(at)
            name = application_name(table.table.job, "s")
            table.server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", name
            )

    writer = table.writer(at=cuts)
    write(writer, 0, 1)
    writer.close()
    armed.append(True)
    for _ in range(3):
        try:
            write(writer, 1, 2, 3)
            break
        except TableUnreachableError as error:
            assert "It is tried again" in str(error)  # noqa: PT017
            assert table.content() == [1]

    assert cut
    assert table.content() == [1, 2, 3]
    assert table.epoch() == 1


def test_a_lock_on_the_table_is_reported_and_the_epoch_is_written_later(bench: MakeBench) -> None:
    table = bench("n bigint")
    writer = table.writer()
    with table.server.connect() as other, other.transaction():
        other.execute(f"LOCK TABLE {table.name}")
        with pytest.raises(TableUnreachableError, match=r"cannot be written: canceling statement due to lock timeout"):
            write(writer, 0, 1)

    write(writer, 0, 1)
    assert table.content() == [1]


def test_an_epoch_is_safe_on_the_disk_of_the_database_where_the_user_turned_that_off(bench: MakeBench) -> None:
    table = bench("n bigint, s text DEFAULT current_setting('synchronous_commit')")
    table.server.execute("ALTER ROLE tandem SET synchronous_commit = off")
    try:
        write(table.writer(), 0, 1)
    finally:
        table.server.execute("ALTER ROLE tandem RESET synchronous_commit")

    assert table.content("s") == ["on"]


def test_a_row_of_tandem_epochs_that_is_removed_stops_the_job(bench: MakeBench) -> None:
    table = bench("n bigint")
    writer = table.writer()
    write(writer, 0, 1)
    table.server.execute("DELETE FROM tandem_epochs WHERE job = %s", table.name)

    with pytest.raises(TableError, match="tandem_epochs was removed, so nobody knows which epochs are written"):
        write(writer, 1, 2)


# At the start --------------------------------------------------------------------------------------------------------


def rows_of(ddl: str) -> StructType:
    """The rows of the sink `s` in one of a job."""
    return _parse_datatype_string(f"sink STRING, table_s STRUCT<{ddl}>")  # type: ignore[return-value]


MISFITS = {
    "a missing column": ("n bigint", "n BIGINT, m INT", "the table has no column m"),
    "another case": (
        "n bigint",
        "N BIGINT",
        "the table has no column N (but n: PostgreSQL tells upper from lower case)",
    ),
    "a narrower number": ("n integer", "n BIGINT", "column n is BIGINT in the job, but integer in the table. Cast it"),
    "a narrower decimal": (
        "n numeric(10,2)",
        "n DECIMAL(10,4)",
        "DECIMAL(10,4) in the job, but numeric(10,2) in the table",
    ),
    "a rounded double": ("n real", "n DOUBLE", "column n is DOUBLE in the job, but real in the table"),
    "a rounded time": ("n timestamptz(3)", "n TIMESTAMP", "timestamp(3) with time zone in the table"),
    "a padded text": ("n char(3)", "n STRING", "character(3) in the table. Cast it in the job, or let it be text"),
    "a struct": ("n jsonb", "n STRUCT<a: INT>", "Select its text with to_json()"),
    "an array": ("n text", "n ARRAY<STRING>", "but text in the table, which is no array. Let it be text[]"),
    "a column that is needed": (
        "n bigint, m int NOT NULL",
        "n BIGINT",
        "column m of the table is NOT NULL without a default",
    ),
    "a computed column": ("n bigint GENERATED ALWAYS AS IDENTITY", "n BIGINT", "column n is computed by the database"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_table_that_does_not_fit_is_refused_with_its_column(bench: MakeBench, name: str) -> None:
    columns, ddl, said = MISFITS[name]
    table = bench(columns)

    with pytest.raises(TableError) as caught:
        check_fit([table.table], rows_of(ddl))

    assert f"sink s: the rows do not fit the postgres table public.{table.name} of sink s: " in str(caught.value)
    assert said in str(caught.value)


def test_every_misfit_is_named_at_once(bench: MakeBench) -> None:
    table = bench("a integer, b text")

    with pytest.raises(TableError, match=r"column a is BIGINT.*; column b is INT"):
        check_fit([table.table], rows_of("a BIGINT, b INT"))


@pytest.mark.parametrize(
    "index",
    ["", "CREATE UNIQUE INDEX ON {0} (k, n)", "CREATE UNIQUE INDEX ON {0} (k) WHERE n > 0", "CREATE INDEX ON {0} (k)"],
)
def test_an_upsert_needs_a_unique_index_over_its_key(bench: MakeBench, index: str) -> None:
    table = bench("k text, n bigint", mode="upsert", key=["k"])
    if index:
        table.server.execute(index.format(table.name))

    with pytest.raises(TableError, match=rf"no unique index is over \(k\) alone.*UNIQUE INDEX ON public.{table.name}"):
        check_fit([table.table], rows_of("k STRING, n BIGINT"))

    table.server.execute(f"CREATE UNIQUE INDEX ON {table.name} (k)")
    check_fit([table.table], rows_of("k STRING, n BIGINT"))


def test_a_table_that_is_not_there_is_refused_with_the_statement_that_makes_it(bench: MakeBench) -> None:
    table = bench("", mode="upsert", key=["k"])
    rows = rows_of("k STRING, d DECIMAL(10,2), l ARRAY<INT>, t TIMESTAMP, b BINARY, y TINYINT")

    with pytest.raises(TableError, match=r"there is no table public\.t_\w+\. Create it, e\.g\. CREATE") as caught:
        check_fit([table.table], rows)

    table.server.execute(str(caught.value).partition("e.g. ")[2])
    check_fit([table.table], rows)


def test_types_that_hold_every_value_fit(bench: MakeBench) -> None:
    table = bench(
        "a bigint, b numeric, c numeric(12,4), d varchar(5), e uuid, f jsonb, g double precision, h numeric(10,0), i text[]"
    )
    check_fit(
        [table.table],
        rows_of(
            "a INT, b DECIMAL(38,10), c DECIMAL(10,4), d STRING, e STRING, f STRING, g FLOAT, h INT, i ARRAY<STRING>"
        ),
    )


def test_an_enum_takes_text(bench: MakeBench) -> None:
    made = bench("")
    made.server.execute(
        f"CREATE TYPE {made.name}_e AS ENUM ('a', 'b'); CREATE TABLE {made.name} (k {made.name}_e, n bigint)"
    )
    check_fit([made.table], rows_of("k STRING, n BIGINT"))

    refused = made.writer().write(0, keyed(("a", 1), ("c", 2)), [0, 1])

    assert sorted(refused) == [1]
    assert made.content("k", "1") == ["a"]


def test_a_right_that_is_missing_is_refused(bench: MakeBench) -> None:
    table = bench("n bigint")
    role = f"{table.name}_r"
    table.server.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    options = {**table.table.options, "user": role, "password": "x"}
    sink = table.table.sink.model_copy(update={"user": role})
    other = PostgresTable("s", sink, options, table.name)  # type: ignore[arg-type]

    with pytest.raises(TableError, match=rf"the user {role} has no right to INSERT. GRANT it"):
        check_fit([other], rows_of("n BIGINT"))


def test_a_wrong_password_is_refused_and_not_repeated(bench: MakeBench) -> None:
    table = bench("n bigint")
    wrong = PostgresTable("s", table.table.sink, {**table.table.options, "password": "hunter2"}, "j")

    with pytest.raises(TableError, match="password authentication failed") as caught:
        prepare([wrong])

    assert "hunter2" not in str(caught.value) + repr(wrong)


def test_a_server_that_is_away_may_come_back(bench: MakeBench) -> None:
    table = bench("n bigint")
    away = PostgresTable("s", table.table.sink, {**table.table.options, "port": 1}, "j")

    with pytest.raises(TableUnreachableError, match=r"Connection refused.*It is tried again"):
        prepare([away])


def test_a_table_of_an_earlier_run_is_refused_with_how_to_go_on(bench: MakeBench) -> None:
    table = bench("n bigint")
    writer = table.writer()
    for epoch in range(3):
        write(writer, epoch, epoch)
    newest = prepare([table.table])

    refuse_earlier_runs([table.table], newest, lambda: 2)
    with pytest.raises(TableError, match=r"has epochs up to 2 of an earlier run.*DELETE FROM") as caught:
        refuse_earlier_runs([table.table], newest, lambda: -1)

    table.server.execute(str(caught.value).partition("of that run: ")[2])
    refuse_earlier_runs([table.table], prepare([table.table]), lambda: -1)


def test_two_replicas_that_start_at_once_make_tandems_own_table(postgres: PostgresServer) -> None:
    schema = f"s_{uuid.uuid4().hex[:6]}"
    postgres.execute(f"CREATE SCHEMA {schema}")
    benches = [Bench(postgres, "", schema=schema) for _ in range(6)]
    done: list[dict[str, int]] = []
    threads = [threading.Thread(target=lambda one=one: done.append(prepare([one.table]))) for one in benches]
    for thread in threads:
        thread.start()

    assert wait_until(lambda: len(done) == len(benches), Deadline(30))


def test_large_epochs_are_written_in_parts(bench: MakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    table = bench("n bigint")
    parts: list[int] = []
    original = postgres_writer._inserted

    def counted(connection: Any, statement: str, rows: Sequence[tuple[int, str]]) -> dict[int, str]:
        parts.append(len(rows))
        return original(connection, statement, rows)

    monkeypatch.setattr(postgres_writer, "_inserted", counted)
    write(table.writer(), 0, *range(12_000))

    assert parts == [5_000, 5_000, 2_000]
    assert table.content("count(*)", "1") == [12_000]
