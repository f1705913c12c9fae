"""By which schema a sink is written: that of the generation; else the newest that its columns fit, or one made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from tandem.formats.decoding import Side
from tandem.formats.encoding import Encoder, Writer, writer_of
from tandem.formats.pins import agreed_schema
from tandem.formats.registry import SchemaRegistry
from tandem.formats.schemas import KINDS, RegisteredSchema, SchemaError
from tandem.manifest import Manifest, SinkSpec
from tandem.manifest.formats import REGISTRY_FORMATS, RegistrySchema


@dataclass(frozen=True, slots=True)
class Output:
    """Values or keys that a sink writes by a registry. `label`: for the job's identity, e.g. `sink counts value`."""

    label: str
    sink: SinkSpec
    side: Side
    kind: str
    given: RegistrySchema

    @property
    def subject(self) -> str:
        """Where the registry has its schemas; by Confluent's TopicNameStrategy if the manifest does not say."""
        return self.given.subject or f"{self.sink.topic}-{self.side}"


def outputs(manifest: Manifest) -> Iterator[Output]:
    """What the job writes by a registry."""
    for sink in manifest.spec.sinks:
        sides: tuple[tuple[Side, str, RegistrySchema | None], ...] = (
            ("value", sink.format, sink.value_schema),
            ("key", sink.key_format, sink.key_schema),
        )
        for side, form, given in sides:
            if form in REGISTRY_FORMATS:
                yield Output(f"sink {sink.name} {side}", sink, side, KINDS[form], given or RegistrySchema())


class SinkSchemas:
    """Finds the schemas of a job's sinks.

    `agreed` : what the generation began with, see `Pins.parts`.
    `may_register` : whether a schema may be registered; a job that is only looked at registers none.
    """

    def __init__(
        self, registry: SchemaRegistry, agreed: Mapping[str, str], may_register: bool, registers: bool
    ) -> None:
        self._registry, self._agreed = registry, agreed
        self._may_register, self._registers = may_register, registers

    def encoder(self, output: Output, kind: pa.DataType) -> tuple[RegisteredSchema, Encoder]:
        """What writes values of a type, and its schema; its id is −1 if it would have to be registered, and may not be.

        Raises `SchemaError`, `RegistryTroubleError`.
        """
        schema, writer = self._found(output, kind)
        if schema.id < 0 and self._may_register:
            schema = self._registered(output, schema)
        return schema, Encoder(output.sink.name, output.side, schema.id, writer)

    def _registered(self, output: Output, schema: RegisteredSchema) -> RegisteredSchema:
        if self._registers:
            schema_id: int | None = self._registry.register(output.subject, schema)
        else:
            schema_id = self._registry.lookup(output.subject, schema)
        found = None if schema_id is None else self._registry.by_id(schema_id)
        if found is None:
            raise SchemaError(
                f"{output.label}: the manifest's schema is not registered under {output.subject}, and "
                "spec.schemaRegistry.register is false. Register it there"
            )
        return found

    def _found(self, output: Output, kind: pa.DataType) -> tuple[RegisteredSchema, Writer]:
        agreed = self._agreed.get(output.label)
        if agreed is not None:
            schema = agreed_schema(output.label, output.subject, agreed, self._registry)
            return schema, self._writer(output, schema, kind)
        if output.given.text is not None:
            schema = RegisteredSchema(-1, output.kind, output.given.text)
            return schema, self._writer(output, schema, kind)
        newest = self._registry.newest(output.subject)
        if newest is not None and newest.kind != output.kind:
            raise SchemaError(
                f"{output.label}: the newest schema of {output.subject} is of the type {newest.kind}, not {output.kind}. "
                "Set the sink's format to that, or name another subject"
            )
        try:
            if newest is not None:
                return newest, self._writer(output, newest, kind)
        except SchemaError:
            if not self._registers or output.kind != "AVRO":
                raise
        return self._made(output, kind)

    def _made(self, output: Output, kind: pa.DataType) -> tuple[RegisteredSchema, Writer]:
        remedy = f"Register one there, or give it as text in spec.sinks[].{output.side}Schema"
        if output.kind != "AVRO":
            raise SchemaError(
                f"{output.label}: the schema registry has no subject {output.subject}, and none is made of columns: the "
                f"numbers of fields are the contract of {output.kind.capitalize()}. {remedy}"
            )
        if not self._registers:
            raise SchemaError(
                f"{output.label}: the schema registry has no subject {output.subject}, and spec.schemaRegistry.register is "
                f"false. {remedy}"
            )
        from tandem.formats.avro_made import made

        try:
            schema = RegisteredSchema(-1, output.kind, made(kind, f"{output.sink.name}_{output.side}"))
        except SchemaError as error:
            raise SchemaError(f"{output.label}: {error}") from error
        return schema, self._writer(output, schema, kind)

    @staticmethod
    def _writer(output: Output, schema: RegisteredSchema, kind: pa.DataType) -> Writer:
        try:
            return writer_of(schema, kind, output.given.message)
        except SchemaError as error:
            which = f"schema {schema.id} of {output.subject}" if schema.id >= 0 else "the manifest's schema"
            raise SchemaError(
                f"{output.label}: the job's columns do not fit {which}: {error}. Change the columns, or register a schema "
                "that they fit"
            ) from error
