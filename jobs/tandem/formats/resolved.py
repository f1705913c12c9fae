"""A job with its schemas: what reads its records, and the columns that its sources have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import StructType

from tandem.formats.decoding import Decoder, Decoding
from tandem.formats.encoding import NO_ENCODING, Encoding, encoded_column
from tandem.formats.pins import NO_PINS, Pins, pin, wanted
from tandem.formats.readers import Reader, reader_of
from tandem.formats.registry import SchemaRegistry
from tandem.formats.schemas import SchemaError
from tandem.formats.sinks import SinkSchemas, outputs
from tandem.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Formats:
    """The schemas of a job, and the registry that has those of its records; None: the job needs none.

    `agreed` : what the job's generation began with; see `Pins.parts`.
    `may_register` : whether schemas of sinks may be registered.
    """

    pins: Pins = NO_PINS
    registry: SchemaRegistry | None = None
    agreed: Mapping[str, str] = field(default_factory=dict)
    may_register: bool = False

    @staticmethod
    def of(
        manifest: Manifest, environ: Mapping[str, str], agreed: Mapping[str, str], may_register: bool = False
    ) -> Formats:
        """Ask the registry for the schemas of sources, if the job has one. `agreed`: see `pin`.

        Raises `SchemaError`, `RegistryTroubleError`, `SecretError`.
        """
        registry = registry_of(manifest, environ, manifest.base)
        return Formats(pin(manifest, agreed, registry), registry, agreed, may_register)

    def with_sinks(self, manifest: Manifest, columns: StructType) -> tuple[Formats, Encoding]:
        """Also the schemas of sinks, and what encodes rows. `columns`: of the rows that the job's plan gives.

        Raises `SchemaError`, `RegistryTroubleError`.
        """
        spec, found = manifest.spec.schema_registry, list(outputs(manifest))
        if not found or self.registry is None or spec is None:
            return self, NO_ENCODING
        schemas = SinkSchemas(self.registry, self.agreed, self.may_register, spec.register_schemas)
        kinds = {one.label: columns[encoded_column(one.sink.name, one.side)].dataType for one in found}
        made = {one.label: schemas.encoder(one, to_arrow_type(kinds[one.label], timezone="UTC")) for one in found}
        pins = Pins({**self.pins.schemas, **{label: schema for label, (schema, _) in made.items()}})
        return replace(self, pins=pins), Encoding(tuple(encoder for _, encoder in made.values()))

    def decoding(self, manifest: Manifest) -> Decoding | None:
        """What decodes the job's records; None: nothing is to be decoded. Raises `SchemaError`."""
        decoders = tuple(
            Decoder(one.source.name, frozenset(one.source.topics), one.side, self._reader(one.label, one.given.message))
            for one in wanted(manifest)
        )
        return Decoding(decoders, self.registry) if decoders and self.registry is not None else None

    def resolved(self, manifest: Manifest) -> Manifest:
        """The job with the columns of its sources' values as schemas in Spark's DDL. Raises `SchemaError`."""
        found = {
            one.source.name: columns_of(self._reader(one.label, one.given.message).type)
            for one in wanted(manifest)
            if one.side == "value"
        }
        if not found:
            return manifest
        sources = tuple(
            source.model_copy(update={"schema_ddl": found[source.name]}) if source.name in found else source
            for source in manifest.spec.sources
        )
        spec = manifest.spec.model_copy(update={"sources": sources})
        return replace(manifest, model=manifest.model.model_copy(update={"spec": spec}))

    def _reader(self, label: str, message: str | None) -> Reader:
        try:
            return reader_of(self.pins.schemas[label], message)
        except SchemaError as error:
            raise SchemaError(
                f"{label}: {error}. Give a reader's schema without it, in spec.sources[], as text"
            ) from error


NO_FORMATS: Final = Formats()


def registry_of(manifest: Manifest, environ: Mapping[str, str], base: Path) -> SchemaRegistry | None:
    """The registry of a job; nothing is asked yet. Raises `SecretError`."""
    spec = manifest.spec.schema_registry
    return None if spec is None else SchemaRegistry(spec.client_properties(environ, base))


def columns_of(kind: pa.DataType) -> str:
    """The columns that values of a type become, in Spark's DDL: a record's fields, else one that is named `value`."""
    converted: Any = from_arrow_type(kind)
    if not isinstance(converted, StructType):
        return f"`value` {converted.simpleString()}"
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in converted.fields)
