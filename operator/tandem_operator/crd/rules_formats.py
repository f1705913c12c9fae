"""Rules about formats: which need a schema, and which a schema registry."""

from __future__ import annotations

from typing import Final

from tandem.manifest.formats import ALLOWED, OWNED, REGISTRY_FORMATS, SECRET
from tandem_operator.crd.cel import Rule, path, text, texts

_SOURCE: Final = (path("spec.sources[]"),)
_BOTH: Final = (path("spec.sources[]"), path("spec.sinks[]"))
_REGISTERED: Final = texts(REGISTRY_FORMATS)
_REGISTRY: Final = "spec.schemaRegistry"
_MAPS: Final = (path(f"{_REGISTRY}.properties"), path(f"{_REGISTRY}.secretProperties"))
_MESSAGE: Final = "gives a message, which only Protobuf has. Remove it, or set the format protobuf"


def _schema_needs_format(schema: str, form: str) -> str:
    return f"!has(self.{schema}) || self.{form} in {_REGISTERED}"


def _message_needs_protobuf(schema: str, form: str) -> str:
    return f"!has(self.{schema}) || !has(self.{schema}.message) || self.{form} == 'protobuf'"


def _subject_is_clear(schema: str, form: str) -> str:
    given = f"(has(self.{schema}) && (has(self.{schema}.subject) || has(self.{schema}.text)))"
    return f"!(self.{form} in {_REGISTERED}) || size(self.topics) == 1 || {given}"


FORMATS: Final[tuple[Rule, ...]] = (
    Rule(
        "json-needs-a-schema",
        _SOURCE,
        "self.format != 'json' || has(self.schema)",
        "format json needs a schema. Add columns with types, e.g. schema: carrier STRING, delay DOUBLE",
        field_path=".schema",
        reason="FieldValueRequired",
        mirrors=("schema_goes_with_json",),
    ),
    Rule(
        "raw-has-no-schema",
        _SOURCE,
        "self.format != 'raw' || !has(self.schema)",
        "format raw (the default) has no schema. Set format: json, or remove the schema",
        field_path=".schema",
        reason="FieldValueForbidden",
        mirrors=("schema_goes_with_json",),
    ),
    Rule(
        "registry-has-the-columns",
        _SOURCE,
        f"!(self.format in {_REGISTERED}) || !has(self.schema)",
        "formats avro and protobuf have their columns by a schema of the registry. Remove schema; a reader's schema of your "
        "own goes into valueSchema: {text: …}",
        field_path=".schema",
        reason="FieldValueForbidden",
        mirrors=("schema_goes_with_json",),
    ),
    Rule(
        "format-needs-a-registry",
        (path("spec"),),
        "has(self.schemaRegistry) || "
        f"(self.sources.all(one, !(one.format in {_REGISTERED}) && !(one.keyFormat in {_REGISTERED})) && "
        f"self.sinks.all(one, !(one.format in {_REGISTERED}) && !(one.keyFormat in {_REGISTERED})))",
        "formats avro and protobuf need a schema registry. Add schemaRegistry: {url: http://registry:8081}",
        field_path=".schemaRegistry",
        reason="FieldValueRequired",
        mirrors=("formats_have_a_registry",),
    ),
    Rule(
        "registry-property-given-twice",
        (path(_REGISTRY),),
        "self.secretProperties.all(name, !(name in self.properties))",
        "a property is both in properties and in secretProperties. Keep one of them",
        field_path=".secretProperties",
        mirrors=("formats_have_a_registry",),
    ),
    Rule(
        "registry-url-is-one",
        (path(f"{_REGISTRY}.url"),),
        "self.matches('^https?://[^ ,/@]+(/[^ ,@]*)?( *, *https?://[^ ,/@]+(/[^ ,@]*)?)*$')",
        "is no URL of a registry. Write e.g. http://registry:8081; a login goes to secretProperties, e.g. "
        "basic.auth.user.info: {secretKeyRef: {name: registry, key: login}}",
    ),
    Rule(
        "registry-secret-inline",
        (path(f"{_REGISTRY}.properties"),),
        f"self.all(name, !(name in {texts(SECRET)}))",
        "a secret must not stand in a manifest. Move it to spec.schemaRegistry.secretProperties, e.g. "
        "basic.auth.user.info: {secretKeyRef: {name: registry, key: login}}",
        reason="FieldValueForbidden",
    ),
    Rule(
        "registry-property-unknown",
        _MAPS,
        f"self.all(name, name in {texts(ALLOWED | SECRET | OWNED.keys())})",
        f"there is a property that cannot be set for the registry's client. It knows {', '.join(sorted(ALLOWED | SECRET))}",
    ),
    *(
        Rule(
            f"registry-owned-{name.replace('.', '-')}",
            _MAPS,
            f"!({text(name)} in self)",
            f"{name} cannot be set for the registry's client. {remedy}",
            reason="FieldValueForbidden",
        )
        for name, remedy in OWNED.items()
    ),
    *(
        Rule(
            f"{form.lower()}-has-a-schema",
            _BOTH,
            _schema_needs_format(schema, form),
            f"{schema} is without effect. Set {form}: avro or {form}: protobuf, or remove it",
            field_path=f".{schema}",
            reason="FieldValueForbidden",
            mirrors=("schemas_go_with_formats",),
        )
        for form, schema in (("format", "valueSchema"), ("keyFormat", "keySchema"))
    ),
    *(
        Rule(
            f"{form.lower()}-has-messages",
            _BOTH,
            _message_needs_protobuf(schema, form),
            f"{schema} {_MESSAGE}",
            field_path=f".{schema}",
            mirrors=("schemas_go_with_formats",),
        )
        for form, schema in (("format", "valueSchema"), ("keyFormat", "keySchema"))
    ),
    *(
        Rule(
            f"table-has-no-{form.lower()}",
            (path("spec.sinks[]"),),
            f"has(self.topic) || self.{form} == 'raw'",
            f"{form} is of the records of a topic, and this is a table. Remove it",
            field_path=f".{form}",
            reason="FieldValueForbidden",
            mirrors=("tables_have_no_format",),
        )
        for form in ("format", "keyFormat")
    ),
    Rule(
        "schema-is-given-once",
        (path("spec.sources[].valueSchema"), path("spec.sources[].keySchema")),
        "!has(self.subject) || !has(self.text)",
        "subject is without effect, as the schema is given as text. Keep one of subject and text",
        mirrors=("schemas_go_with_formats",),
    ),
    *(
        Rule(
            f"{form.lower()}-has-a-subject",
            _SOURCE,
            _subject_is_clear(schema, form),
            "has several topics, each of which has a subject, so it is not clear whose schema it is read by. Name one, e.g. "
            f"{schema}: {{subject: orders-value}}",
            field_path=".topics",
            mirrors=("subjects_are_clear",),
        )
        for form, schema in (("format", "valueSchema"), ("keyFormat", "keySchema"))
    ),
)
