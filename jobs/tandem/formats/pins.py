"""The schemas of a generation: which ones a job reads by is decided once, when the generation begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tandem.formats.decoding import Side
from tandem.formats.registry import SchemaRegistry
from tandem.formats.schemas import KINDS, RegisteredSchema, SchemaError
from tandem.manifest import Manifest, SourceSpec
from tandem.manifest.formats import REGISTRY_FORMATS, RegistrySchema


@dataclass(frozen=True, slots=True)
class Wanted:
    """A schema that a source needs. `label`: for the job's identity, e.g. `source orders value`."""

    label: str
    source: SourceSpec
    side: Side
    kind: str
    given: RegistrySchema

    @property
    def subject(self) -> str:
        """Where the registry has it; by Confluent's TopicNameStrategy if the manifest does not say."""
        return self.given.subject or f"{self.source.topics[0]}-{self.side}"


@dataclass(frozen=True, slots=True)
class Pins:
    """Label → the reader's schema."""

    schemas: Mapping[str, RegisteredSchema]

    def parts(self) -> dict[str, str]:
        """What the job's identity says of them: label → id and digest. A schema of the manifest is in that."""
        return {
            label: f"{schema.id}:{schema.digest}" for label, schema in sorted(self.schemas.items()) if schema.id >= 0
        }

    def tree(self) -> dict[str, Any]:
        """For JSON; `of_tree` reads it."""
        return {label: schema.tree() for label, schema in self.schemas.items()}

    @staticmethod
    def of_tree(tree: Mapping[str, Any]) -> Pins:
        """The inverse of `tree`."""
        return Pins({label: RegisteredSchema.of_tree(one) for label, one in tree.items()})


NO_PINS = Pins({})


def wanted(manifest: Manifest) -> Iterator[Wanted]:
    """The schemas that the job's sources are read by."""
    for source in manifest.spec.sources:
        sides: tuple[tuple[Side, str, RegistrySchema | None], ...] = (
            ("value", source.format, source.value_schema),
            ("key", source.key_format, source.key_schema),
        )
        for side, form, given in sides:
            if form in REGISTRY_FORMATS:
                yield Wanted(f"source {source.name} {side}", source, side, KINDS[form], given or RegistrySchema())


def pin(manifest: Manifest, agreed: Mapping[str, str], registry: SchemaRegistry | None) -> Pins:
    """The schemas that the job is read by.

    `agreed` : what the generation began with, see `Pins.parts`; of what is not in it, the newest is taken.

    Raises `SchemaError`: there is none, or not the one that was agreed on; `RegistryTroubleError`.
    """
    found = {one.label: _pinned(one, agreed.get(one.label), registry) for one in wanted(manifest)}
    return Pins(found) if found else NO_PINS


def _pinned(one: Wanted, agreed: str | None, registry: SchemaRegistry | None) -> RegisteredSchema:
    if one.given.text is not None:
        return RegisteredSchema(-1, one.kind, one.given.text)
    if registry is None:
        raise SchemaError(f"{one.label}: there is no schema registry. Add spec.schemaRegistry: {{url: …}}")
    if agreed is not None:
        return agreed_schema(one.label, one.subject, agreed, registry)
    schema = registry.newest(one.subject)
    if schema is None:
        raise SchemaError(
            f"{one.label}: the schema registry has no subject {one.subject}. Register a schema there, name another "
            f"subject in spec.sources[].{one.side}Schema, or give the schema there, as text"
        )
    if schema.kind != one.kind:
        raise SchemaError(
            f"{one.label}: the newest schema of {one.subject} is of the type {schema.kind}, not {one.kind}. Set the "
            f"source's {'format' if one.side == 'value' else 'keyFormat'} to that, or name another subject"
        )
    return schema


def agreed_schema(label: str, subject: str, agreed: str, registry: SchemaRegistry) -> RegisteredSchema:
    """The schema that a generation began with. Raises `SchemaError`: the registry has another one by now."""
    schema_id, _, digest = agreed.partition(":")
    schema = registry.by_id(int(schema_id))
    if schema is None or schema.digest != digest:
        has = "has no schema" if schema is None else "has another schema under the id"
        raise SchemaError(
            f"{label}: the job began with schema {schema_id} of {subject}, but the schema registry "
            f"{has} {schema_id}. Restore the registry's schemas; or, to go on with what it has now, accept it as a change "
            "of the job (`tandem run --accept-changes`)"
        )
    return schema
