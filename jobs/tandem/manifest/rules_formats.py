"""What the formats of sources need, and what they exclude."""

from collections.abc import Iterator
from dataclasses import dataclass
from json import loads
from typing import Final

from tandem.manifest.ddl import columns_alike
from tandem.manifest.formats import REGISTRY_FORMATS, RegistrySchema
from tandem.manifest.models import ReplicatedStreamJob
from tandem.manifest.problems import Issue, Location

_REGISTRY: Final[Location] = ("spec", "schemaRegistry")


@dataclass(frozen=True, slots=True)
class Side:
    """The values or the keys of a source or a sink: the keys of the manifest that say its format and its schema."""

    at: Location
    format: str
    schema: RegistrySchema | None
    is_key: bool
    topics: int = 1

    @property
    def format_at(self) -> Location:
        """Where its format is."""
        return (*self.at, "keyFormat" if self.is_key else "format")

    @property
    def schema_at(self) -> Location:
        """Where its schema is."""
        return (*self.at, "keySchema" if self.is_key else "valueSchema")

    @property
    def is_registered(self) -> bool:
        """Whether its schemas are in a registry."""
        return self.format in REGISTRY_FORMATS


def _sides(job: ReplicatedStreamJob) -> Iterator[Side]:
    for index, source in enumerate(job.spec.sources):
        at: Location = ("spec", "sources", index)
        yield Side(at, source.format, source.value_schema, False, len(source.topics))
        yield Side(at, source.key_format, source.key_schema, True, len(source.topics))
    for index, sink in enumerate(job.spec.sinks):
        at = ("spec", "sinks", index)
        yield Side(at, sink.format, sink.value_schema, False)
        yield Side(at, sink.key_format, sink.key_schema, True)


def schema_goes_with_json(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for index, source in enumerate(job.spec.sources):
        at: Location = ("spec", "sources", index)
        concerns = ((*at, "schema"), (*at, "format"))
        if source.format == "json" and source.schema_ddl is None:
            remedy = "Add columns with types, e.g. schema: carrier STRING, delay DOUBLE"
            yield Issue((*at, "schema"), "format json needs a schema", remedy, concerns)
        if source.format == "raw" and source.schema_ddl is not None:
            remedy = "Set format: json, or remove the schema"
            yield Issue((*at, "schema"), "format raw (the default) has no schema", remedy, concerns)
        if source.format in REGISTRY_FORMATS and source.schema_ddl is not None:
            remedy = "Remove it; a reader's schema of your own goes into valueSchema: {text: …}"
            message = f"format {source.format} has its columns by a schema of the registry"
            yield Issue((*at, "schema"), message, remedy, concerns)


def columns_are_told_apart(job: ReplicatedStreamJob) -> Iterator[Issue]:
    if job.spec.spark.conf.get("spark.sql.caseSensitive", "").strip().lower() == "true":
        return
    for index, source in enumerate(job.spec.sources):
        alike = columns_alike(source.schema_ddl) if source.schema_ddl is not None else None
        if alike is not None:
            at: Location = ("spec", "sources", index, "schema")
            message = f"the columns {alike[0]} and {alike[1]} differ only in case, which Spark ignores"
            remedy = 'Rename one of them, or set spark.sql.caseSensitive: "true" in spec.spark.conf'
            yield Issue(at, message, remedy, (at, ("spec", "spark", "conf")))


def formats_have_a_registry(job: ReplicatedStreamJob) -> Iterator[Issue]:
    if job.spec.schema_registry is not None:
        for name in job.spec.schema_registry.secret_properties.keys() & job.spec.schema_registry.properties.keys():
            at: Location = (*_REGISTRY, "secretProperties", name)
            yield Issue(at, f"{name} is also in spec.schemaRegistry.properties", "Keep one of them")
        return
    for side in _sides(job):
        if side.is_registered:
            message = f"{side.format_at[-1]} {side.format} needs a schema registry"
            remedy = "Add spec.schemaRegistry, e.g. schemaRegistry: {url: http://registry:8081}"
            yield Issue(side.format_at, message, remedy, (side.format_at, _REGISTRY))


def schemas_go_with_formats(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for side in _sides(job):
        if side.schema is None:
            continue
        concerns = (side.schema_at, side.format_at)
        key = side.format_at[-1]
        if not side.is_registered:
            message = f"is without effect, as {key} is {side.format}"
            remedy = f"Set {key}: avro or {key}: protobuf, or remove it"
            yield Issue(side.schema_at, message, remedy, concerns)
        elif side.schema.message is not None and side.format != "protobuf":
            at = (*side.schema_at, "message")
            yield Issue(at, f"{side.format} has no messages", "Remove it", (at, side.format_at))
        if side.at[1] == "sources" and side.schema.subject is not None and side.schema.text is not None:
            at = (*side.schema_at, "subject")
            message = "is without effect, as the schema is given as text"
            yield Issue(at, message, "Keep one of subject and text", (at, (*side.schema_at, "text")))


def tables_have_no_format(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for index, sink in enumerate(job.spec.sinks):
        for key, given in (("format", sink.format), ("keyFormat", sink.key_format)):
            if given != "raw" and sink.topic is None:
                at: Location = ("spec", "sinks", index, key)
                message = f"{key} {given} is of the records of a topic, and this is a table"
                yield Issue(at, message, "Remove it", (at, ("spec", "sinks", index, "topic")))


def subjects_are_clear(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for side in _sides(job):
        given = side.schema or RegistrySchema()
        if side.is_registered and side.topics > 1 and given.subject is None and given.text is None:
            message = (
                f"has {side.topics} topics, each of which has a subject, so it is not clear whose schema it is read by"
            )
            remedy = f"Name one, e.g. {side.schema_at[-1]}: {{subject: orders-{'key' if side.is_key else 'value'}}}"
            at = (*side.at, "topics")
            yield Issue(at, message, remedy, (at, side.format_at, side.schema_at))


def schemas_of_avro_are_json(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for side in _sides(job):
        if side.format == "avro" and side.schema is not None and side.schema.text is not None:
            try:
                loads(side.schema.text)
            except ValueError as error:
                at = (*side.schema_at, "text")
                yield Issue(
                    at, f"is no JSON, as a schema of Avro is: {error}", "Write the schema as its .avsc file has it"
                )
