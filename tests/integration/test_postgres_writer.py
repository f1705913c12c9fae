"""What a real PostgreSQL is written: each epoch once, whoever comes, and whatever is cut off."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from integration.postgres_bench import MakeBench, keyed, write
from tandem.replica import postgres_writer
from tandem.replica.postgres import connect, make_row, prepare
from tandem.replica.postgres_sql import application_name
from tandem.replica.postgres_writer import PostgresWriter
from tandem.replica.table_access import LaterGenerationError, TableUnreachableError
from tandem.replica.table_errors import TableAheadError
from tandem.replica.tables import TableError

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120), pytest.mark.usefixtures("spark")]  # it reads DDL


def test_an_epoch_is_written_once_whoever_comes(bench: MakeBench) -> None:
    table = bench("n bigint")
    one, other = table.writer(), table.writer()
    for epoch, value in enumerate((1, 2, 3)):
        write(one, epoch, value)
        write(other, epoch, value)
    with pytest.raises(TableAheadError, match=r"has epochs up to 2, and epoch 0 is to be written"):
        write(one, 0, 1)

    assert table.content() == [1, 2, 3]
    assert table.epoch() == 2


def test_two_owners_at_once_write_an_epoch_once(bench: MakeBench) -> None:
    table = bench("n bigint")
    writers = [table.writer() for _ in range(4)]
    for epoch in range(10):
        together = threading.Barrier(len(writers))

        def run(writer: PostgresWriter, epoch: int = epoch, together: threading.Barrier = together) -> None:
            together.wait(30)
            for _ in range(5):  # as a replica: a lock that is held for two seconds is tried again
                with suppress(TableUnreachableError):
                    write(writer, epoch, *range(100 * epoch, 100 * epoch + 100))
                    return

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


def test_what_was_refused_of_an_earlier_generations_rows_is_not_said_of_the_rows_of_the_next_one(
    bench: MakeBench,
) -> None:
    table = bench("n bigint CHECK (n <> 13)")
    old, new = table.writer(generation=0), table.writer(generation=1)
    assert list(write(old, 5, 1, 13, 2)) == [1]

    assert list(write(table.writer(generation=0), 5, 1, 13, 2)) == [1]
    assert write(new, 5, 3, 4, 5) == {}
    assert table.content() == [1, 2]
    assert list(write(new, 6, 13)) == [0]


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


def test_a_database_without_an_encoding_takes_what_was_refused_there(bench: MakeBench) -> None:
    table = bench("n bigint")
    name = f"ascii_{table.name}"
    with table.server.connect() as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
    there = replace(table.table, options=table.options({"dbname": name}))
    with connect(there) as connection:
        connection.execute(f"CREATE TABLE {table.name} (k text PRIMARY KEY, n bigint)")
    prepare([there])
    make_row(there)

    refused = PostgresWriter(there, 0).write(0, keyed(("Müller", 1), ("Müller", 2)), range(2))

    assert list(refused) == [1]
    assert "Müller" in refused[1]
    assert PostgresWriter(there, 0).write(0, keyed(("Müller", 1), ("Müller", 2)), range(2)) == refused
    with connect(there) as connection:
        assert connection.execute(f"SELECT n FROM {table.name}").fetchall() == [(1,)]


def test_a_row_of_tandem_epochs_that_is_removed_stops_the_job(bench: MakeBench) -> None:
    table = bench("n bigint")
    writer = table.writer()
    write(writer, 0, 1)
    table.server.execute("DELETE FROM tandem_epochs WHERE job = %s", table.name)

    with pytest.raises(TableError, match="tandem_epochs was removed, so nobody knows which epochs are written"):
        write(writer, 1, 2)


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
