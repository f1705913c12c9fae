"""A job by a schema registry, over a bridge, without Kafka."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from integration.engine import Job, Record
from integration.registry_server import RegistryServer
from tandem.formats.resolved import Formats
from tandem.manifest import Manifest, SinkSpec, SourceSpec, parse


def manifest(registry: RegistryServer, source: SourceSpec, sink: SinkSpec, **more: Any) -> Manifest:
    """A job with a registry."""
    model = parse(
        {
            "apiVersion": "tandem.dev/v1alpha1",
            "kind": "ReplicatedStreamJob",
            "metadata": {"name": "formats"},
            "spec": {
                "job": {"file": "job.py"},
                "kafka": {"bootstrapServers": "localhost:1"},
                "zookeeper": {"connect": "localhost:1"},
                "schemaRegistry": {"url": registry.url, **more},
                "sources": [source.model_dump(by_alias=True, exclude_none=True)],
                "sinks": [sink.model_dump(by_alias=True, exclude_none=True)],
            },
        }
    )
    return Manifest(model, Path("job.yaml"), Path())


class Formatted:
    """A job with the schemas that the registry has now, over a bridge; rows come out encoded, as a replica makes them."""

    def __init__(self, spark: SparkSession, folder: Path, given: Manifest, real_time: bool) -> None:
        self._formats = Formats.of(given, {}, {}, may_register=True)
        self._manifest = self._formats.resolved(given)
        spec = self._manifest.spec
        decoding = self._formats.decoding(self._manifest)
        self.job = Job(spark, folder, spec.sources, spec.sinks, real_time=real_time, decoding=decoding)
        self.input = self.job.sources["orders"]
        self.topic = spec.sources[0].topics[0]

    def start(self, rows: DataFrame) -> None:
        """Begin to compute; the schemas of the sink are found, too."""
        self.job.start(rows)
        _, self._encoding = self._formats.with_sinks(self._manifest, self.job.rows_schema)

    def run(self, *records: tuple[bytes | None, bytes | None]) -> list[dict[str, Any]]:
        """The rows of an epoch of records: key and value of each."""
        given = [Record(value, key, topic=self.topic) for key, value in records]
        return list(self._encoding.encoded(self.job.run(0, given)).to_pylist())

    def values(self, *values: bytes | None) -> list[Any]:
        """The values that come out of values, read as JSON; dead letters left out."""
        rows = self.run(*((None, value) for value in values))
        return [json.loads(row["value"]) for row in rows if row["sink"] != "dead-letter"]

    def letters(self, *records: tuple[bytes | None, bytes | None]) -> list[str]:
        """Why records became dead letters."""
        return [json.loads(r["value"])["reason"] for r in self.run(*records) if r["sink"] == "dead-letter"]
