"""Mistakes in spec.sources and spec.sinks, and the topics between them."""

from __future__ import annotations

from unit.manifest.mistakes.mark import HERE, Mistake

STREAMS: dict[str, Mistake] = {
    "a topic with a space": (
        "topic: delays", f"topic: my delays {HERE}", "spec.sinks[0].topic", "no name of a Kafka topic",
    ),
    "a pattern of topics": (
        "topics: [flights]", f"topics: [flights.*] {HERE}", "spec.sources[0].topics[0]", "patterns",
    ),
    "a topic of Kafka itself": (
        "topic: delays", f"topic: __consumer_offsets {HERE}", "spec.sinks[0].topic", "belongs to Kafka itself",
    ),
    "a text for a list of topics": (
        "topics: [flights]", f"topics: flights {HERE}", "spec.sources[0].topics", "Write [flights]",
    ),
    "no topics": ("topics: [flights]", f"topics: [] {HERE}", "spec.sources[0].topics", "is an empty list"),
    "an output that is an input": (
        "topic: delays", f"topic: flights {HERE}", "spec.sinks[0].topic", "the job would read its own output",
    ),
    "one topic in two sources": (
        "topics: [weather]", f"topics: [flights] {HERE}", "spec.sources[1].topics[0]", "Keep one source for it",
    ),
    "one topic twice in a source": (
        "topics: [weather]", f"topics: [weather, weather] {HERE}", "spec.sources[1].topics[1]", "Name it once",
    ),
    "an ordering topic that is an input": (
        "    topics: {}", f"    topics:\n      ordering: weather {HERE}",
        "spec.kafka.topics.ordering", "an input of source weather",
    ),
    "an output to a topic of Tandem": (
        "topic: delays", "topic: flights.commits", "spec.kafka.topics.commits", "already the output of sink delays",
    ),
    "two sinks to one topic": (
        "parquet:\n        path: /data/out", f"topic: delays {HERE}", "spec.sinks[1].topic", "Give each its own topic",
    ),
    "two sinks of one name": (
        "name: archive", f"name: delays {HERE}", "spec.sinks[1].name", "also the name of spec.sinks[0]",
    ),
    "two tables whose names differ only in case": (
        "name: delays\n      topic: delays\n    - name: archive",
        f"name: Archive\n      parquet: {{path: /data/other}}\n    - name: archive {HERE}",
        "spec.sinks[1].name", "which Spark ignores. Give each table another name",
    ),
    "columns that differ only in case": (
        "schema: carrier STRING, dep_delay DOUBLE", f"schema: id STRING, ID INT {HERE}", "spec.sources[0].schema",
        "the columns id and ID differ only in case, which Spark ignores. Rename one of them, or set",
    ),
    "a truth value in quotes": (
        "topics: [weather]", f'topics: [weather]\n      includeHeaders: "false" {HERE}',
        "spec.sources[1].includeHeaders", "Write true or false, without quotes",
    ),
    "two sources of one name": ("name: weather", f"name: flights {HERE}", "spec.sources[1].name", "spec.sources[0]"),
    "a source that cannot be a parameter": (
        "name: weather", f"name: the-weather {HERE}", "spec.sources[1].name", "no Python identifier",
    ),
    "a source named by a keyword": (
        "name: weather", f"name: class {HERE}", "spec.sources[1].name", "a word of the Python",
    ),
    "a source named like the context": (
        "name: weather", f"name: ctx {HERE}", "spec.sources[1].name", "the job's context",
    ),
    "json without a schema": (
        "      schema: carrier STRING, dep_delay DOUBLE\n", "", "spec.sources[0].schema", "format json needs a schema",
    ),
    "a schema for raw bytes": (
        "      format: json\n      schema: carrier STRING, dep_delay DOUBLE",
        f"      schema: carrier STRING {HERE}", "spec.sources[0].schema", "Set format: json, or remove the schema",
    ),
    "a misspelt type": (
        "schema: carrier STRING, dep_delay DOUBLE", f"schema: carrier STRNG {HERE}",
        "spec.sources[0].schema", "carrier has the unknown type STRNG, perhaps STRING",
    ),
    "an unknown format": (
        "format: json", f"format: avro {HERE}", "spec.sources[0].format", "'avro' is none of raw, json",
    ),
    "offsets of Kafka's older name": (
        "format: json", f"format: json\n      startingOffsets: smallest {HERE}",
        "spec.sources[0].startingOffsets", "earliest",
    ),
    "no sinks": (
        "  sinks:\n    - name: delays\n      topic: delays\n    - name: archive\n      parquet:\n        path: /data/out\n",
        f"  sinks: [] {HERE}\n", "spec.sinks", "Give at least one",
    ),
    "a sink to nowhere": (
        "    - name: delays\n      topic: delays", f"    - name: delays {HERE}",
        "spec.sinks[0]", "exactly one of topic",
    ),
    "a sink to two places": (
        "topic: delays", f"topic: delays\n      delta: {{path: /b}} {HERE}",
        "spec.sinks[0].delta", "topic and delta exclude",
    ),
    "a table in an unknown store": (
        "        path: /data/out", f"        path: s3n://lake/out {HERE}",
        "spec.sinks[1].parquet.path", "nothing lasting can be written to s3n://. Write a path, or one of file, local, s3,",
    ),
    "a table in the memory of a process": (
        "        path: /data/out", f"        path: memory://lake/out {HERE}",
        "spec.sinks[1].parquet.path", "nothing lasting can be written to memory://",
    ),
    "a table by a URI of Hadoop": (
        "        path: /data/out", f"        path: hdfs:/data/out {HERE}",
        "spec.sinks[1].parquet.path", "taken for a folder named hdfs: beside the manifest. Write hdfs:///data/out",
    ),
    "a table by a file's URI of Hadoop": (
        "        path: /data/out", f"        path: file:/data/out {HERE}", "spec.sinks[1].parquet.path", "Write /data/out",
    ),
    "a schema that is a list": (
        "schema: carrier STRING, dep_delay DOUBLE", f"schema: [carrier STRING] {HERE}",
        "spec.sources[0].schema", "Write one text, e.g. schema: carrier STRING, delay DOUBLE",
    ),
    "a table without a path": ("        path: /data/out", "        {}", "spec.sinks[1].parquet.path", "is missing"),
    "a table within another": (
        "topic: delays", "delta: {path: /data}", "spec.sinks[1].parquet.path", "Give each table a folder of its own",
    ),
    "a table where the state is": (
        "        path: /data/out", f"        path: /data/out {HERE}\n  checkpoint: {{directory: /data/out}}",
        "spec.sinks[1].parquet.path", "spec.checkpoint.directory (/data/out) lie within each other. Give the table a folder",
    ),
    "a table where the snapshots are": (
        "        path: /data/out", f"        path: /data/flights/out {HERE}\n  snapshots: {{store: /data}}",
        "spec.sinks[1].parquet.path", "spec.snapshots.store (/data/flights) lie within each other",
    ),
    "a table around the snapshots": (
        "        path: /data/out", f"        path: /data {HERE}\n  snapshots: {{store: /data/store}}",
        "spec.sinks[1].parquet.path", "spec.snapshots.store (/data/store/flights) lie within each other",
    ),
}  # fmt: skip
