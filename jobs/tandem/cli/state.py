"""`tandem state`: what a job remembers."""

import json
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.sql import SparkSession

from tandem.cli.kept import known_lineages
from tandem.cli.lanes import Lane, the_one
from tandem.cli.stores import Screen, ago, store_of
from tandem.cli.validate import ManifestFile
from tandem.manifest import Manifest, load
from tandem.replica.local_savepoints import lineage_of
from tandem.snapshots import Savepoints, newest_snapshot
from tandem.state import (
    KeptTable,
    Operator,
    Page,
    Shape,
    StatePlace,
    StateReader,
    all_parts,
    find_operator,
    find_table,
    live_state,
    parts_of,
    saved_state,
    state_session,
    tables_of,
)
from tandem.state.show import operators_table, page_table, tables_table


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    JSON = "json"


def state(
    manifest: ManifestFile,
    operator: Annotated[
        str | None,
        typer.Option(metavar="ID|NAME", help="Whose state; without it, all operators are listed.", show_default=False),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JSON|FIELD=VALUE",
            help="Only rows with that key, or part of one; may be repeated.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="The rows of a source that is a table.", show_default=False),
    ] = None,
    variable: Annotated[
        str | None, typer.Option(help="Of a transformWithState: the state variable.", show_default="the only one")
    ] = None,
    timers: Annotated[bool, typer.Option("--timers", help="Of a transformWithState: its timers.")] = False,
    side: Annotated[str | None, typer.Option(metavar="left|right", help="Of a join.", show_default="both")] = None,
    savepoint: Annotated[
        str | None, typer.Option(metavar="NAME", help="Read a savepoint.", show_default="the newest snapshot")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Read the live state of the replicas on this machine.")] = False,
    lane: Lane = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="Maximum number of rows.")] = 20,
    format_: Annotated[Format, typer.Option("--format", help="A table for people, or one JSON object.")] = Format.TABLE,
) -> None:
    """Look into a job's state and tables: in its newest snapshot, in a savepoint, or live.

    The job is not touched, and need not run.

    Exit code 0: shown; 1: no such state, operator or key, with what exists; 78: the manifest or the store must be fixed.

    Examples:

      tandem state flights.yaml

      tandem state orders.yaml --table customers --key customer=ada

      tandem state flights.yaml --operator aggregation --key carrier=UA --key origin=JFK

      tandem state flights.yaml --operator 2 --variable chain --key N14228 --live

      tandem state flights.yaml --operator join --side left --savepoint before-upgrade --format json | jq '.rows[0]'
    """
    screen = Screen()
    if savepoint is not None and live:
        raise typer.BadParameter("a savepoint is not live: give one of --savepoint and --live")
    if operator is not None and table is not None:
        raise typer.BadParameter("an operator and a table are read one at a time: give one of --operator and --table")
    if operator is None and (variable or timers or side or (key and table is None)):
        raise typer.BadParameter("give --operator too: --key, --variable, --timers and --side are about one operator")
    with screen.telling("the state cannot be read", manifest):
        job = the_one(load(manifest), lane)
        with (
            screen.doing("Fetching the state, and starting Spark to read it …"),
            _place(screen, job, savepoint, live) as place,
            tempfile.TemporaryDirectory(prefix="tandem-spark-") as scratch,
            state_session(job, Path(scratch)) as spark,
        ):
            found = _read(_Asked(operator, table, key or (), side, variable, timers, limit), job, place, spark)
    where = f"savepoint {savepoint}" if savepoint else "live" if live else "newest snapshot"
    if format_ is Format.JSON:
        what = {"job": job.name, "from": where, "epoch": place.epoch, "atMs": place.at_ms}
        typer.echo(json.dumps(what | found.tree, ensure_ascii=False))
        return
    screen.out.print(f"{job.name}, {where}: epoch {place.epoch:,}, {ago(place.at_ms)} ago")
    found.show(screen)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is looked for: the options of the command."""

    operator: str | None
    table: str | None
    key: Sequence[str]
    side: str | None
    variable: str | None
    timers: bool
    limit: int


@dataclass(frozen=True, slots=True)
class _Listed:
    """All that the job remembers."""

    operators: list[tuple[Operator, list[Shape]]]
    tables: tuple[KeptTable, ...]

    @property
    def tree(self) -> dict[str, Any]:
        """As JSON."""
        tables = [
            {"name": one.name, "key": list(one.key), "columns": one.columns, "rows": one.rows.num_rows}
            for one in self.tables
        ]
        return _operators_json(self.operators) | ({"tables": tables} if tables else {})

    def show(self, screen: Screen) -> None:
        """For people."""
        if self.operators:
            screen.out.print(operators_table(self.operators), soft_wrap=False)
        if self.tables:
            screen.out.print(tables_table(self.tables), soft_wrap=False)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of one operator or table. `of`: which, in words; `head`: the same in JSON."""

    of: str
    head: dict[str, Any]
    pages: list[Page]

    @property
    def tree(self) -> dict[str, Any]:
        """As JSON."""
        rows = [
            ({"part": page.part.label} if page.part.label else {}) | row for page in self.pages for row in page.rows
        ]
        return self.head | {"more": any(page.more for page in self.pages), "rows": rows}

    def show(self, screen: Screen) -> None:
        """For people."""
        for page in self.pages:
            part = f", {page.part.label}" if page.part.label else ""
            many = f"more than {len(page.rows):,} rows; --limit shows more" if page.more else f"{len(page.rows):,} rows"
            screen.out.print(f"\n{self.of}{part}: {many}")
            if page.rows:
                screen.out.print(page_table(page), soft_wrap=False)


def _read(asked: _Asked, job: Manifest, place: StatePlace, spark: SparkSession) -> _Listed | _Rows:
    tables = tables_of(job.spec.sources, place.folder, place.batch)
    if asked.table is not None:
        table = find_table(tables, asked.table)
        return _Rows(f"table {table.name}", {"table": table.name}, [table.page(spark, asked.key, asked.limit)])
    reader = StateReader(spark, place.folder, place.batch)
    operators = reader.operators() if reader.keeps_any or not tables else ()
    if asked.operator is None:
        return _Listed([(one, [reader.shape(one, part) for part in all_parts(one)]) for one in operators], tables)
    chosen = find_operator(operators, asked.operator)
    parts = parts_of(chosen, asked.side, asked.variable, asked.timers)
    pages = [reader.page(chosen, part, asked.key, asked.limit) for part in parts]
    head = {"operator": chosen.id, "name": chosen.kind}
    return _Rows(f"operator {chosen.id} ({chosen.kind})", head, pages)


def _place(screen: Screen, job: Manifest, savepoint: str | None, live: bool) -> AbstractContextManager[StatePlace]:
    store = None if live else store_of(job)
    if store is not None and savepoint is not None:
        return saved_state(store, Savepoints(store).get(savepoint).snapshot)
    lineages = known_lineages(job)
    if lineages is None:
        screen.errors.print(f"Kafka does not say what {job.name} runs: the newest state of any run of it is shown")
    if store is None:
        return live_state(
            job.checkpoint_directory, job.name, lambda folder: lineages is None or lineage_of(folder) in lineages
        )
    return saved_state(store, newest_snapshot(store, lineages=lineages))


def _operators_json(listed: list[tuple[Operator, list[Shape]]]) -> dict[str, Any]:
    return {
        "operators": [
            {
                "id": one.id,
                "name": one.kind,
                "sparkName": one.name,
                "partitions": one.partitions,
                "parts": [{"part": shape.part.label, "columns": dict(shape.columns)} for shape in shapes],
            }
            for one, shapes in listed
        ]
    }
