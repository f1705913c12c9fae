"""What a source that is a table must agree with."""

from __future__ import annotations

from collections.abc import Iterator

from tandem.manifest.ddl import column_names
from tandem.manifest.formats import REGISTRY_FORMATS
from tandem.manifest.models import ReplicatedStreamJob
from tandem.manifest.problems import Issue, Location
from tandem.manifest.streams import SourceSpec

_STREAM = "or remove table, and the source is a stream"


def a_table_joins_a_stream(job: ReplicatedStreamJob) -> Iterator[Issue]:
    sources = job.spec.sources
    if sources and all(source.table is not None for source in sources):
        concerns: tuple[Location, ...] = tuple(("spec", "sources", i, "table") for i in range(len(sources)))
        message = "all sources are tables, so no records would flow"
        yield Issue(("spec", "sources"), message, "Remove table from a source, which is a stream then", concerns)


def a_table_is_read_from_its_beginning(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for at, source in _tables(job):
        if source.starting_offsets == "latest":
            place: Location = (*at, "startingOffsets")
            message = "a table that begins at latest lacks the rows that are there already"
            yield Issue(place, message, f"Remove startingOffsets, {_STREAM}", (place, (*at, "table")))
        if source.idle_timeout is not None:
            place = (*at, "idleTimeout")
            yield Issue(place, "a table holds back no watermark", "Remove idleTimeout", (place, (*at, "table")))
        if source.include_headers:
            place = (*at, "includeHeaders")
            yield Issue(place, "a table has no headers", f"Remove includeHeaders, {_STREAM}", (place, (*at, "table")))


def a_table_has_its_key(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for at, source in _tables(job):
        if source.format in REGISTRY_FORMATS:
            continue  # the registry knows the columns
        columns = ("key", "value") if source.schema_ddl is None else column_names(source.schema_ddl)
        for index, name in enumerate(source.table.key if source.table is not None else ()):
            if name not in columns:
                place: Location = (*at, "table", "key", index)
                message = f"there is no column {name}: the table has {', '.join(columns)}"
                yield Issue(place, message, "Name one of these columns", (place, (*at, "schema")))


def _tables(job: ReplicatedStreamJob) -> Iterator[tuple[Location, SourceSpec]]:
    for index, source in enumerate(job.spec.sources):
        if source.table is not None:
            yield ("spec", "sources", index), source
