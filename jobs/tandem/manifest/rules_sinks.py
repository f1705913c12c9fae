"""What the sinks of a manifest must agree on; as `rules.py` has it."""

from collections.abc import Callable, Iterator
from os.path import normpath
from pathlib import PurePosixPath
from typing import Final

from tandem.manifest.models import ReplicatedStreamJob
from tandem.manifest.problems import Issue, Location, dotted
from tandem.manifest.streams import KINDS


def tables_are_told_apart(job: ReplicatedStreamJob) -> Iterator[Issue]:
    """The rows of a table are in a column that is named after the sink."""
    seen: dict[str, tuple[str, int]] = {}
    for index, sink in enumerate(job.spec.sinks):
        if sink.topic is not None:
            continue
        name, first = seen.setdefault(sink.name.lower(), (sink.name, index))
        if name != sink.name:
            at: Location = ("spec", "sinks", index, "name")
            message = (
                f"{sink.name} and {name}, the name of spec.sinks[{first}], differ only in case, which Spark ignores"
            )
            yield Issue(at, message, "Give each table another name", (at, ("spec", "sinks", first, "name")))


def sinks_are_of_one_kind(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for index, sink in enumerate(job.spec.sinks):
        at: Location = ("spec", "sinks", index)
        given = sink.kinds
        if len(given) != 1:
            message = f"{' and '.join(given)} exclude each other" if given else "says nothing of where to write"
            remedy = f"Give exactly one of {', '.join(KINDS)}, e.g. topic: name, or parquet: {{path: …}}"
            kinds = tuple((*at, kind) for kind in KINDS)
            yield Issue((*at, given[1]) if given else at, message, remedy, kinds)


def tables_do_not_meet(job: ReplicatedStreamJob) -> Iterator[Issue]:
    seen: list[tuple[Location, PurePosixPath]] = []
    for index, sink in enumerate(job.spec.sinks):
        if sink.files is None:
            continue
        at: Location = ("spec", "sinks", index, "parquet" if sink.parquet else "delta", "path")
        path = PurePosixPath(normpath(sink.files.path))
        for other_at, other in seen:
            if path.is_relative_to(other) or other.is_relative_to(path):
                message = f"{path} and {other} of {dotted(other_at[:3])} lie within each other"
                yield Issue(at, message, "Give each table a folder of its own", (at, other_at))
        seen.append((at, path))


def upserts_have_a_key(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for index, sink in enumerate(job.spec.sinks):
        if sink.postgres is None:
            continue
        at: Location = ("spec", "sinks", index, "postgres", "key")
        concerns = (at, (*at[:-1], "mode"))
        if sink.postgres.mode == "upsert" and not sink.postgres.key:
            remedy = "Name the columns that tell rows apart, e.g. key: [customer]"
            yield Issue(at, "mode upsert needs the columns of a key", remedy, concerns)
        if sink.postgres.mode == "append" and sink.postgres.key:
            yield Issue(at, "mode append (the default) has no key", "Set mode: upsert, or remove the key", concerns)


def postgres_tables_differ(job: ReplicatedStreamJob) -> Iterator[Issue]:
    seen: dict[tuple[object, ...], Location] = {}
    for index, sink in enumerate(job.spec.sinks):
        if (one := sink.postgres) is None:
            continue
        at: Location = ("spec", "sinks", index, "postgres", "table")
        first = seen.setdefault((one.host, one.port, one.database, one.schema_name, one.table), at)
        if first != at and one.mode == "upsert":
            message = f"{one.table} is also the table of {dotted(first[:3])}: each would replace rows of the other"
            yield Issue(at, message, "Give each sink a table of its own", (at, first))


def postgres_tls_is_complete(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for index, sink in enumerate(job.spec.sinks):
        if (one := sink.postgres) is None:
            continue
        at: Location = ("spec", "sinks", index, "postgres")
        files = {"caFile": one.ca_file, "certFile": one.cert_file, "keyFile": one.key_file}
        for key, value in files.items():
            if value is not None and not one.use_tls:
                concerns = ((*at, key), (*at, "useTls"))
                yield Issue((*at, key), "is without effect, as useTls is false", "Set useTls: true", concerns)
        if one.use_tls and one.ca_file is None:
            remedy = "Add the CA's PEM, e.g. caFile: /etc/ssl/certs/ca-certificates.crt"
            concerns = ((*at, "caFile"), (*at, "useTls"))
            yield Issue(
                (*at, "caFile"), "useTls checks the server's certificate by caFile, which is missing", remedy, concerns
            )
        for key, other in (("certFile", "keyFile"), ("keyFile", "certFile")):
            if files[key] is not None and files[other] is None:
                yield Issue((*at, key), f"needs {other} too", f"Add {other}", ((*at, key), (*at, other)))


SINK_RULES: Final[tuple[Callable[[ReplicatedStreamJob], Iterator[Issue]], ...]] = (
    tables_are_told_apart,
    sinks_are_of_one_kind,
    tables_do_not_meet,
    upserts_have_a_key,
    postgres_tables_differ,
    postgres_tls_is_complete,
)
