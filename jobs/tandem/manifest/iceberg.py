"""A sink that is an Iceberg table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from tandem.manifest.problems import refusal
from tandem.manifest.secrets import SecretReference, resolve_all
from tandem.manifest.snapshots import SECRET
from tandem.manifest.values import Section, Shape

TableName = Annotated[
    str,
    Shape(
        r"[^.\s]+(\.[^.\s]+)+",
        "is no name of an Iceberg table",
        "Write namespace.table, e.g. shop.orders",
        512,
    ),
]


def _plain(name: str) -> str:
    if SECRET.search(name) or name in ("token", "credential"):
        raise refusal(
            "a secret must not stand in a manifest",
            f"Move it to secretProperties of the sink, e.g. {name}: {{env: ICEBERG_SECRET}}",
        )
    return name


class IcebergSink(Section):
    """An Iceberg table; each epoch is one append, whose snapshot carries the epoch."""

    table: TableName = Field(description="namespace.table; made if it is not there")
    properties: Mapping[Annotated[str, AfterValidator(_plain)], str] = Field(
        default_factory=dict, description="Of pyiceberg's catalog: type, uri, warehouse, s3.endpoint and others"
    )
    secret_properties: Mapping[str, SecretReference] = Field(
        default_factory=dict,
        description="Of pyiceberg's catalog, each value read from the environment or a file, e.g. token, credential, uri",
    )

    def options(self, environ: Mapping[str, str], base: Path, sink: str) -> dict[str, str]:
        """What the catalog is opened with, secrets included: never for a log.

        environ : the environment's variables. base : the manifest's folder. sink : the sink's name, for messages.

        Raises `SecretError`: a secret is missing.
        """
        return {**self.properties, **resolve_all(self.secret_properties, environ, base, f"the iceberg sink {sink}")}
