"""`tandem state`: what a job remembers."""

import json
import tempfile
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tandem.cli.lanes import Lane, the_one
from tandem.cli.stores import Screen, ago, store_of
from tandem.cli.validate import ManifestFile
from tandem.manifest import Manifest, load
from tandem.snapshots import Savepoints, newest_snapshot
from tandem.state import (
    Operator,
    Page,
    StatePlace,
    StateReader,
    all_parts,
    find_operator,
    live_state,
    parts_of,
    saved_state,
    state_session,
)
from tandem.state.show import operators_table, page_table


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
    """Look into a job's state: in its newest snapshot, in a savepoint, or live. The job is not touched, and need not run.

    Exit code 0: shown; 1: no such state, operator or key, with what exists; 78: the manifest must be fixed.

    Examples:

      tandem state flights.yaml

      tandem state flights.yaml --operator aggregation --key carrier=UA --key origin=JFK

      tandem state flights.yaml --operator 2 --variable chain --key N14228 --live

      tandem state flights.yaml --operator join --side left --savepoint before-upgrade --format json | jq '.rows[0]'
    """
    screen = Screen()
    if savepoint is not None and live:
        raise typer.BadParameter("a savepoint is not live: give one of --savepoint and --live")
    if operator is None and (key or variable or timers or side):
        raise typer.BadParameter("give --operator too: --key, --variable, --timers and --side are about one operator")
    with screen.telling("the state cannot be read", manifest):
        job = the_one(load(manifest), lane)
        with (
            screen.doing("Fetching the state, and starting Spark to read it …"),
            _place(job, savepoint, live) as place,
            tempfile.TemporaryDirectory(prefix="tandem-spark-") as scratch,
            state_session(job, Path(scratch)) as spark,
        ):
            reader = StateReader(spark, place.folder, place.batch)
            operators = reader.operators()
            if operator is None:
                listed = [(one, [reader.shape(one, part) for part in all_parts(one)]) for one in operators]
            else:
                chosen = find_operator(operators, operator)
                parts = parts_of(chosen, side, variable, timers)
                pages = [reader.page(chosen, part, key or (), limit) for part in parts]
    where = f"savepoint {savepoint}" if savepoint else "live" if live else "newest snapshot"
    if format_ is Format.JSON:
        what = {"job": job.name, "from": where, "epoch": place.epoch, "atMs": place.at_ms}
        found = _operators_json(listed) if operator is None else _rows_json(chosen, pages)
        typer.echo(json.dumps(what | found, ensure_ascii=False))
        return
    screen.out.print(f"{job.name}, {where}: epoch {place.epoch:,}, {ago(place.at_ms)} ago")
    if operator is None:
        screen.out.print(operators_table(listed), soft_wrap=False)
        return
    for page in pages:
        part = f", {page.part.label}" if page.part.label else ""
        many = f"more than {len(page.rows):,} rows; --limit shows more" if page.more else f"{len(page.rows):,} rows"
        screen.out.print(f"\noperator {chosen.id} ({chosen.kind}){part}: {many}")
        if page.rows:
            screen.out.print(page_table(page), soft_wrap=False)


def _place(job: Manifest, savepoint: str | None, live: bool) -> AbstractContextManager[StatePlace]:
    if live:
        return live_state(job.checkpoint_directory)
    store = store_of(job)
    return saved_state(
        store, newest_snapshot(store) if savepoint is None else Savepoints(store).get(savepoint).snapshot
    )


def _operators_json(listed: list[tuple[Operator, list[Any]]]) -> dict[str, Any]:
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


def _rows_json(operator: Operator, pages: list[Page]) -> dict[str, Any]:
    rows = [({"part": page.part.label} if page.part.label else {}) | row for page in pages for row in page.rows]
    return {"operator": operator.id, "name": operator.kind, "more": any(page.more for page in pages), "rows": rows}
