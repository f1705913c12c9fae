"""What is made sure of in a real PostgreSQL before a job begins."""

from __future__ import annotations

import threading
import uuid
from dataclasses import replace

import pytest
from pyspark.sql.types import StructType, _parse_datatype_string

from integration.postgres_bench import Bench, MakeBench, keyed, write
from integration.postgres_server import PostgresServer
from tandem.replica.made_tables import SinkTables, make_tables
from tandem.replica.postgres import PostgresTable, check_fit, make_row, prepare, refuse_earlier_runs
from tandem.replica.postgres_writer import PostgresWriter
from tandem.replica.table_access import TableUnreachableError
from tandem.replica.tables import TableError
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120), pytest.mark.usefixtures("spark")]  # it reads DDL


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
    sink = table.table.sink.model_copy(update={"user": role})
    other = PostgresTable("s", sink, table.options({"user": role, "password": "x"}), table.name)

    with pytest.raises(TableError, match=rf"the user {role} has no right to INSERT. GRANT it"):
        check_fit([other], rows_of("n BIGINT"))


def test_a_wrong_password_is_refused_and_not_repeated(bench: MakeBench) -> None:
    table = bench("n bigint")
    wrong = PostgresTable("s", table.table.sink, table.options({"password": "hunter2"}), "j")

    with pytest.raises(
        TableError, match=r"password authentication failed.*PG_PASSWORD.*a restart reads it again"
    ) as caught:
        prepare([wrong])

    assert "hunter2" not in str(caught.value) + repr(wrong)


def test_a_server_that_is_away_may_come_back(bench: MakeBench) -> None:
    table = bench("n bigint")
    away = PostgresTable("s", table.table.sink, table.options({"port": 1}), "j")

    with pytest.raises(TableUnreachableError, match=r"Connection refused.*It is tried again"):
        prepare([away])


def test_a_table_of_an_earlier_run_is_refused_with_how_to_go_on(bench: MakeBench) -> None:
    table = bench("n bigint")
    writer = table.writer()
    for epoch in range(3):
        write(writer, epoch, epoch)
    newest = prepare([table.table])

    refuse_earlier_runs([table.table], newest, lambda: 1, lambda: "")
    with pytest.raises(TableError, match=r"has epochs up to 2 of an earlier run.*DELETE FROM") as caught:
        refuse_earlier_runs([table.table], newest, lambda: -1, lambda: "")

    table.server.execute(str(caught.value).partition("of that run: ")[2])
    refuse_earlier_runs([table.table], prepare([table.table]), lambda: -1, lambda: "")


def test_a_table_that_is_ahead_of_what_this_run_has_published_is_refused_with_how_to_go_on(bench: MakeBench) -> None:
    table = bench("n bigint")
    writer = table.writer(generation=4)
    for epoch in range(51):
        write(writer, epoch, epoch)

    with pytest.raises(
        TableError, match=r"epochs up to 50 of an earlier run, and epoch 10 is the last.*UPDATE"
    ) as caught:
        refuse_earlier_runs([table.table], prepare([table.table]), lambda: 10, lambda: "")

    table.server.execute(str(caught.value).partition("of that run: ")[2])
    refuse_earlier_runs([table.table], prepare([table.table]), lambda: 10, lambda: "")
    write(table.writer(), 11, 111)
    assert table.content() == [*range(51), 111]


def test_epoch_0_of_an_earlier_run_is_refused_once_the_row_says_whose_it_is(bench: MakeBench) -> None:
    table = bench("n bigint")
    one, two = (replace(table.table, run=run) for run in ("one", "two"))
    writer = table.writer()
    table.server.execute("ALTER TABLE tandem_epochs DROP COLUMN run")  # as an older Tandem has made it
    write(writer, 0, 1)
    write(PostgresWriter(one, 0), 0, 1)
    refuse_earlier_runs([two], prepare([two]), lambda: -1, lambda: "two")
    assert table.server.execute("SELECT run FROM tandem_epochs WHERE job = %s", table.name) == [(None,)]

    write(PostgresWriter(one, 0), 1, 2)
    refuse_earlier_runs([one], prepare([one]), lambda: 0, lambda: "one")
    with pytest.raises(TableError, match="has epochs up to 1 of an earlier run, and epoch 0 is the last one that"):
        refuse_earlier_runs([two], prepare([two]), lambda: 0, lambda: "two")


def test_a_row_of_tandems_own_table_that_was_removed_is_not_made_again_while_the_job_goes_on(bench: MakeBench) -> None:
    table = bench("n bigint")
    sinks, rows = SinkTables(postgres=[table.table]), rows_of("n BIGINT")
    make_tables(sinks, rows, lambda: True)
    make_tables(sinks, rows, lambda: False)
    table.server.execute("DELETE FROM tandem_epochs WHERE job = %s", table.name)

    with pytest.raises(TableError, match=r"its row in public\.tandem_epochs was removed, so nobody knows which"):
        make_tables(sinks, rows, lambda: False)
    assert prepare([table.table]) == {"s": -1}


def test_two_replicas_that_start_at_once_make_tandems_own_table(postgres: PostgresServer) -> None:
    schema = f"s_{uuid.uuid4().hex[:6]}"
    postgres.execute(f"CREATE SCHEMA {schema}")
    benches = [Bench(postgres, "", schema=schema) for _ in range(6)]
    done: list[dict[str, int]] = []

    def begin(bench: Bench) -> None:
        newest = prepare([bench.table])
        make_row(bench.table)
        done.append(newest)

    threads = [threading.Thread(target=begin, args=(one,)) for one in benches]
    for thread in threads:
        thread.start()

    assert wait_until(lambda: len(done) == len(benches), Deadline(30))
